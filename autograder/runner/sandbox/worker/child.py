"""Calls of an answer, in a process of its own that ends with them. The parent trusts nothing that it reports."""

import contextlib
import functools
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from ....gpu import ADVICE, Finding, KernelLaunch
from ...call import borrowed
from ...call.answer import Answer, AnswerError, AnswerRefused, NoFunction, trace
from ...call.call_history import FollowedElement, parting
from ...call.callee import Callee, CompareError, callee_in_form
from ...call.contract import CallForm, Contract
from ...call.elements import span
from ...call.given import shares_memory
from ...call.machine import Machine
from ...call.outcome import Outcome, Trouble
from ...call.runner import InProcess
from ...call.session import Session
from ...call.tree import Tree
from ..wire.buffers import DTYPES, BufferLayout, contiguous, opened, rounded, tensor_in
from . import native_code
from .blocked_operators import BlockedOperators
from .composed_functions import ComposedFunctions
from .no_drawing import leave_out_drawing
from .recorder import Recorder
from .replay import Kernels, Player, forget

_TEXT = 50_000  # characters
_LIMIT = 3 << 20  # bytes of a status; the parent reads a little more than this


def run(
    job: dict[str, Any],
    inputs: int,
    outputs: int,
    status: int,
    go: int,
    blocked: BlockedOperators,
    composed: ComposedFunctions,
) -> None:
    """Does what ``job`` says, and the jobs that follow it. inputs, outputs, status, go: descriptors of shared memory,
    of shared memory, of a pipe to write to, and of a socket to read from.

    job: ``mode`` (``answer | replay``), ``contract``, ``backend``, ``answer`` and ``twice`` (whether gradients are of a
    second way through the graph) or, to replay, ``plan`` and ``kernels``, and ``calls``: for each ``args``,
    ``shuffle``, ``fill``, ``plan`` (whether to record one), ``launches`` (whether to report them) and ``room`` (where
    in ``outputs`` its own go, or null). An empty line is written after each of the ``steps`` of loading an answer, one
    a cell, so that the parent knows which one did not end; then a line after each call. Over the socket comes a
    datagram for the next call, or with three descriptors that of another job, whatever is left of this one. The answer
    is the same for all jobs.
    """
    parent, contract = _Parent(status, go, job["steps"]), Contract.of(job["contract"])
    form = contract.form
    # A replay has nothing of an answer that could ask; of other code it calls operators that a GPU computes otherwise.
    gpu = contract.sees_gpu(job["backend"]) and (form is not None or job["mode"] == "answer")
    functions, session = _Functions(gpu), Session(gpu, hides_interpreter=True)
    torch.set_num_threads = _no_threads
    leave_out_drawing()
    if gpu or (job["mode"] == "answer" and not contract.basic(job["backend"])):
        composed.open()
    composed.forget()
    _simulate(session)
    if form:  # new memory holds the same in each call: what nobody writes is no difference between code and its replay
        borrowed.fill_new_memory()
    anything, gradient = contract.witness or bool(form and not form.basic), bool(contract.gradient_of or form)
    blocked.settle(contract.refused, anything, gradient)  # before the answer's code can reach anything
    while True:
        memory, room = opened(inputs), opened(outputs)
        for call in job["calls"]:
            _arguments(call["args"], memory)  # to map those that lie far apart a C function is called
        native_code.end()
        calls = functools.partial(_runner, contract=contract, backend=job["backend"], session=session)
        function = functions.of(job, contract, parent.loaded)
        for call in job["calls"]:
            if call["follow"]:
                report = functions.follow(call, calls(function), memory)
            elif call["histories"]:
                report = _histories(call, calls(function), memory, room)
            else:
                report = _one(call, function, calls, memory, room)
            parent.send(_with_origin(report, functions.failed))
            message, files = parent.receive()
            if files or not message:
                break
        if not files:
            return
        del memory, room, function
        _mapped.cache_clear()
        with open(files[0], "rb") as file:
            job = json.loads(file.read())
        inputs, outputs = files[1:]


_held = contextlib.ExitStack()  # until this process ends


def _simulate(session: Session) -> None:
    """Begins the session, as long as this process lives: nothing but the answer runs in it."""
    _held.enter_context(session)
    _held.enter_context(session.code())
    if session.simulated:
        del os.environ["CUDA_VISIBLE_DEVICES"]  # which is empty, and says that there is no GPU


def _no_threads(nthreads: int) -> None:
    """Takes the place of `torch.set_num_threads`: the sandbox allows no threads."""


class _Parent:
    """The other end of ``status`` and ``go``. What it needs is looked up before an answer can put something else in its
    place.
    """

    def __init__(self, status: int, go: int, steps: int):
        self._status, self._left = status, steps
        self._write, self._dump = os.write, json.dumps
        self._receive = functools.partial(
            socket.recv_fds, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, go), 16, 3
        )

    def loaded(self, count: int = 1) -> None:
        self._left -= count
        self._write(self._status, b"\n" * count)

    def send(self, report: dict[str, Any]) -> None:
        if self._left:  # loading stopped with an error
            self.loaded(self._left)
        text = self._dump(report).encode()
        if len(text) > _LIMIT:
            much = Trouble("raised", "The call has more to report than can be read.")
            text = self._dump(_report(Outcome(trouble=much))).encode()
        flush()
        text += b"\n"
        while text:
            text = text[self._write(self._status, text) :]

    def receive(self) -> tuple[bytes, list[int]]:
        """A datagram and its descriptors; nothing where the parent has closed its end."""
        message, files, *_ = self._receive()
        return message, files


