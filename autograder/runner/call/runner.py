"""The runner for a function that lives in this very process: that of a notebook cell, or of a debugger."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from ...gpu import ATEN, EmulatorError, Finding, ensure_runnable, mode
from .answer import Answer, AnswerError, AnswerRefused, OperatorRefused, is_stub, trace
from .call_history import FollowedCall, ResultOperators, launched, parting
from .callee import Callee
from .contract import CallForm, Contract
from .device import Device
from .error_line import interrupted, line_of, on_purpose
from .examination import Call, Examined, Facts, Index, Runner, Unloadable
from .given import Given, apart, in_tensors
from .gradient import Unattached
from .guards import ForbiddenCall, OperatorWatch, WatchFunctions
from .huge_strides import duplicate
from .kept_results import OVERWRITTEN, KeptResults
from .machine import Machine
from .new_memory import NewMemory
from .no_kernels import NoKernels
from .operator_notes import OperatorNotes
from .outcome import MovedBytes, Outcome, Own, Trouble, TroubleKind
from .peak_memory import Peak
from .session import Session
from .tree import Args, Tree

if TYPE_CHECKING:
    from ...gpu import Emulator, Replay

Watching = Callable[[Call, Outcome, OperatorNotes], object]
STUB = "not implemented yet"
TUPLE = ". A tuple is taken apart first, as in `(x,) = ctx.saved_tensors`"


class InProcess:
    """Calls a function of this process, on copies of the arguments.

    callee: a function; or a `Callee`, which is called for its gradients, too, where the contract's form has upstream
    ones. copy: makes the copies. guarded: whether operators are guarded, and a backend's answer has to launch Triton
    kernels, or none; else it computes as it likes. simulated: the session whose simulated GPU the function finds and is
    handed its tensors on; where it is None, an answer in Triton has one of its own as long as it is checked.
    watch: called after the first call of each examination, with what came of it and the operators that it called.
    """

    def __init__(
        self,
        callee: Callable[..., Any] | Callee,
        contract: Contract,
        backend: str,
        copy: Callable[[torch.Tensor], torch.Tensor] = duplicate,
        guarded: bool = True,
        simulated: Session | None = None,
        watch: Watching | None = None,
    ):
        ensure_runnable(backend)
        self.copy, self.guarded, self.watch = copy, guarded, watch
        self.session = simulated or Session(False)
        self.contract, self.backend = contract, backend
        self._notes: OperatorNotes | None = None  # of the call that is watched
        self._twice = False  # as `Call` has it, of the last one
        self._before = KeptResults()
        self._callee = callee if isinstance(callee, Callee) else None
        self._given = self._called if isinstance(callee, Callee) else callee
        self.answer = inspect.unwrap(self._given)
        self.function = contract.with_gradient(self._given)

    @classmethod
    def of(cls, answer: Answer, contract: Contract, backend: str) -> Runner:
        """Calls the function that the answer's code defines, which runs here and now."""
        try:
            return cls(answer.load(), contract, backend)
        except AnswerError as error:
            kind: TroubleKind = "refused" if isinstance(error, AnswerRefused) else "unloadable"
            return Unloadable(Trouble(kind, str(error), error.details))

    @property
    def facts(self) -> Facts:
        """Its compiler is the one that all checks of this process share."""
        from ..sandbox.compiler import shared_compiler

        if self.backend != "triton" or mode() != "device":
            return Facts(compiler=shared_compiler(), ready=self._on_simulated_gpu)
        from ..sandbox.extracted import Extracted

        return Facts(compiler=shared_compiler(), in_emulator=partial(Extracted, self._given, self.contract))

    @contextmanager
    def _on_simulated_gpu(self) -> Iterator[None]:
        """In the block the answer finds a GPU where there is none, as in the sandbox: it may ask, and do otherwise."""
        there = self.session.simulated or mode() != "emulator"
        if there or not self.guarded or not self.contract.sees_gpu(self.backend):
            yield
            return
        before = self.session
        with Session(True, hides_interpreter=True) as self.session:
            try:
                yield
            finally:
                self.session = before

    def close(self) -> None:
        """Nothing of it is left."""

    def examine(self, call: Call) -> Examined:
        """Calls the function, and returns what came of it; see `Runner`."""
        replay = self._replay()
        self._twice = call.twice
        self._notes = notes = OperatorNotes() if self.watch and not call.twice else None  # or each would count twice
        first = self.once(call.args, fill=call.fill, replay=replay, choice=call.choice)
        self._notes = None
        if self.watch and notes:
            self.watch(call, first, notes)
        return _ExaminedInProcess(call, first, self, replay)

    def once(
        self,
        args: Args,
        *,
        shuffle: int | None = None,
        fill: float | None = None,
        launches: bool = True,
        replay: "Replay | None" = None,
        choice: int | None = None,
    ) -> Outcome:
        """The outcome of one call.

        shuffle: seeds the order of the programs in a grid. fill: what masked-off lanes hold. launches: whether the
        outcome has them. replay: of the launches of the calls that it is given to. choice: as `Call.choice`.
        """
        device = Device() if mode() == "device" else None
        put = device.put if device and self.backend == "triton" else lambda name, tensor: self.copy(tensor)
        inputs = Given(self.contract, args, put)
        machine: Machine = device or self._machine(shuffle, fill, replay, inputs, choice)
        peak = Peak()
        for copy in inputs.copies.values():
            peak.exclude(copy)
        moved = MovedBytes()
        result, trouble, finished = self._watched(inputs.handed, machine, peak, moved)
        result = result if self.contract.witness else in_tensors(result)
        trouble = trouble or self._complaint(result, inputs.handed, machine)
        outcome = Outcome(trouble=trouble, traffic=dict(machine.traffic), moved=moved)
        outcome.peak, outcome.looser, outcome.undefined = peak.most, machine.looser, machine.undefined
        outcome.launches = machine.described() if launches else ()
        outcome.hints, outcome.finished = tuple(machine.hints), finished
        if trouble and trouble.code == Trouble.UNATTACHED:
            outcome.outputs = Tree(self.contract.returned(result, inputs.handed)).map(apart)
        if outcome.trouble is None:
            returned = self.contract.returned(result, inputs.handed)
            outcome.findings = self._findings(returned, machine)
            copies = Tree(returned).map(apart)
            outcome.outputs = copies + inputs.written()
            if lost := self._before.lost():
                outcome.trouble = Trouble("raised", OVERWRITTEN.format(lost), code="overwritten", at=lost)
                self._before = KeptResults()
            outputs = self.contract.outputs
            self._before.keep(Tree(returned).named(outputs), Tree(copies).named(outputs))
            outcome.mutated, outcome.relisted = inputs.mutated(), inputs.relisted()
            outcome.reshaped = inputs.reshaped() if self.guarded else ()  # a module may lay out its parameters anew
            outcome.aliased = inputs.aliased(returned)
        return outcome

    def parting(self, args: Args, others: Args, output: int, here: Index, there: Index) -> tuple[str, ...]:
        """See `Examined.parting`: of the calls on ``args`` and on ``others``."""
        if mode() != "emulator" or not self._emulated():
            return ()
        mine, other = self.followed(args), self.followed(others)
        return parting(mine.element(output, here), other.element(output, there))

    def histories(self, args: Args, choice: int | None = None) -> Args:
        """See `Examined.histories`: of a call on ``args``."""
        return self.followed(args, choice).hashes if mode() == "emulator" and self._emulated() else ()

    def followed(self, args: Args, choice: int | None = None) -> FollowedCall:
        """A call in the emulator that keeps the history of each float."""
        from ...gpu import Emulator

        inputs = Given(self.contract, args, lambda name, tensor: self.copy(tensor))
        self._place(inputs.handed)
        with Emulator(follow=True, choice=choice) as emulator, np.errstate(all="ignore"), self.session.code():
            with ResultOperators(emulator) as operators:
                outputs = self.contract.returned(self.function(*inputs.handed), inputs.handed)
        histories, launches = emulator.histories, tuple(map(launched, emulator.launches))
        assert histories is not None
        return FollowedCall(outputs, histories, next(iter(emulator.fallbacks), None), launches, operators)

    def _called(self, *args: Any) -> Any:
        """The results of a `Callee`, and its gradients where the contract has upstream ones."""
        assert self._callee is not None
        form = self.contract.form or CallForm(len(args))
        if self._twice:
            return self._callee.call(form.above, twice=True)(*args)
        if self._notes is None or form.asked:
            return self._callee.in_form(form)(*args)
        return self._notes.of_call(self._callee, args, form.above)

    def _machine(
        self, shuffle: int | None, fill: float | None, replay: "Replay | None", given: Given, choice: int | None
    ) -> Machine:
        if not self._emulated():
            return NoKernels(self.contract.name)
        from ...gpu import Emulator

        return Emulator(shuffle=shuffle, fill=fill, replay=replay, names=given.of_lists, choice=choice)

    def _replay(self) -> "Replay | None":
        if not self._emulated():
            return None
        from ...gpu import Replay

        return Replay()

    def _emulated(self) -> bool:
        """Returns whether a call enters the emulator, which changes Triton in a hundred places: a PyTorch answer does
        not.
        """
        return not (self.backend == "torch" and self.guarded) and mode() != "no triton"

    def _findings(self, outputs: Args, machine: Machine) -> tuple[Finding, ...]:
        """Returns what the emulator saw go wrong, then the outputs' elements that were never written."""
        named = Tree(outputs).named(self.contract.outputs)
        unwritten = [machine.unwritten(o, name) for name, o in named.items()]
        return (*machine.findings, *filter(None, unwritten))

    def _watched(
        self, args: Args, machine: Machine, peak: Peak, moved: MovedBytes
    ) -> tuple[object, Trouble | None, bool]:
        """(result, trouble, `Outcome.finished`) of one call under the eyes of the machine and of `guards`."""
        self._place(args)
        if not self.guarded:
            return *self._unguarded(args, machine), False
        contract, allowed = self.contract, self.contract.allowed
        if "labels" in contract.parameters:
            allowed |= {"_local_scalar_dense"}  # a flag for a bad label has to be read, and reading computes nothing
        permits = None if contract.witness else partial(ATEN.permits, gradients=bool(contract.gradient_of))
        watch = OperatorWatch(self.backend, contract.refused, allowed, machine, peak, permits, moved)
        # Where the runner takes a gradient itself, `Watch` still refuses what PyTorch would differentiate.
        refused = contract.refused - {"autograd"} if contract.gradient_of else contract.refused
        functions = WatchFunctions(refused, self.backend == "torch" and contract.counted)
        result, trouble, place = None, None, ""
        with machine, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with self.session.code(), watch, functions:
                    result = self.function(*args)
            except ForbiddenCall as refusal:
                place = _opening(refusal)
            except EmulatorError as error:
                trouble = of_emulator(error)
            except KeyboardInterrupt as error:
                raise interrupted(contract.name, error) from None
            except OperatorRefused as error:
                trouble = Trouble("refused", str(error), trace(error), place=_opening(error))
            except (Exception, SystemExit) as error:
                kind, name = type(error).__name__, contract.name
                sentence = f"{kind}: {error}".rstrip(": ")
                sentence += TUPLE if "'tuple' object has no attribute" in sentence else ""
                trouble = Trouble("raised", sentence, trace(error), kind)
                if isinstance(error, Unattached):
                    result, trouble = error.result, replace(trouble, code=Trouble.UNATTACHED)
                if kind == "NotImplementedError" and is_stub(self.answer):
                    trouble = Trouble("stub", STUB)
                elif line := line_of(error):
                    trouble = replace(trouble, place=f"`{name}` fails in {line}: ", at=line)
        launched = machine.verdict if isinstance(machine, NoKernels) else None
        verdict = launched or watch.verdict or functions.verdict
        if verdict:  # also where the answer caught the refusal and went on
            no_kernel = self.backend == "triton" and not machine.launches
            more = " (No kernel had been launched by then: this may be the PyTorch answer.)" if no_kernel else ""
            trouble = replace(verdict, message=verdict.message + more, place="" if launched else place)
        return result, trouble, watch.finished

    def _place(self, args: Args) -> None:
        """Puts the tensors on the simulated GPU, where there is one."""
        if self.session.simulated:
            from ...gpu import place

            for tensor in Tree(args).tensors:
                place(tensor, True)

    def _unguarded(self, args: Args, machine: Machine) -> tuple[object, Trouble | None]:
        try:
            with machine, np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with (
                    self.session.code(),
                    NewMemory(cast("Emulator", machine)) if mode() == "emulator" else nullcontext(),
                ):
                    return self.function(*args), None
        except EmulatorError as error:
            return None, of_emulator(error)
        except Exception as error:
            kind = type(error).__name__
            closed = error.operator if isinstance(error, OperatorRefused) else ""
            wanted = on_purpose(error)
            return None, Trouble("raised", f"{kind}: {error}", trace(error), kind, operator=closed, on_purpose=wanted)

    def _complaint(self, result: object, args: Args, machine: Machine) -> Trouble | None:
        """Returns what is wrong with the result before any value is looked at."""
        name, names, fewest = self.contract.name, self.contract.outputs, self.contract.fewest
        if result is None and is_stub(self.answer):
            return Trouble("stub", STUB)
        if result is None and names:
            return Trouble(
                "raised", f"`{name}` returns nothing (None). Does every path through it end with `return`?", code="none"
            )
        if self.guarded and machine.launches and self.backend == "torch":
            return Trouble("refused", f"This `{name}` launches a Triton kernel, so it is not the PyTorch answer.")
        # Where one input is empty there may be nothing to launch: no rows, and weights that wait for them.
        if self.guarded and not Tree(args).any_empty and not machine.launches and self.backend == "triton":
            return Trouble("refused", f"This `{name}` launches no Triton kernel, so it is not the Triton answer.")
        outputs = self.contract.returned(result, args)
        if not fewest <= len(outputs) <= len(names):
            return Trouble("raised", f"{name} should return {_wanted(self.contract)}, but returned {len(outputs)}.")
        for output, label in zip(outputs, names, strict=False):
            number = self.contract.witness and isinstance(output, int | float | str | None)
            if type(output) is not torch.Tensor and not number:
                return Trouble("raised", f"{label} should be a tensor, but is {type(output).__name__}.")
            if isinstance(output, torch.Tensor) and not _has_storage(output):
                kind = str(output.layout if output.layout != torch.strided else output.dtype).removeprefix("torch.")
                return Trouble("raised", f"{label} should be an ordinary dense tensor, but is {kind}.")
        return None


