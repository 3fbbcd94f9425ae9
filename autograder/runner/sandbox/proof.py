"""The proof that a Triton answer's kernels compute its result: the kernels alone are launched again, as the answer
launched them, in a process that contains nothing else of the answer.
"""

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from ...gpu import ATEN, KernelLaunch
from ..call.examination import Call, Examined, Index, Layouts
from ..call.outcome import FINISHING, MovedBytes, Outcome, ProbeInput, Trouble
from ..call.tree import Args, Tree
from . import autotuned, kernels
from .child_calls import Asked, Came, ChildCall
from .sources import Sources
from .status import Status
from .wire import plan
from .wire.checked import clean

_UNKNOWN = "It is not shown that your kernels compute the result: "
_ALONE = "Your kernels, run again without the rest of the code,"
_ELSEWHERE = "something is computed outside of them, or what is launched depends on the numbers that came in."
_KEPT = (
    "Called twice in one process with the same input, it gives two results: something is kept from call to call. "
    "Make and fill in each call what it needs."
)


RecordedPlan = tuple[dict[str, Any], dict[str, Any]]  # a checked plan, and the kernels that it launches


class Asks(Protocol):
    """Has the calls of a job made, in a process for jobs of its mode or, ``alone``, in one of their own."""

    def __call__(
        self, job: dict[str, Any], calls: list[ChildCall], results: Layouts, *, alone: bool = False
    ) -> list[Came]: ...


@dataclass(frozen=True)
class Answering:
    """Holds what all proofs about one answer share.

    ask: makes calls. job: calls the answer itself. sources: its texts, from which kernels are taken. allowed: operators
    it may call besides allocation and views; gradients: whether PyTorch's formulas for derivatives are among them.
    memory: bytes a replay may hold.
    """

    ask: Asks
    job: dict[str, Any]
    sources: Sources
    allowed: frozenset[str]
    memory: int
    gradients: bool = False

    @property
    def finishing(self) -> frozenset[str]:
        """Operators that it may call on one number, the end of a sum."""
        return FINISHING - self.allowed if "sum" in self.allowed else frozenset()


