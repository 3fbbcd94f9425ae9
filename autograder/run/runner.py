"""Calling an answer: the seam between the check, which knows what is right, and the code it does not trust.

A runner knows how to call one answer. It gets arguments and hands back an ``Outcome``; expected values, tolerance and
verdict stay with the caller. `InProcess` calls a function that lives in this very process (a notebook cell, a
debugger).
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from ..emulator import Emulator, EmulatorError, Finding, Replay
from .answer import is_stub, trace
from .apart import far_apart, is_apart
from .contract import Args, Contract, as_tuple
from .device import Device
from .gradient import with_gradient
from .guards import NoLaunches, Refused, Watch, WatchFunctions
from .interpret import ensure_runnable, interpreted
from .launches import plain_launches
from .machine import Machine
from .memory import Peak
from .operators import is_permitted
from .outcome import Decoy, Outcome, Own, Trouble
from .where import interrupted, line_of
from .written import Written

Decoys = Callable[[], Decoy]  # makes another one at every call

STUB = "not implemented yet"


class Runner(Protocol):
    """fill: what masked-off lanes without ``other`` hold, poison where it is None. decoy: makes decoys for ``args``, on
    which an isolated runner calls the answer, too.
    """

    def call(self, args: Args, *, fill: float | None = None, decoy: Decoys | None = None) -> Outcome:
        """The answer, called on ``args``."""

    def confirm(
        self,
        args: Args,
        *,
        shuffle: int | None = None,
        fill: float | None = None,
        decoy: Decoys | None = None,
    ) -> Outcome:
        """The same again, after `call` on these very ``args``: whether the answer keeps nothing from call to call.
        shuffle: seeds another order of the programs of every launch. fill: of this call.
        """

    def refill(self, args: Args, fill: float) -> Outcome:
        """The launches of the last `call`, which was on these very ``args``, with ``fill`` in masked-off lanes."""


class Unloadable:
    """Stands for an answer whose code does not run: every call has the same trouble."""

    def __init__(self, trouble: Trouble):
        self.trouble = trouble

    def call(self, args: Args, *, fill: float | None = None, decoy: Decoys | None = None) -> Outcome:
        return Outcome(trouble=self.trouble)

    def confirm(
        self, args: Args, *, shuffle: int | None = None, fill: float | None = None, decoy: Decoys | None = None
    ) -> Outcome:
        return Outcome(trouble=self.trouble)

    def refill(self, args: Args, fill: float) -> Outcome:
        return Outcome(trouble=self.trouble)


def duplicate(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in memory of its own with the same shape, strides and offset."""
    if is_apart(tensor.shape, tensor.stride()):
        return far_apart(tensor)
    copy = torch.empty(0, dtype=tensor.dtype)
    return copy.set_(tensor.untyped_storage().clone(), tensor.storage_offset(), tensor.shape, tensor.stride())


