"""A runner for answers that are not trusted: every call in a fresh process that knows nothing but its arguments.

    with Isolated(answer, record, "triton", limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

What is right stays here. An answer gets its arguments as raw memory and returns raw memory, which is read when its
process is dead.
"""

import json
import os
import time
from dataclasses import dataclass, replace

import torch

from ..compiler import KernelLaunch
from ..exercise import Exercise, Witness
from ..method import ALLOCATE, FILL, MOVE, VIEW
from ..runner import Outcome, Trouble
from ..source import Answer
from . import buffers, kernels, plan, results
from .buffers import Layout, Shared
from .status import Status, clean
from .watch import SHOWN, Between, Ended, Limits
from .worker import Worker, WorkerLost

_ALONE = "Your kernels, run again without the rest of the code,"
_ELSEWHERE = "something is computed outside of them, or what is launched depends on the numbers that came in."
_UNKNOWN = "It is not shown that your kernels compute the result"
_ROOM = 1 << 20  # bytes for outputs of a size nobody expects, so that a wrong shape can be named
_LOST = "The process that runs the answers ended during the call."


@dataclass(frozen=True)
class _Call:
    """One of the calls that a child makes. room: which memory takes the outputs, if they are of interest. plan: whether
    what is done with the tensors is recorded.
    """

    args: tuple
    room: int | None = None
    shuffle: int | None = None
    fill: float | None = None
    plan: bool = False


@dataclass
class _Known:
    """What is known of an answer for some arguments, after calls on them and on others."""

    args: tuple
    first: Outcome
    second: Outcome | None = None  # of another call in the same process, until somebody asks for it
    before: tuple[Outcome, Status] | None = None  # of the call on other numbers


