"""A runner for answers that are not trusted: every call in a fresh process that knows nothing but its arguments.

    with Isolated(answer, record, "triton", limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

What is right stays here. An answer gets its arguments as raw memory and returns raw memory, which is read when its
process is dead.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace

import torch

from ..compiler import KernelLaunch
from ..exercise import Exercise, Witness
from ..method import ALLOCATE, FILL, MOVE, VIEW
from ..runner import Outcome, Trouble
from ..source import Answer
from . import buffers, kernels, plan, results
from .buffers import Layout, Shared
from .status import Status, clean
from .worker import Ended, Limits, Worker, WorkerLost

_ALONE = "Your kernels, run again without the rest of the code,"
_ELSEWHERE = "something is computed outside of them, or what is launched depends on the numbers that came in."
_UNKNOWN = "It is not shown that your kernels compute the result"
_ROOM = 1 << 20  # bytes for outputs of a size nobody expects, so that a wrong shape can be named


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
        self._last: tuple[tuple, Outcome] | None = None  # arguments and what they gave
        self.printed = ""  # by the last call

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *error) -> None:
        if self._own:
            self._own.close()

    def call(self, args: tuple, *, shuffle: int | None = None) -> Outcome:
        """See `Runner.call`. Troubles beside an answer's own: ``timeout``, ``memory``, ``crashed``.

        A second call with the same arguments is a proof. A PyTorch answer is called on other numbers first, in the same
        process. Of a Triton answer the kernels alone are called (see `replay`), and must give what the answer gave.
        """
        code = {"mode": "call", "answer": self._code(), "shuffle": shuffle}
        first = self._last[1] if self._last and self._last[0] is args else None
        if first is None:
            outcome = self._ask(code, args)[0]
            self._last = args, outcome
            return outcome
        if self.backend == "triton" and shuffle is not None and first.outputs is not None:
            return self._proof(args, first, shuffle)
        return self._ask(code, args, before=_other_numbers(args))[0]

    def replay(self, args: tuple, *, shuffle: int | None = None) -> Outcome:
        """What the answer's kernels alone give for ``args``, for a Triton answer.

        The answer is called on other numbers of the same layout, and what it does with its tensors is recorded. Then
        that is done with ``args``, in a process that holds the kernels and nothing else of it: what was computed
        elsewhere is not there.
        """
        recorded = self._recorded(args)
        return recorded if isinstance(recorded, Outcome) else self._replayed(recorded, args, shuffle)

    def _proof(self, args: tuple, first: Outcome, shuffle: int) -> Outcome:
        recorded = self._recorded(args)
        if isinstance(recorded, Outcome):
            return recorded
        shuffled = self._replayed(recorded, args, shuffle)
        if shuffled.trouble:
            return shuffled
        # Where the order of the programs makes a difference, it takes a run in order to tell that from a cheat.
        alike = _same_bits(first, shuffled) or _same_bits(first, self._replayed(recorded, args, None))
        if not alike:
            return Outcome(trouble=Trouble("refused", f"{_ALONE} give another result: {_ELSEWHERE}"))
        if first.traffic != shuffled.traffic or _signatures(first) != _signatures(shuffled):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} are launched otherwise, or move other bytes."))
        return shuffled

    def _recorded(self, args: tuple) -> tuple[dict, dict] | Outcome:
        """A checked plan and the kernels it launches; an outcome with the trouble where there is none."""
        job = {"mode": "record", "answer": self._code(), "shuffle": None}
        outcome, said = self._ask(job, _other_numbers(args))
        if outcome.trouble:
            return outcome
        try:
            steps = self._checked(said.plan, args)
            return steps, kernels.cut_out(self._text, steps)
        except plan.BadPlan as error:
            return Outcome(trouble=Trouble("refused", f"{_UNKNOWN}: {error}."))

    def _replayed(self, recorded: tuple[dict, dict], args: tuple, shuffle: int | None) -> Outcome:
        steps, cut_out = recorded
        outcome = self._ask({"mode": "replay", "plan": steps, "kernels": cut_out, "shuffle": shuffle}, args)[0]
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

    def _ask(self, job: dict, args: tuple, before: tuple | None = None) -> tuple[Outcome, Status]:
        """One child. Its outcome, and what it said."""
        if self._spent >= self.limits.total_seconds:
            most = f"All calls together took {self.limits.total_seconds:g} s, which is the most they may take."
            return Outcome(trouble=Trouble("timeout", most)), Status()
        given = [a for a in (*args, *(before or ())) if isinstance(a, torch.Tensor)]
        layouts = buffers.lay_out(given)
        places = iter(layouts)
        job = job | {"record": self._policy(), "backend": self.backend, "args": _specs(args, places)}
        job["before"] = None if before is None else _specs(before, places)
        expected = buffers.size_of(self._expected(args))
        with Shared(buffers.size_of(layouts)) as inputs, Shared(expected + _ROOM) as outputs:
            for layout, tensor in zip(layouts, given, strict=True):
                buffers.put(inputs, layout, tensor)
            outputs.memory[:expected] = bytes([buffers.POISON]) * expected
            try:
                ended = self._run(job | {"room": outputs.nbytes}, inputs, outputs)
            except WorkerLost:
                lost = "The process that runs the answers ended during the call."
                return Outcome(trouble=Trouble("crashed", lost)), Status()
            outcome, said = results.of(ended, outputs, self.record, self.limits, self._text)
            # With the parameters' names in order, the tensors of ``args`` come first among the layouts.
            tensors = [(p, a) for p, a in zip(self._parameters(), args, strict=False) if isinstance(a, torch.Tensor)]
            pairs = zip(tensors, layouts, strict=False)
            outcome.mutated = tuple(name for (name, a), place in pairs if not buffers.same(inputs, place, a))
        return outcome, said

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

    def _run(self, job: dict, inputs: Shared, outputs: Shared) -> Ended:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": inputs.file, "outputs": outputs.file}
            left = self.limits.total_seconds - self._spent
            limits = replace(self.limits, seconds=min(self.limits.seconds, left))
            begin = time.monotonic()
            try:
                ended = self._worker.run(files, limits, inputs.nbytes + outputs.nbytes)
            finally:
                self._spent += time.monotonic() - begin
        self.printed = clean(ended.printed, self.limits.printed)
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


def _specs(args: tuple, places: Iterator[Layout]) -> list[dict]:
    return [{"tensor": next(places).data()} if isinstance(a, torch.Tensor) else {"value": a} for a in args]