class InProcess:
    """Calls a function of this process, on copies of the arguments: ``copy`` makes them."""

    def __init__(
        self,
        function: Callable[..., Any],
        contract: Contract,
        backend: str,
        copy: Callable[[torch.Tensor], torch.Tensor] = duplicate,
    ):
        ensure_runnable(backend)
        self.copy = copy
        self.contract, self.backend = contract, backend
        self.answer = inspect.unwrap(function)
        self.function = with_gradient(contract, function)
        self.replay: Replay | None = None  # of the launches of `call`, for `confirm`

    def call(self, args: Args, *, fill: float | None = None, decoy: Decoys | None = None) -> Outcome:
        self.replay = Replay()
        return self.once(args, fill=fill)

    def confirm(
        self, args: Args, *, shuffle: int | None = None, fill: float | None = None, decoy: Decoys | None = None
    ) -> Outcome:
        outcome = self.once(args, shuffle=shuffle, fill=fill, launches=False)
        self.replay = None
        return outcome

    def refill(self, args: Args, fill: float) -> Outcome:
        return self.once(args, fill=fill, launches=False)

    def once(
        self, args: Args, *, shuffle: int | None = None, fill: float | None = None, launches: bool = True
    ) -> Outcome:
        """One call, in a grid that is ordered by the seed ``shuffle``. launches: whether the outcome has them."""
        device = None if interpreted() else Device()
        machine: Machine = device or Emulator(shuffle=shuffle, fill=fill, replay=self.replay)
        put = device.put if device and self.backend == "triton" else lambda name, tensor: self.copy(tensor)
        given = list(zip(self.contract.parameters, args, strict=False))
        tensors = {name: a for name, a in given if isinstance(a, torch.Tensor)}
        copies = {name: put(name, a) for name, a in tensors.items()}
        mine = [copies.get(name, a) for name, a in given]
        peak = Peak()
        for copy in copies.values():
            peak.exclude(copy)
        written = Written() if self.backend == "torch" else None  # a kernel's stores the emulator sees by itself
        result, trouble = self._watched(mine, machine, peak, written)
        outcome = Outcome(trouble=trouble or self._complaint(result, args, machine), traffic=dict(machine.traffic))
        outcome.peak, outcome.looser, outcome.undefined = peak.most, machine.looser, machine.undefined
        outcome.launches = plain_launches(machine.launches) if interpreted() and launches else ()
        outcome.hints = tuple(machine.hints)
        if outcome.trouble is None:
            outputs = as_tuple(result)
            outcome.findings = self._findings(outputs, machine, written)
            outcome.outputs = tuple(o.detach().cpu().clone() if isinstance(o, torch.Tensor) else o for o in outputs)
            copied = [name for name, a in tensors.items() if copies[name] is not a]
            outcome.mutated = tuple(name for name in copied if not unchanged(tensors[name], copies[name]))
            outcome.aliased = tuple(n for n, m in copies.items() if any(shares_memory(m, o) for o in outputs))
        return outcome

    def _findings(self, outputs: Args, machine: Machine, written: Written | None) -> tuple[Finding, ...]:
        """What the emulator saw go wrong, then the outputs' elements that were never written."""
        named = zip(outputs, self.contract.outputs, strict=False)  # a witness may leave out what has a default
        flags = written.elements if written else lambda output: None
        unwritten = [machine.unwritten(o, name, flags(o)) for o, name in named if isinstance(o, torch.Tensor)]
        return (*machine.findings, *filter(None, unwritten))

    def _watched(
        self, args: list[Any], machine: Machine, peak: Peak, written: Written | None
    ) -> tuple[object, Trouble | None]:
        """(result, trouble) of one call under the eyes of the machine and of `guards`."""
        contract, allowed = self.contract, self.contract.allowed
        if "labels" in contract.parameters:
            allowed |= {"_local_scalar_dense"}  # a flag for a bad label has to be read, and reading computes nothing
        permits = None if contract.witness else partial(is_permitted, gradients=bool(contract.gradient_of))
        watch = Watch(self.backend, contract.refused, allowed, machine, peak, permits, written)
        functions = WatchFunctions(contract.refused, self.backend == "torch" and contract.counted)
        launches = NoLaunches(contract.name)
        # The emulator changes Triton in a hundred places. A PyTorch answer needs none of them.
        around = launches if self.backend == "torch" and interpreted() else machine
        result = trouble = None
        with around, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with watch, functions:
                    result = self.function(*args)
            except Refused as refusal:
                trouble = Trouble("refused", str(refusal), place=_opening(refusal))
            except EmulatorError as error:
                trouble = of_emulator(error)
            except KeyboardInterrupt as error:
                raise interrupted(contract.name, error) from None
            except (Exception, SystemExit) as error:
                kind, name = type(error).__name__, contract.name
                trouble = Trouble("raised", f"{kind}: {error}".rstrip(": "), trace(error), kind)
                if kind == "NotImplementedError" and is_stub(self.answer):
                    trouble = Trouble("stub", STUB)
                elif line := line_of(error):
                    trouble = replace(trouble, place=f"`{name}` fails in {line}: ")
        verdict = launches.verdict or watch.verdict or functions.verdict
        if verdict:  # also where the answer caught the refusal and went on
            place = trouble.place if trouble and trouble.kind == "refused" and not launches.verdict else ""
            if self.backend == "triton" and not machine.launches:
                verdict += " (If this is the PyTorch answer, run the Triton answer's cell again.)"
            trouble = Trouble("refused", verdict, place=place)
        return result, trouble

    def _complaint(self, result: object, args: Args, machine: Machine) -> Trouble | None:
        """What is wrong with the result before any value is looked at."""
        name, names, fewest = self.contract.name, self.contract.outputs, self.contract.fewest
        if result is None and is_stub(self.answer):
            return Trouble("stub", STUB)
        if result is None:
            return Trouble("raised", f"`{name}` returns nothing (None). Does every way through it end with `return`?")
        if machine.launches and self.backend == "torch":
            return Trouble("refused", f"This `{name}` launches a Triton kernel; run the PyTorch answer's cell again.")
        # Where one input is empty there may be nothing to launch: no rows, and weights that wait for them.
        work = all(a.numel() for a in args if isinstance(a, torch.Tensor))
        if work and not machine.launches and self.backend == "triton":
            return Trouble(
                "refused", f"This `{name}` launches no Triton kernel; run the Triton answer's cell again, or write one."
            )
        outputs = as_tuple(result)
        if not fewest <= len(outputs) <= len(names):
            wanted = f"{len(names)} values ({', '.join(names)})" if len(names) > 1 else f"one tensor ({names[0]})"
            return Trouble("raised", f"{name} should return {wanted}, but returned {len(outputs)}.")
        for output, label in zip(outputs, names, strict=False):
            number = self.contract.witness and isinstance(output, int | float | str | None)
            if type(output) is not torch.Tensor and not number:
                return Trouble("raised", f"{label} should be a tensor, but is {type(output).__name__}.")
            if isinstance(output, torch.Tensor) and not _has_storage(output):
                kind = str(output.layout if output.layout != torch.strided else output.dtype).removeprefix("torch.")
                return Trouble("raised", f"{label} should be an ordinary dense tensor, but is {kind}.")
        return None


def of_emulator(error: EmulatorError) -> Trouble:
    """What the emulator found in a launch, or that it cannot run it, which says nothing of the answer."""
    kind: Own = "not-emulated" if error.finding.kind == "not-emulated" else "finding"
    return Trouble(kind, str(error), trace(error), cause=error.finding.cause)


def _opening(refusal: Refused) -> str:
    """``Line 3, `x.exp()`: ``, to begin the sentence of a refusal; "" where it passed no line of the answer."""
    line = line_of(refusal)
    return f"L{line[1:]}: " if line else ""


def _has_storage(tensor: torch.Tensor) -> bool:
    """Whether it lies in memory as numbers one after the other: not sparse, nested, quantized or without data."""
    strided = tensor.layout == torch.strided and not tensor.is_nested
    return strided and not tensor.is_quantized and not tensor.is_meta


def unchanged(original: torch.Tensor, copy: torch.Tensor) -> bool:
    """Whether a copy still holds the bits of its original, in all of its memory, gaps included but for those that
    cannot be written.
    """
    if is_apart(copy.shape, copy.stride()):
        return _bytes(original.contiguous()).equal(_bytes(copy.cpu().contiguous()))
    return _bytes(original).equal(_bytes(copy).cpu())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def shares_memory(one: torch.Tensor, other: object) -> bool:
    if not isinstance(other, torch.Tensor) or not other.numel():
        return False
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
