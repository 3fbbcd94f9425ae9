"""A runner for answers that are not trusted: every call in a fresh process that knows nothing but its arguments.

    with Isolated(answer, record, "triton", limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

What is right stays here. An answer gets its arguments as raw memory and returns raw memory, which is read when its
process is dead.
"""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from ..compiler import KernelLaunch
from ..exercise import Exercise, Witness
from ..operators import ALLOCATE, FILL, MOVE, VIEW
from ..runner import Decoy, Outcome, Trouble
from ..source import Answer
from . import buffers, kernels, plan, results
from .buffers import Layout, Shared
from .compiler import Compiler
from .status import Status, clean
from .watch import SHOWN, Budget, Ended, Limits, Task
from .worker import Worker, WorkerLost

_ALONE = "Your kernels, run again without the rest of the code,"
_ELSEWHERE = "something is computed outside of them, or what is launched depends on the numbers that came in."
_KEPT = (
    "Called twice in one process with the same input, it gives two results: something is kept from call to call. "
    "Make and fill in each call what it needs."
)
_UNKNOWN = "It is not shown that your kernels compute the result"
_ROOM = 1 << 20  # bytes for outputs of a size nobody expects, so that a wrong shape can be named
_LOST = "The process that runs the answers ended during the call."


@dataclass(frozen=True)
class _Call:
    """One of the calls that a child makes. room: which memory takes the outputs, if they are of interest. plan: whether
    what is done with the tensors is recorded, in place of a call.
    """

    args: tuple
    room: int | None = None
    shuffle: int | None = None
    fill: float | None = None
    plan: bool = False
    needed: bool = True  # whether the calls after it are made only if it succeeds


@dataclass
class _Known:
    """What is known of an answer for some arguments, after calls on them and on others."""

    args: tuple
    first: Outcome
    second: Outcome | None = None  # of another call in the same process, until somebody asks for it
    before: tuple[Outcome, Status] | None = None  # of the call on a decoy
    after: tuple[Outcome, Status] | None = None  # in Triton, of a record made after the call
    fill: float | None = None


