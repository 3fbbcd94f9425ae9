"""Says what a child left when it ended, turned into outcomes."""

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ..call.contract import Contract
from ..call.outcome import Outcome, Trouble, TroubleKind
from . import status
from .child_calls import Came
from .status import Described, MalformedReport, Status
from .watch import Broken, ChildExit, Limits
from .wire.buffers import BufferLayout, Shared, contiguous, rounded
from .wire.checked import clean

CLOCK = "by the clock"  # the code of a time-out that may be the machine's
_NO_MEMORY = "can't allocate memory"  # in PyTorch's RuntimeError
_LEFT = "The answer ended its process before it returned, or wrote into the grader's channel."


def laid_out(results: Iterable[tuple[torch.dtype, torch.Size]]) -> list[BufferLayout]:
    """The places of outputs of these dtypes and shapes."""
    layouts, offset = [], 0
    for dtype, shape in results:
        layouts.append(contiguous(dtype, tuple(shape), offset))
        offset += rounded(layouts[-1].nbytes)
    return layouts


@dataclass(frozen=True)
class Outcomes:
    """Reads what a child left.

    outputs: the memory that it wrote results to. written: how many of them lie in arguments. source: the text that the
    answer's kernels were defined in.
    """

    outputs: Shared
    contract: Contract
    written: int
    limits: Limits
    source: str

    def of(self, ended: ChildExit, rooms: list[tuple[int, int] | None], loading: str) -> list[Came]:
        """The outcome of each call that was started, and the report that it was read from.

        rooms: for each call its range of the outputs. A child that was killed or failed did so in the last call.
        loading: the cell that was being executed when the child ended, if any.
        """
        outcomes = [self._one(line, room) for line, room in zip(ended.reports, rooms, strict=False)]
        if ended.killed or ended.status:
            return [*outcomes[: ended.begun - 1], Came(Outcome(trouble=_end_of(ended, self.limits, loading)), Status())]
        if len(outcomes) < ended.begun:
            details = clean(ended.printed, status.DETAILS)
            outcomes.append(Came(Outcome(trouble=Trouble("crashed", _LEFT, details, cell=loading)), Status()))
        return outcomes

    def _one(self, line: bytes, room: tuple[int, int] | None) -> Came:
        try:
            report = status.read(line, self.source)
        except MalformedReport:
            return Came(Outcome(trouble=Trouble("crashed", _LEFT)), Status())
        if report.trouble and (report.trouble.error == "MemoryError" or _NO_MEMORY in report.trouble.message):
            return Came(Outcome(trouble=Trouble("memory", _too_much(self.limits), report.trouble.details)), report)
        outcome = Outcome(
            trouble=report.trouble,
            relisted=self._of_parameters(report.relisted),
            reshaped=self._of_parameters(report.reshaped),
            aliased=self._of_parameters(report.aliased),
            launches=report.launches,
            traffic=report.traffic,
            findings=report.findings,
            hints=report.hints,
            looser=report.looser,
            peak=report.peak,
            undefined=report.undefined,
        )
        if outcome.trouble is None and room:
            outcome.trouble = _wrong_number(report.outputs, self.contract, self.written)
        if room and (outcome.trouble is None or _is_unattached(report)):
            try:
                outcome.outputs = tuple(_taken(report.outputs or (), self.outputs, *room))
            except ValueError as error:
                outcome.trouble = Trouble("raised", str(error))
        return Came(outcome, report)

    def _of_parameters(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Of the names that a child reported, those of parameters and of tensors in their lists."""
        return tuple(name for name in names if name.partition("[")[0] in self.contract.parameters)


def _is_unattached(report: Status) -> bool:
    """Returns whether the call gave a result without a gradient."""
    tensors = all(output.dtype for output in report.outputs or ())
    return tensors and report.trouble is not None and report.trouble.code == Trouble.UNATTACHED


def failed(reports: bytes, number: int) -> bool:
    """Returns whether the last of the ``made`` calls is known to have failed."""
    try:
        return status.read(reports.split(b"\n")[number - 1], "").trouble is not None
    except MalformedReport:
        return True


def _end_of(ended: ChildExit, limits: Limits, loading: str) -> Trouble:
    kind, message = _reason(ended, limits, f"Loading `{loading}`" if loading else "The call")
    code = code_of(ended.killed) if kind == "timeout" else ""
    return Trouble(kind, message, clean(ended.printed, status.DETAILS), code=code, cell=loading)


def _reason(ended: ChildExit, limits: Limits, what: str) -> tuple[TroubleKind, str]:
    """The kind of trouble and the message; ``what`` was being done at the time."""
    killed = ended.killed
    if killed is None and ended.status == -signal.SIGXCPU:
        killed = Broken("processor", seconds=limits.seconds)
    if killed is None and ended.status is not None and ended.status < 0:
        return "crashed", f"{what} crashed: {signal.Signals(-ended.status).name}."
    if killed is None:
        return "crashed", f"{what} ended its process with status {ended.status}."
    if killed.kind == "memory":
        return "memory", _too_much(limits, what)
    if killed.kind == "idle":
        most = f"{what} slept or waited for more than {killed.seconds:g} s, in all processes that load it together"
        return "unloadable", f"{most}. Take out what sleeps: each check would wait for it."
    return "timeout", too_long(killed, what)


def _too_much(limits: Limits, what: str = "The call") -> str:
    return f"{what} took more than {limits.memory >> 20:,} MiB of memory."


_TOGETHER = {"answer": "All calls of this answer together", "notebook": "All answers of this notebook together"}


def code_of(broken: Broken | None) -> str:
    """Returns how a time-out is told from another: what the answer computed is its own, what the clock says may be the
    machine's.
    """
    return CLOCK if broken and broken.kind in ("clock", "idle") else Trouble.OWN_TIME


def too_long(broken: Broken, what: str = "") -> str:
    """The message about a time limit. what: was being done when it was exceeded."""
    who = _TOGETHER.get(broken.scope, what)
    last = f" {what} came last." if what and who != what else ""
    if broken.kind == "processor":
        return f"{who} took more than {broken.seconds:g} s of processor time, which is the most allowed.{last}"
    asks = "Most of that time nothing was computed: does something sleep, or wait?"
    return f"{who} did not end within {broken.seconds:g} s by the clock. {asks}{last}"


def _wrong_number(described: tuple[Described, ...] | None, contract: Contract, written: int) -> Trouble | None:
    returned = len(described or ()) - written
    if described is None or not contract.fewest <= returned <= len(contract.outputs):
        return Trouble("crashed", "The answer's process did not return its outputs.")
    if not contract.witness and any(d.dtype is None for d in described):
        return Trouble("crashed", "The answer's process returned something that is not a tensor.")
    return None


def _taken(described: tuple[Described, ...], outputs: Shared, begin: int, end: int) -> Iterable[Any]:
    """Copies of the outputs, by their descriptions. Raises ValueError where a description exceeds the space."""
    offset = begin
    for output in described:
        if output.dtype is None:
            yield output.value
            continue
        if offset + output.nbytes > end:
            raise ValueError(
                f"An output of shape {output.shape} and {output.dtype} is larger than any that is taken here."
            )
        yield outputs.tensor(contiguous(output.dtype, output.shape, offset)).clone()
        offset += rounded(output.nbytes)