class Isolated:
    """Calls an answer in a worker. ``record`` decides what the worker hears: names, and what is refused or allowed.

    worker: one to share between answers; otherwise one is started, and ended with the ``with`` block.
    rung: the isolation to use if a worker is started, the best there is by default. Raises SandboxError where it is
    not to be had.
    """

    def __init__(
        self,
        answer: Answer,
        record: Exercise | Witness,
        backend: str,
        *,
        limits: Limits = Limits(),  # noqa: B008  frozen
        worker: Worker | None = None,
        rung: str | None = None,
    ):
        self.answer, self.record, self.backend, self.limits = answer, record, backend, limits
        self._own = None if worker else Worker(rung)
        self._worker = worker or self._own
        self._text = kernels.text_of(answer)
        self._spent = 0.0
        self._shapes: dict[str, list[Layout]] = {}
        self._last: _Known | None = None
        self._new = True
        self.printed = ""  # by the last call

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *error) -> None:
        if self._own:
            self._own.close()

    def call(self, args: tuple, *, shuffle: int | None = None, fill: float | None = None) -> Outcome:
        """See `Runner.call`. Troubles beside an answer's own: ``timeout``, ``memory``, ``output``, ``crashed``.

        Calls are made in a process that has called the answer on other numbers of the same layout, but for the very
        first one. A second call with the same arguments is a proof: of a Triton answer the kernels alone are called
        (see `replay`), and must give what the answer gave.
        """
        if fill is not None:
            return self._called(args, shuffle, fill).first
        known = self._last
        if known is None or known.args is not args:
            self._last = self._called(args, shuffle)
            return self._last.first
        if self.backend == "triton" and shuffle is not None and known.first.outputs is not None:
            return self._proof(known, shuffle)
        if known.second is None:
            return self._called(args, shuffle).first
        again, known.second = known.second, None
        return again

    def replay(self, args: tuple, *, shuffle: int | None = None) -> Outcome:
        """What the answer's kernels alone give for ``args``, for a Triton answer.

        The answer is called on other numbers of the same layout, and what it does with its tensors is recorded. Then
        that is done with ``args``, in a process that holds the kernels and nothing else of it: what was computed
        elsewhere is not there.
        """
        recorded = self._recorded(self._called(args, None))
        return recorded if isinstance(recorded, Outcome) else self._replayed(recorded, args, shuffle)

    def _called(self, args: tuple, shuffle: int | None, fill: float | None = None) -> _Known:
        """Calls the answer in a fresh process: on other numbers, in Triton for the record, then on ``args``."""
        job, triton = {"mode": "answer", "answer": self._code()}, self.backend == "triton"
        alone, self._new = self._new and not triton, False
        if alone or isinstance(self.record, Witness):
            return _Known(args, self._ask(job, [_Call(args, room=0)])[0][0])
        calls = [_Call(_other_numbers(args), plan=triton), _Call(args, room=0, shuffle=shuffle, fill=fill)]
        calls += [] if triton else [_Call(args, room=1)]
        before, *rest = self._ask(job, calls)
        return _Known(args, *(outcome for outcome, _ in rest or [before]), before=before)

    def _proof(self, known: _Known, shuffle: int) -> Outcome:
        recorded, first = self._recorded(known), known.first
        if isinstance(recorded, Outcome):
            return recorded
        shuffled = self._replayed(recorded, known.args, shuffle)
        if shuffled.trouble:
            return shuffled
        # Where the order of the programs makes a difference, it takes a run in order to tell that from a cheat.
        alike = _same_bits(first, shuffled) or _same_bits(first, self._replayed(recorded, known.args, None))
        if not alike:
            return Outcome(trouble=Trouble("refused", f"{_ALONE} give another result: {_ELSEWHERE}"))
        if first.traffic != shuffled.traffic or _signatures(first) != _signatures(shuffled):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} are launched otherwise, or move other bytes."))
        return shuffled

    def _recorded(self, known: _Known) -> tuple[dict, dict] | Outcome:
        """A checked plan and the kernels it launches; an outcome with the trouble where there is none."""
        outcome, said = known.before
        if outcome.trouble:
            return outcome
        try:
            steps = self._checked(said.plan, known.args)
            return steps, kernels.cut_out(self._text, steps)
        except plan.BadPlan as error:
            return Outcome(trouble=Trouble("refused", f"{_UNKNOWN}: {error}."))

    def _replayed(self, recorded: tuple[dict, dict], args: tuple, shuffle: int | None) -> Outcome:
        steps, cut_out = recorded
        outcome = self._ask(
            {"mode": "replay", "plan": steps, "kernels": cut_out}, [_Call(args, room=0, shuffle=shuffle)]
        )[0][0]
        if outcome.trouble and outcome.trouble.kind in ("raised", "refused", "stub"):
            message = f"{_ALONE} give no result: {outcome.trouble.message}"
            outcome.trouble = replace(outcome.trouble, kind="refused", message=message)
        return outcome

    def _checked(self, given, args: tuple) -> dict:
        if not isinstance(given, dict) or "reason" in given:
            reason = given.get("reason") if isinstance(given, dict) else ""
            raise plan.BadPlan(clean(reason) if reason and isinstance(reason, str) else "the launches are not known")
        ops = ALLOCATE | FILL | MOVE | VIEW | self.record.allowed
        return plan.check(given, sum(isinstance(a, torch.Tensor) for a in args), ops, self.limits.memory)

    def _code(self) -> dict:
        cells = [[cell.name, cell.source] for cell in self.answer.cells]
        return {"exercise": self.answer.exercise, "cells": cells, "setup": self.answer.setup}

    def _policy(self) -> dict:
        exercise = self.record.exercise if isinstance(self.record, Witness) else self.record
        return {
            "name": self.record.name,
            "witness": isinstance(self.record, Witness),
            "parameters": list(exercise.parameters),
            "fewest": self.record.fewest if isinstance(self.record, Witness) else len(exercise.parameters),
            "outputs": [output.name for output in exercise.outputs],
            "refused": sorted(getattr(self.record, "refused", ())),
            "allowed": sorted(getattr(self.record, "allowed", ())),
            "gradient_of": getattr(self.record, "gradient_of", ""),
        }

    def _ask(self, job: dict, calls: list[_Call]) -> list[tuple[Outcome, Status]]:
        """One child, and for each call that was begun in it the outcome and what the child said.

        A call's arguments are in memory when it begins, and not before: what was recorded on the numbers that were
        there earlier owes nothing to them.
        """
        if self._spent >= self.limits.total_seconds:
            return [(Outcome(trouble=Trouble("timeout", results.too_long(self.limits))), Status())]
        held = calls[0].args
        layouts = buffers.lay_out(_tensors(held))
        expected = buffers.size_of(self._expected(calls[-1].args))
        room = expected + _ROOM
        rooms = [None if call.room is None else (call.room * room, call.room * room + room) for call in calls]
        job |= {"record": self._policy(), "backend": self.backend}
        job["calls"] = [
            {"args": _specs(call.args, layouts), "shuffle": call.shuffle, "fill": call.fill}
            | {"plan": call.plan, "room": where}
            for call, where in zip(calls, rooms, strict=True)
        ]
        with Shared(buffers.size_of(layouts)) as inputs, Shared(room * sum(map(bool, rooms))) as outputs:
            _put(inputs, layouts, held)
            for begin, _ in filter(None, rooms):
                outputs.memory[begin : begin + expected] = bytes([buffers.POISON]) * expected

            def between(made: int, said: bytes) -> bool:
                """Whether to go on after so many calls; if so, the next one's arguments are put in their place."""
                last, following = calls[made - 1 : made + 1]
                if last.room is not None and results.failed(said, made):
                    return False
                if following.args is not last.args:
                    _put(inputs, layouts, following.args)
                return True

            try:
                ended = self._run(job, inputs, outputs, len(calls), between, sum(one.addresses for one in layouts))
            except WorkerLost:
                return [(Outcome(trouble=Trouble("crashed", _LOST)), Status())]
            found = results.of(ended, rooms, outputs, self.record, self.limits, self._text)
            for call, (outcome, _) in zip(calls, found, strict=False):
                outcome.mutated = self._mutated(inputs, layouts, call.args)
        return found

    def _mutated(self, inputs: Shared, layouts: list[Layout], args: tuple) -> tuple[str, ...]:
        tensors = [(p, a) for p, a in zip(self._parameters(), args, strict=False) if isinstance(a, torch.Tensor)]
        pairs = zip(tensors, layouts, strict=False)
        return tuple(name for (name, a), layout in pairs if not buffers.same(inputs, layout, a))

    def _parameters(self) -> tuple[str, ...]:
        return () if isinstance(self.record, Witness) else self.record.parameters

    def _expected(self, args: tuple) -> list[Layout]:
        """The outputs' places, from the oracle's shapes; none where the oracle has nothing to say."""
        if isinstance(self.record, Witness):
            return []
        key = repr([(str(a.dtype), a.shape) if isinstance(a, torch.Tensor) else a for a in args])
        if key not in self._shapes:
            self._shapes[key] = results.expected(self.record, args)
        return self._shapes[key]

    def _run(self, job: dict, inputs: Shared, outputs: Shared, calls: int, between: Between, addresses: int) -> Ended:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": inputs.file, "outputs": outputs.file}
            limits = replace(self.limits, total_seconds=self.limits.total_seconds - self._spent)
            self._worker.ready()  # its start is nobody's time
            begin = time.monotonic()
            try:
                ended = self._worker.run(files, limits, inputs.nbytes + outputs.nbytes, calls, between, addresses)
            finally:
                self._spent += time.monotonic() - begin
        self.printed = clean(ended.printed, SHOWN)
        return ended