class Proof(Examined):
    """A call of a Triton answer, and what its kernels compute without the rest of it.

    asked: what came of a call on a probe input, with the record that was made of it, of the call, and of another
    record, made after it. repeated: makes the call once more, in a new process.
    """

    def __init__(
        self,
        answer: Answering,
        call: Call,
        asked: Asked,
        repeated: Callable[[], Outcome],
    ):
        super().__init__(call, asked.first.outcome)
        self._answer, self._asked, self._again_in_order = answer, asked, repeated

    @functools.cached_property
    def again(self) -> Outcome:
        """As `Examined.again`, with 0 in masked-off lanes whatever the answer's process says of them: only the replay
        tells whether there were any.
        """
        return self._second(0.0 if self.call.fill is None else self.call.fill)

    @property
    def proven(self) -> Outcome:
        """The outcome of the kernels alone."""
        return self.again

    @property
    def poisoned(self) -> bool:
        """As `Examined.poisoned`, by the replay's account."""
        return self.call.fill is None and (self.again.undefined or self.first.undefined)

    def alone(self, shuffle: int | None = None, fill: float | None = None) -> Outcome:
        """Returns what the kernels alone compute for the arguments of the call: the record of the call on the probe
        input is replayed on them, in a process that contains nothing else of the answer.
        """
        recorded = self._recorded
        if isinstance(recorded, Outcome):
            return recorded
        return self._replayed(recorded, [ChildCall(self.call.args, 0, shuffle, fill)])[-1].outcome

    def refilled(self, fill: float) -> Outcome:
        """Returns what the kernels alone compute with ``fill`` in masked-off lanes."""
        return self.alone(fill=fill)

    def parting(self, other: Args, output: int, here: Index, there: Index) -> tuple[str, ...]:
        """As `Examined.parting`, of the kernels alone: the records of both calls are replayed in one process, which
        compares.
        """
        (reply, *_) = self._answer.ask(
            dict(self._answer.job), [ChildCall(other, plan=True, choice=self.call.choice)], ()
        )
        records = [self._recorded, self._read(reply)]
        steps: tuple[str, ...] = ()
        for recorded, args, index in zip(records, (self.call.args, other), (here, there), strict=True):
            if isinstance(recorded, Outcome):
                return ()
            job = {"mode": "replay", "plan": recorded[0], "kernels": recorded[1]}
            call = ChildCall(args, launches=False, follow=(output, index), compare=args is other)
            (_, report), *_ = self._answer.ask(job, [call], ())
            steps = report.parting
        return steps

    @functools.cached_property
    def histories(self) -> Args:
        """As `Examined.histories`, of the kernels alone."""
        recorded = self._recorded
        if isinstance(recorded, Outcome):
            return ()
        job = {"mode": "replay", "plan": recorded[0], "kernels": recorded[1]}
        layouts = tuple((torch.int64, shape) for _, shape in self.call.layouts)
        return self._answer.ask(job, [ChildCall(self.call.args, 0, histories=True)], layouts)[0].outcome.outputs

    @property
    def computes_outside(self) -> dict[str, int]:
        """The operators among the recorded steps, in order, with the elements of the largest tensor that each is given,
        over all of its steps; none where there is no record.
        """
        recorded = self._recorded
        elements: Counter[str] = Counter()
        for step in () if isinstance(recorded, Outcome) else recorded[0]["steps"]:
            if "op" in step:
                elements[step["op"]] += max(_sizes(step), default=0)
        return elements

    @property
    def needs_kernels(self) -> bool:
        """Returns whether the record gives another result, in a new process, without its launches: on the arguments or,
        where these may be what the kernels would make of them, as zeros are, on random ones. Of a result without
        elements that is not known, and said to be so.
        """
        recorded = self._recorded
        if isinstance(recorded, Outcome) or not any(tensor.numel() for tensor in Tree(self.first.outputs).tensors):
            return True
        steps = [step for step in recorded[0]["steps"] if "launch" not in step]
        without, others = (recorded[0] | {"steps": steps}, recorded[1]), ProbeInput.any_numbers(self.call.args).args
        if not _same_bits(self.first, self._in_new_process(without, self.call.args)):
            return True
        other = self._in_new_process(recorded, others)
        return other.trouble is None and not _same_bits(other, self._in_new_process(without, others))

    def _in_new_process(self, recorded: RecordedPlan, args: Args) -> Outcome:
        """Returns what a record computes for other arguments of the same layout."""
        job = {"mode": "replay", "plan": recorded[0], "kernels": recorded[1]}
        call = [ChildCall(args, 0, fill=self.call.fill)]
        return self._answer.ask(job, call, self.call.layouts, alone=True)[0].outcome

    def _repeated(self) -> Outcome:
        return self._again_in_order()

    def _second(self, fill: float | None) -> Outcome:
        """The outcome of the kernels alone; a trouble where it is not proven that they compute the result."""
        first, call = self.first, self.call
        recorded = self._recorded
        if isinstance(recorded, Outcome):
            return recorded
        if trouble := self._hangs_on_draw(recorded[0]):
            return Outcome(trouble=trouble)
        if complaint := self._kept(recorded[0]):
            return Outcome(trouble=Trouble("refused", complaint))
        other = call.new_probe_input()
        before = ChildCall(other.args, 1, fill=call.fill, needed=False, launches=False)
        asked = Asked.of(self._replayed(recorded, [before, ChildCall(call.args, 0, call.order, fill)]))
        shuffled = asked.first.outcome
        if shuffled.trouble:
            return shuffled
        # If order or lanes matter, only a run with those of the first call tells that from a result computed elsewhere.
        if not (_same_bits(first, shuffled) or _same_bits(first, self.alone(fill=call.fill))):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} give another result: {_ELSEWHERE}"))
        if first.traffic != shuffled.traffic or _signatures(first) != _signatures(shuffled):
            return Outcome(trouble=Trouble("refused", f"{_ALONE} are launched otherwise, or move other bytes."))
        # What the answer's own process reports can be forged; here nothing of the answer ran but its kernels.
        first.peak, first.launches, first.looser = shuffled.peak, shuffled.launches, shuffled.looser
        first.undefined, first.hints = shuffled.undefined, shuffled.hints
        first.finished = bool(self._finishing(recorded[0]))
        first.moved = _moved(recorded[0])
        return asked.beside(other)

    def _finishing(self, recorded: dict[str, Any]) -> list[dict[str, Any]]:
        """The steps of a plan by which a sum that was allowed is divided or multiplied."""
        return [step for step in recorded["steps"] if step.get("op") in self._answer.finishing]

    def _hangs_on_draw(self, steps: dict[str, Any]) -> Trouble | None:
        """Why a launcher that uses autotuners does not do the same with another draw of their configurations."""
        if self.call.choice is None or not steps["tuned"]:
            return None
        other = ChildCall(self.call.args, plan=True, choice=self.call.choice + 1)
        record = self._read(self._answer.ask(dict(self._answer.job), [other], ())[0])
        return record.trouble if isinstance(record, Outcome) else autotuned.trouble_of(steps, record[0])

    def _kept(self, steps: dict[str, Any]) -> str:
        """A message if state that an answer keeps between calls changes a result. If its record after a call is the
        same as before, it keeps nothing; otherwise two calls in one process must agree.
        """
        outcome, report = self._asked.second or Came(Outcome(), Status())
        same = report.plan is not None and report.plan == self._asked.probe_input.report.plan
        with contextlib.suppress(plan.BadPlan):
            if outcome.trouble is None and (same or self._checked(report.plan) == steps):
                return ""
        calls = [ChildCall(self.call.args, room, choice=self.call.choice) for room in (0, 1)]
        ask, job = self._answer.ask, dict(self._answer.job)
        outcomes = [run for run, _ in ask(job, calls, self.call.layouts, alone=True)]
        if trouble := next((run.trouble for run in outcomes if run.trouble), None):
            return f"Called twice in one process, it fails: {trouble.message}"
        return "" if _same_bits(*outcomes) else _KEPT

    @functools.cached_property
    def _recorded(self) -> RecordedPlan | Outcome:
        return self._read(self._asked.probe_input)

    def _read(self, reply: Came) -> RecordedPlan | Outcome:
        """A checked plan and the kernels it launches; an outcome with the trouble where there is none."""
        outcome, report = reply
        if outcome.trouble:
            return outcome
        try:
            steps = self._checked(report.plan)
            return steps, kernels.cut_out(self._answer.sources, steps)
        except plan.BadPlan as error:
            return Outcome(trouble=Trouble("refused", f"{error}.", place=_UNKNOWN))

    def _replayed(self, recorded: RecordedPlan, calls: list[ChildCall]) -> list[Came]:
        """Returns what came of each call of the recorded kernels that was started."""
        steps, cut_out = recorded
        job = {"mode": "replay", "plan": steps, "kernels": cut_out}
        outcomes = self._answer.ask(job, calls, self.call.layouts)
        for outcome, _ in outcomes:
            if outcome.trouble and outcome.trouble.kind in ("raised", "refused", "stub"):
                message = f"{_ALONE} give no result: {outcome.trouble.message}"
                outcome.trouble = replace(outcome.trouble, kind="refused", message=message)
        return outcomes

    def _checked(self, record: object) -> dict[str, Any]:
        """The plan that a child reported. Raises BadPlan."""
        if not isinstance(record, dict) or "reason" in record:
            reason = record.get("reason") if isinstance(record, dict) else ""
            raise plan.BadPlan(clean(reason) if reason and isinstance(reason, str) else "the launches are not known")
        ops = ATEN.memory | self._answer.allowed | self._answer.finishing
        if self._answer.gradients:
            ops |= {name for name in plan.operators(record) if ATEN.permits(f"aten::{name}", gradients=True)}
        steps = plan.check(record, len(Tree(self.call.args).tensors), ops, self._answer.memory)
        if any(size > 1 for step in self._finishing(steps) for size in _sizes(step)):
            raise plan.BadPlan("PyTorch's arithmetic on more than one number; this exercise wants it in the kernel")
        return steps