class _Functions:
    """Holds what a job calls. gpu: whether on a simulated GPU."""

    def __init__(self, gpu: bool) -> None:
        self._gpu = gpu
        self._answer: Callable[..., Any] | Callee | BaseException | None = None
        self.failed: list[AnswerError] = []  # the first of each of the answer's cells
        self._kernels: Kernels | None = None
        self._cut_out: dict[str, Any] | None = None
        self._followed: FollowedElement | None = None  # by the last call that was to

    def of(self, job: dict[str, Any], contract: Contract, loaded: Callable[[], None]) -> "Repeated | BaseException":
        """The answer, which is loaded once, or the player of a plan; the error where there is none."""
        try:
            if job["mode"] == "replay":
                return Repeated(Player(job["plan"], self._live(job["kernels"]), self._gpu))
        except BaseException as error:
            return error
        if self._answer is None:
            try:
                self._answer = _answer(job["answer"], contract.form, loaded, self.failed)
            except BaseException as error:
                self._answer = error
        if isinstance(self._answer, BaseException):
            return self._answer
        if isinstance(self._answer, Callee):
            assert contract.form is not None
            return Repeated(self._answer.in_form(contract.form, job["twice"]))
        return Repeated(self._answer)

    def follow(self, call: dict[str, Any], runner: InProcess, inputs: mmap.mmap) -> dict[str, Any]:
        """Follows an element of a result; where that is asked for, the report says where it parts from the one that was
        followed before.
        """
        before = self._followed if call["compare"] else None
        try:
            output, index = call["follow"]
            self._followed = runner.followed(_arguments(call["args"], inputs)).element(output, tuple(index))
        except BaseException as error:
            return _report(Outcome(trouble=_trouble(error)))
        return _report(Outcome()) | {"parting": parting(before, self._followed) if before else ()}

    def _live(self, cut_out: dict[str, Any]) -> Kernels:
        """Those of the last job where this one has the same."""
        if self._kernels is None or cut_out != self._cut_out:
            forget()
            self._kernels, self._cut_out = Kernels(cut_out), cut_out
        return self._kernels


def _histories(call: dict[str, Any], runner: InProcess, inputs: mmap.mmap, outputs: mmap.mmap) -> dict[str, Any]:
    """A report whose outputs are the histories of the results' elements; of none where they are not known."""
    try:
        known = runner.followed(_arguments(call["args"], inputs)).hashes
        return _report(Outcome()) | {"outputs": _deliver(known, outputs, *call["room"])}
    except BaseException as error:
        return _report(Outcome(trouble=_trouble(error)))


def _one(
    call: dict[str, Any], function: Any, calls: Callable[..., InProcess], inputs: mmap.mmap, outputs: mmap.mmap
) -> dict[str, Any]:
    if isinstance(function, BaseException):
        return _report(Outcome(trouble=_trouble(function)))
    recorder = Recorder(function) if call["plan"] else None
    try:
        args = _arguments(call["args"], inputs)
        runner = calls(recorder or function, recorded=recorder is not None)
        outcome = runner.once(
            args, shuffle=call["shuffle"], fill=call["fill"], launches=call["launches"], choice=call["choice"]
        )
        report = _report(outcome)
        if outcome.outputs and call["room"]:
            report["outputs"] = _deliver(outcome.outputs, outputs, *call["room"])
    except BaseException as error:  # SystemExit, KeyboardInterrupt, and what a tensor of a strange kind does to a copy
        report = _report(Outcome(trouble=_trouble(error)))
    if recorder is not None:
        report["plan"] = recorder.plan if recorder.plan is not None else {"reason": recorder.reason}
    return report


def _runner(function: Any, contract: Contract, backend: str, session: Session, recorded: bool = False) -> InProcess:
    """Calls the function on tensors that are its own."""
    kind = Recorded if recorded else InProcess
    guarded = contract.form is None
    return kind(function, contract, backend, copy=lambda tensor: tensor, guarded=guarded, simulated=session)


def _with_origin(report: dict[str, Any], failed: list[AnswerError]) -> dict[str, Any]:
    """The report; where a name is missing, with what failed in a cell before."""
    trouble = report["trouble"]
    if failed and trouble and trouble["error"] == "NameError":
        line = f"`{failed[0].line}`: " if failed[0].line else ""
        trouble["message"] += f". A cell had failed before, at {line}{failed[0]}"
    return report