def _wanted(contract: Contract) -> str:
    """Returns what an answer should return, and what it should write instead."""
    names = contract.outputs
    returned = f"one tensor ({names[0]})" if len(names) == 1 else "nothing"
    if len(names) > 1:
        least = f"{contract.fewest} to " if contract.fewest < len(names) else ""
        returned = f"{least}{len(names)} values ({', '.join(names)})"
    if not contract.writes:
        return returned
    return f"{returned} and write {' and '.join(contract.writes)} in place, as `{contract.writes[0]}.copy_(...)` does"


class _ExaminedInProcess(Examined):
    """Holds what was examined in this process: each further call is on new copies of the arguments."""

    def __init__(self, call: Call, first: Outcome, runner: InProcess, replay: "Replay | None"):
        super().__init__(call, first)
        self._runner, self._replay = runner, replay

    def refilled(self, fill: float) -> Outcome:
        """The outcome of another call, with ``fill`` in masked-off lanes."""
        return self._runner.once(self.call.args, fill=fill, launches=False, choice=self.call.choice)

    @cached_property
    def histories(self) -> Args:
        """By another call in the emulator."""
        return self._runner.histories(self.call.args, self.call.choice)

    def parting(self, other: Args, output: int, here: Index, there: Index) -> tuple[str, ...]:
        """Where the computation of two elements parts, by the histories of two more calls in the emulator."""
        return self._runner.parting(self.call.args, other, output, here, there)

    def _second(self, fill: float | None) -> Outcome:
        order = self.call.order
        choice, replay = self.call.choice, self._replay
        return self._runner.once(self.call.args, shuffle=order, fill=fill, launches=False, replay=replay, choice=choice)

    def _repeated(self) -> Outcome:
        return self._runner.once(self.call.args, fill=self.call.fill, launches=False, choice=self.call.choice)


def of_emulator(error: EmulatorError) -> Trouble:
    """Returns what the emulator found in a launch, or that it cannot run it, which says nothing of the answer."""
    kind: Own = "not-emulated" if error.finding.kind == "not-emulated" else "finding"
    return Trouble(kind, str(error), trace(error), code=error.finding.kind, at=error.finding.place)


def _opening(refusal: BaseException) -> str:
    """``Line 3, `x.exp()`: ``, to begin the sentence of a refusal; "" where it passed no line of the answer."""
    line = line_of(refusal)
    return f"L{line[1:]}: " if line else ""


def _has_storage(tensor: torch.Tensor) -> bool:
    """Says whether it lies in memory as numbers one after the other: not sparse, nested, quantized or without data."""
    strided = tensor.layout == torch.strided and not tensor.is_nested
    return strided and not tensor.is_quantized and not tensor.is_meta