class ReplayOfProbe(Proof):
    """The kernels of a Triton answer alone, launched as it launched them on a probe input: it is not called on the
    arguments, and `first` is what came of the probe input.
    """

    @functools.cached_property
    def again(self) -> Outcome:
        """As `Examined.again`."""
        return self.alone(self.call.order, 0.0 if self.call.fill is None else self.call.fill)


def _moved(recorded: dict[str, Any]) -> MovedBytes:
    """Returns what the copies and fills of a plan move."""
    moved = MovedBytes()
    for step in recorded["steps"]:
        if "op" in step:
            results = [{"ref": ref} for ref in step["out"] if ref]
            moved.note(step["op"], [*plan.sizes(step["args"], in_bytes=True)], [*plan.sizes(results, in_bytes=True)])
    return moved


def _sizes(step: dict[str, Any]) -> Iterator[int]:
    """The elements of each tensor that an operator of a plan is given."""
    return plan.sizes([*step["args"], *step["kwargs"].values()])


def _same_bits(outcome: Outcome, other: Outcome) -> bool:
    if not other.outputs:
        return False
    return Tree(outcome.outputs).same_bits(other.outputs)


def _signatures(outcome: Outcome) -> list[str]:
    """Returns what is launched, as the compiler report would compile it."""
    launches = [launch for launch in outcome.launches if isinstance(launch, KernelLaunch)]
    return sorted(repr((launch.kernel, launch.signature, launch.constants)) for launch in launches)