def _same_bits(one: Outcome, other: Outcome) -> bool:
    if other.outputs is None:
        return False
    pairs = list(zip(one.outputs, other.outputs, strict=True))
    alike = all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return alike and all(buffers.bits(a).equal(buffers.bits(b)) for a, b in pairs)


def _signatures(outcome: Outcome) -> list:
    """What is launched, as the compiler report would compile it."""
    known = [launch for launch in outcome.launches if isinstance(launch, KernelLaunch)]
    return sorted(repr((launch.kernel, launch.signature, launch.constants)) for launch in known)


def _other_numbers(args: tuple) -> tuple:
    """Arguments of the same layout that nobody can foresee."""
    chance = torch.Generator().manual_seed(int.from_bytes(os.urandom(7)))
    return tuple(buffers.decoy(a, chance) if isinstance(a, torch.Tensor) else a for a in args)


def _tensors(args: tuple) -> list[torch.Tensor]:
    return [a for a in args if isinstance(a, torch.Tensor)]


def _put(shared: Shared, layouts: list[Layout], args: tuple) -> None:
    for layout, tensor in zip(layouts, _tensors(args), strict=True):
        buffers.put(shared, layout, tensor)


def _specs(args: tuple, layouts: list[Layout]) -> list[dict]:
    rest = iter(layouts)
    return [{"tensor": next(rest).data()} if isinstance(a, torch.Tensor) else {"value": a} for a in args]