class Isolated:
    """Calls an answer in a worker. ``record`` decides what the worker hears: names, and what is refused or allowed.

    notebook: a budget that this answer shares with others.
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
        notebook: Budget | None = None,
        worker: Worker | None = None,
        rung: str | None = None,
    ):
        self.answer, self.record, self.backend, self.limits = answer, record, backend, limits
        self._own = None if worker else Worker(rung)
        self._worker = worker or self._own
        self._text = kernels.text_of(answer)
        self._budgets = [Budget("answer", limits.total_seconds), *([notebook] if notebook else [])]
        self._shapes: dict[str, list[Layout]] = {}
        self._last: _Known | None = None
        self._new = True
        self.printed = ""  # by the last call

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *error) -> None:
        if self._own:
            self._own.close()

    @property
    def compiler(self) -> Compiler:
        """Compiles what the answer launches, on the rung that the answer runs on."""
        return self._worker.compiler

    def call(
        self,
        args: tuple,
        *,
        shuffle: int | None = None,
        fill: float | None = None,
        decoy: Callable[[], Decoy] | None = None,
    ) -> Outcome:
        """See `Runner.call`. Troubles beside an answer's own: ``timeout``, ``memory``, ``output``, ``crashed``.

        Calls are made in a process that has called the answer on a decoy, but for the very first one. A second call
        with the same arguments is a proof: of a Triton answer the kernels alone are called (see `replay`), and must
        give what the answer gave. What came for a decoy is in the outcome of the first or of the second call. Where
        ``decoy`` is left out, it is any numbers of the same layout.
        """
        decoy = decoy or (lambda: any_numbers(args))
        known = self._last
        if known is None or known.args is not args or known.fill != fill:
            self._last = self._called(args, shuffle, decoy, fill)
            return self._last.first
        if self.backend == "triton" and shuffle is not None and known.first.outputs is not None:
            return self._proof(known, shuffle, decoy)
        if known.second is None:
            return self._called(args, shuffle, decoy, fill).first
        again, known.second = known.second, None
        return again

    def replay(self, args: tuple, *, shuffle: int | None = None) -> Outcome:
        """What the answer's kernels alone give for ``args``, for a Triton answer.

        The answer is called on other numbers of the same layout, and what it does with its tensors is recorded. Then
        that is done with ``args``, in a process that holds the kernels and nothing else of it: what was computed
        elsewhere is not there.
        """
        recorded = self._recorded(self._called(args, None, lambda: any_numbers(args)))
        return recorded if isinstance(recorded, Outcome) else self._replayed(recorded, [_Call(args, 0, shuffle)])[0]

    def _called(
        self, args: tuple, shuffle: int | None, decoy: Callable[[], Decoy], fill: float | None = None
    ) -> _Known:
        """Calls the answer in a fresh process: on a decoy, in Triton for the record, then on ``args``."""
        job, triton = {"mode": "answer", "answer": self._code()}, self.backend == "triton"
        alone, self._new = self._new and not triton, False
        if alone or isinstance(self.record, Witness):
            return _Known(args, self._ask(job, [_Call(args, room=0)])[0][0])
        other = decoy()
        if triton:
            calls = [_Call(other.args, plan=True, needed=False), _Call(args, 0, shuffle, fill), _Call(args, plan=True)]
        else:
            calls = [_Call(other.args, 2, needed=False), _Call(args, 0), _Call(args, 1)]
        before, *rest = self._ask(job, calls)
        if triton:
            after = (*rest, None, None)[1]
            return _Known(args, (rest or [before])[0][0], before=before, after=after, fill=fill)
        known = _Known(args, *(outcome for outcome, _ in rest or [before]), before=before, fill=fill)
        if rest:
            known.first.decoy = other, before[0]
        return known

    def _proof(self, known: _Known, shuffle: int, decoy: Callable[[], Decoy]) -> Outcome:
        recorded, first = self._recorded(known), known.first
        if isinstance(recorded, Outcome):
            return recorded
        if complaint := self._kept(known, recorded[0]):
            return Outcome(trouble=Trouble("refused", complaint))
        other, fill = decoy(), known.fill
        calls = [_Call(other.args, 1, fill=fill, needed=False), _Call(known.args, 0, shuffle, fill)]
        came, *rest = self._replayed(recorded, calls)
        shuffled = rest[0] if rest else came
        if shuffled.trouble:
            return shuffled
        # Where the order of the programs makes a difference, it takes a run in order to tell that from a cheat.
        alike = _same_bits(first, shuffled)
        alike = alike or _same_bits(first, self._replayed(recorded, [_Call(known.args, 0, fill=fill)])[0])
        if not alike:
            return Outcome(trouble=Trouble("refused", f"{_ALONE} give another result: {_ELSEWHERE}"))
        if first.traffic != shuffled.traffic or _signatures(first) != _signatures(shuffled):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} are launched otherwise, or move other bytes."))
        # What the answer's own process says it took and launched may be forged; here nothing of it ran but the kernels.
        first.peak, first.launches, first.looser = shuffled.peak, shuffled.launches, shuffled.looser
        shuffled.decoy = other, came
        return shuffled

    def _kept(self, known: _Known, steps: dict) -> str:
        """What an answer keeps from call to call, if that changes a result. One that does the same after a call as
        before it keeps nothing; of any other two calls in one process must agree.
        """
        outcome, said = known.after or (Outcome(), Status())
        with contextlib.suppress(plan.BadPlan):
            if outcome.trouble is None and self._checked(said.plan, known.args) == steps:
                return ""
        job = {"mode": "answer", "answer": self._code()}
        found = [one for one, _ in self._ask(job, [_Call(known.args, 0), _Call(known.args, 1)])]
        if trouble := next((one.trouble for one in found if one.trouble), None):
            return f"Called twice in one process, it fails: {trouble.message}"
        return "" if _same_bits(*found) else _KEPT

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

    def _replayed(self, recorded: tuple[dict, dict], calls: list[_Call]) -> list[Outcome]:
        steps, cut_out = recorded
        found = [outcome for outcome, _ in self._ask({"mode": "replay", "plan": steps, "kernels": cut_out}, calls)]
        for outcome in found:
            if outcome.trouble and outcome.trouble.kind in ("raised", "refused", "stub"):
                message = f"{_ALONE} give no result: {outcome.trouble.message}"
                outcome.trouble = replace(outcome.trouble, kind="refused", message=message)
        return found

    def _checked(self, given, args: tuple) -> dict:
        if not isinstance(given, dict) or "reason" in given:
            reason = given.get("reason") if isinstance(given, dict) else ""
            raise plan.BadPlan(clean(reason) if reason and isinstance(reason, str) else "the launches are not known")
        ops = ALLOCATE | FILL | MOVE | VIEW | self.record.allowed
        return plan.check(given, sum(isinstance(a, torch.Tensor) for a in args), ops, self.limits.memory)

    def _code(self) -> dict:
        cells = [[cell.name, cell.source] for cell in self.answer.cells]
        own = self.answer
        more = {"setup": own.setup, "after": own.after, "module": own.module}
        return {"exercise": own.exercise, "cells": cells} | more

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
            "counted": getattr(self.record, "most_bytes", None) is not None,
            "gradient_of": getattr(self.record, "gradient_of", ""),
        }

    def _ask(self, job: dict, calls: list[_Call]) -> list[tuple[Outcome, Status]]:
        """One child, and for each call that was begun in it the outcome and what the child said.

        A call's arguments are in memory when it begins, and not before: what was recorded on the numbers that were
        there earlier owes nothing to them.
        """
        for budget in self._budgets:
            if broken := budget.broken(self.limits.wall_factor):
                return [(Outcome(trouble=Trouble("timeout", results.too_long(broken))), Status())]
        held = calls[0].args
        layouts = buffers.lay_out(_tensors(held))
        expected = buffers.size_of(self._expected(calls[-1].args))
        room = expected + _ROOM
        rooms = [None if call.room is None else (call.room * room, call.room * room + room) for call in calls]
        steps = 1 + len(self.answer.cells) if job["mode"] == "answer" else 0
        job |= {"record": self._policy(), "backend": self.backend, "steps": steps}
        job["calls"] = [
            {"args": _specs(call.args, layouts), "shuffle": call.shuffle, "fill": call.fill}
            | {"plan": call.plan, "room": where}
            for call, where in zip(calls, rooms, strict=True)
        ]
        with Shared(buffers.size_of(layouts)) as inputs, Shared(room * len(list(filter(None, rooms)))) as outputs:
            _put(inputs, layouts, held)
            for begin, _ in filter(None, rooms):
                outputs.memory[begin : begin + expected] = bytes([buffers.POISON]) * expected

            def between(made: int, said: bytes) -> bool:
                """Whether to go on after so many calls; if so, the next one's arguments are put in their place."""
                last, following = calls[made - 1 : made + 1]
                if last.needed and results.failed(said, made):
                    return False
                if following.args is not last.args:
                    _put(inputs, layouts, following.args)
                return True

            try:
                shared, addresses = inputs.nbytes + outputs.nbytes, sum(one.addresses for one in layouts)
                ended = self._run(job, inputs, outputs, Task(job["steps"], len(calls), between, shared, addresses))
            except WorkerLost:
                return [(Outcome(trouble=Trouble("crashed", _LOST)), Status())]
            found = results.of(ended, rooms, outputs, self.record, self.limits, self._text, self._loading(ended, job))
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

    def _loading(self, ended: Ended, job: dict) -> str:
        """The cell that was being loaded when the child ended, if one was."""
        names = ["setup", *(cell.name for cell in self.answer.cells)]
        return names[ended.loaded] if ended.loaded < job["steps"] else ""

    def _run(self, job: dict, inputs: Shared, outputs: Shared, task: Task) -> Ended:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": inputs.file, "outputs": outputs.file}
            self._worker.ready()  # its start is nobody's time
            ended = self._worker.run(files, task, self.limits, self._budgets)
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


def any_numbers(args: tuple) -> Decoy:
    """Arguments of the same layout that nobody can foresee, and that may be no valid ones."""
    chance = torch.Generator().manual_seed(int.from_bytes(os.urandom(7)))
    return Decoy(tuple(buffers.decoy(a, chance) if isinstance(a, torch.Tensor) else a for a in args), valid=False)


def _tensors(args: tuple) -> list[torch.Tensor]:
    return [a for a in args if isinstance(a, torch.Tensor)]


def _put(shared: Shared, layouts: list[Layout], args: tuple) -> None:
    for layout, tensor in zip(layouts, _tensors(args), strict=True):
        buffers.put(shared, layout, tensor)


def _specs(args: tuple, layouts: list[Layout]) -> list[dict]:
    rest = iter(layouts)
    return [{"tensor": next(rest).data()} if isinstance(a, torch.Tensor) else {"value": a} for a in args]
