"""The proof that a Triton answer's kernels compute its result: the kernels alone are launched again, as the answer
launched them, in a process that contains nothing else of the answer.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from ..compiler import KernelLaunch
from ..run.operators import ALLOCATE, FILL, MOVE, VIEW
from ..run.outcome import Decoy, Outcome, Trouble
from . import kernels
from .sources import Sources
from .status import Status
from .wire import buffers, plan
from .wire.checked import clean

_ALONE = "Your kernels, run again without the rest of the code,"
_ELSEWHERE = "something is computed outside of them, or what is launched depends on the numbers that came in."
_KEPT = (
    "Called twice in one process with the same input, it gives two results: something is kept from call to call. "
    "Make and fill in each call what it needs."
)
_UNKNOWN = "It is not shown that your kernels compute the result"


@dataclass(frozen=True)
class Call:
    """One of the calls that a child makes. room: the slot of the output memory, if the outputs are needed. plan: record
    what is done with the tensors instead of computing a result.
    """

    args: tuple
    room: int | None = None
    shuffle: int | None = None
    fill: float | None = None
    plan: bool = False
    needed: bool = True  # the calls after it are made only if it succeeds
    launches: bool = True  # report what was launched


@dataclass
class Called:
    """The outcomes of calls of an answer on some arguments, and on a decoy."""

    args: tuple
    first: Outcome
    second: Outcome | None = None  # of another call in the same process, until `confirm` takes it
    before: tuple[Outcome, Status] | None = None  # of the call on a decoy
    after: tuple[Outcome, Status] | None = None  # in Triton, of a record made after the call
    fill: float | None = None


class Proof:
    """Proofs about one answer.

    ask: makes the calls of a job, its first argument, in a process for jobs of this mode (see `Isolated`). answer: the
    job that calls the answer itself. sources: its texts, from which kernels are taken. allowed: operators it may call
    besides allocation and views. memory: bytes a replay may hold.
    """

    def __init__(self, ask: Callable, answer: dict, sources: Sources, allowed: frozenset[str], memory: int):
        self._ask, self.answer, self.sources, self.allowed, self.memory = ask, answer, sources, allowed, memory

    def of(self, called: Called, shuffle: int, fill: float | None, decoy: Callable[[], Decoy]) -> Outcome:
        """The outcome in the order that ``shuffle`` seeds, with ``fill`` in masked-off lanes; a trouble where there is
        no proof.
        """
        recorded, first = self.recorded(called), called.first
        if isinstance(recorded, Outcome):
            return recorded
        if complaint := self._kept(called, recorded[0]):
            return Outcome(trouble=Trouble("refused", complaint))
        other = decoy()
        before = Call(other.args, 1, fill=called.fill, needed=False, launches=False)
        calls = [before, Call(called.args, 0, shuffle, fill)]
        came, *rest = self.replayed(recorded, calls)
        shuffled = rest[0] if rest else came
        if shuffled.trouble:
            return shuffled
        # If order or lanes matter, only a run with those of the first call tells that from a result computed elsewhere.
        alike = _same_bits(first, shuffled)
        alike = alike or _same_bits(first, self.replayed(recorded, [Call(called.args, 0, fill=called.fill)])[0])
        if not alike:
            return Outcome(trouble=Trouble("refused", f"{_ALONE} give another result: {_ELSEWHERE}"))
        if first.traffic != shuffled.traffic or _signatures(first) != _signatures(shuffled):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} are launched otherwise, or move other bytes."))
        # What the answer's own process reports can be forged; here nothing of the answer ran but its kernels.
        first.peak, first.launches, first.looser = shuffled.peak, shuffled.launches, shuffled.looser
        shuffled.decoy = other, came
        return shuffled

    def _kept(self, called: Called, steps: dict) -> str:
        """A message if state that an answer keeps between calls changes a result. If its record after a call is the
        same as before, it keeps nothing; otherwise two calls in one process must agree.
        """
        outcome, report = called.after or (Outcome(), Status())
        same = called.before is not None and report.plan is not None and report.plan == called.before[1].plan
        with contextlib.suppress(plan.BadPlan):
            if outcome.trouble is None and (same or self._checked(report.plan, called.args) == steps):
                return ""
        calls = [Call(called.args, 0), Call(called.args, 1)]
        found = [one for one, _ in self._ask(dict(self.answer), calls, alone=True)]
        if trouble := next((one.trouble for one in found if one.trouble), None):
            return f"Called twice in one process, it fails: {trouble.message}"
        return "" if _same_bits(*found) else _KEPT

    def recorded(self, called: Called) -> tuple[dict, dict] | Outcome:
        """A checked plan and the kernels it launches; an outcome with the trouble where there is none."""
        assert called.before is not None  # what calls the answer for a proof has called it on a decoy
        outcome, report = called.before
        if outcome.trouble:
            return outcome
        try:
            steps = self._checked(report.plan, called.args)
            return steps, kernels.cut_out(self.sources, steps)
        except plan.BadPlan as error:
            return Outcome(trouble=Trouble("refused", f"{_UNKNOWN}: {error}."))

    def alone(self, called: Called, calls: list[Call]) -> Outcome:
        """What the kernels alone compute, of the last of the calls."""
        recorded = self.recorded(called)
        return recorded if isinstance(recorded, Outcome) else self.replayed(recorded, calls)[-1]

    def replayed(self, recorded: tuple[dict, dict], calls: list[Call]) -> list[Outcome]:
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
        ops = ALLOCATE | FILL | MOVE | VIEW | self.allowed
        return plan.check(given, sum(isinstance(a, torch.Tensor) for a in args), ops, self.memory)


def _same_bits(one: Outcome, other: Outcome) -> bool:
    if not other.outputs:
        return False
    pairs = list(zip(one.outputs, other.outputs, strict=True))
    alike = all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return alike and all(buffers.bits(a).equal(buffers.bits(b)) for a, b in pairs)


def _signatures(outcome: Outcome) -> list:
    """What is launched, as the compiler report would compile it."""
    launches = [launch for launch in outcome.launches if isinstance(launch, KernelLaunch)]
    return sorted(repr((launch.kernel, launch.signature, launch.constants)) for launch in launches)