def _trouble(error: BaseException) -> Trouble:
    if isinstance(error, CompareError):
        return Trouble("unloadable", str(error))
    if isinstance(error, AnswerError):
        message = f"{error}. `{error.missing}` finds nothing here: {ADVICE}." if error.missing else str(error)
        return Trouble("refused" if isinstance(error, AnswerRefused) else "unloadable", message, error.details)
    name = type(error).__name__
    return Trouble("raised", f"{name}: {error}", trace(error), name)


def _answer(
    given: dict[str, Any], form: CallForm | None, loaded: Callable[[], None], failed: list[AnswerError]
) -> Callable[..., Any] | Callee:
    answer = Answer.of(given)
    try:
        function = answer.load(loaded, go_on=not form, failed_in=failed.append)
    except AnswerError as error:
        if form and isinstance(error, NoFunction):
            raise CompareError(f"{answer.exercise} of {answer.defining_cell} is not a function") from None
        if form and error.stopped:
            error.args = (f"{answer.defining_cell} stopped with {error.stopped}",)
        raise
    return callee_in_form(function, form) if form else function


def _arguments(specs: list[dict[str, Any]], memory: mmap.mmap) -> tuple[Any, ...]:
    """The arguments, with tensors directly in the shared memory that the parent checks afterwards."""

    def of(spec: dict[str, Any], tensors: dict[BufferLayout, torch.Tensor]) -> Any:
        """made: the tensors of its list so far, which may hold one of them twice."""
        if "list" in spec:
            listed: dict[BufferLayout, torch.Tensor] = {}
            return [of(part, listed) for part in spec["list"]]
        if "tensor" not in spec:
            return spec["value"]
        layout = BufferLayout.of(spec["tensor"])
        return tensors.setdefault(layout, _tensor(memory, layout))

    return tuple(of(spec, {}) for spec in specs)


def _tensor(memory: mmap.mmap, layout: BufferLayout) -> torch.Tensor:
    return _mapped(memory, layout).detach() if layout.is_apart else tensor_in(memory, layout)


_mapped = functools.cache(tensor_in)  # once for all calls: there are addresses for one such matrix of each argument


class Recorded(InProcess):
    """A call whose steps are recorded. The result is not checked, since no kernel ran."""

    def _complaint(self, result: object, args: tuple[Any, ...], machine: Machine) -> Trouble | None:
        return None


class Repeated:
    """An answer that is called more than once: no result may share memory with an earlier one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = self.__wrapped__ = function
        self.held: list[torch.Tensor] = []

    def __call__(self, *args: Any) -> Any:
        result = self.function(*args)
        arguments = Tree(args).tensors
        results = Tree.of(result).tensors
        # That a result shares memory with an argument is another complaint.
        results = [tensor for tensor in results if not any(shares_memory(a, tensor) for a in arguments)]
        if any(shares_memory(h, tensor) for tensor in results for h in self.held):
            raise RuntimeError("the result lies in the memory of an earlier result, which is lost; return a new tensor")
        self.held += results
        return result


def _deliver(outputs: tuple[Any, ...], memory: mmap.mmap, begin: int, end: int) -> list[dict[str, Any]]:
    """Copies the outputs' bytes to the memory in which the parent expects them, and describes them."""
    described, offset = [], begin
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            described.append({"value": output})
            continue
        layout = contiguous(output.dtype, tuple(output.shape), offset)
        if layout.dtype not in DTYPES:
            raise TypeError(f"a tensor of {layout.dtype} cannot be handed over")
        described.append({"dtype": layout.dtype, "shape": list(layout.shape)})
        size = output.numel() * output.element_size()
        if offset + size <= end and output.numel():
            _copy(memory, layout, output)
        offset += rounded(size)
    return described


def _copy(memory: mmap.mmap, layout: BufferLayout, tensor: torch.Tensor) -> None:
    if layout.offset + span(layout.shape, layout.stride) * tensor.element_size() <= len(memory):
        torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=layout.offset).copy_(
            tensor.reshape(-1)
        )


def _plain(launch: KernelLaunch | str) -> dict[str, Any] | str:
    """A launch without the source: the parent uses its own copy."""
    if isinstance(launch, str):
        return launch
    fields = asdict(launch)
    del fields["source"]
    return fields


def _report(outcome: Outcome) -> dict[str, Any]:
    trouble = asdict(outcome.trouble) if outcome.trouble else None
    return {
        "trouble": trouble and {name: v[:_TEXT] if isinstance(v, str) else v for name, v in trouble.items()},
        "outputs": None,
        "aliased": list(outcome.aliased),
        "relisted": list(outcome.relisted),
        "reshaped": list(outcome.reshaped),
        "findings": [_finding(finding) for finding in outcome.findings],
        "hints": [_finding(hint) for hint in outcome.hints],
        "looser": list(outcome.looser),
        "undefined": outcome.undefined,
        "traffic": outcome.traffic,
        "peak": outcome.peak,
        "launches": [_plain(launch) for launch in outcome.launches],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    texts = {name: getattr(finding, name)[:_TEXT] for name in ("message", "kernel", "tensor", "source")}
    return {"kind": finding.kind, "line": finding.line} | texts


def flush() -> None:
    """Writes what the answer printed to the pipes."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
