"""What a child left when it died, turned into outcomes."""

import signal
from collections.abc import Iterable

import torch

from ..run.contract import Contract
from ..run.outcome import Outcome, Trouble
from . import status
from .status import Described, Garbled, Status
from .watch import Broken, Ended, Limits
from .wire.buffers import Layout, Shared, contiguous, rounded
from .wire.checked import clean

_NO_MEMORY = "can't allocate memory"  # PyTorch's words, in a RuntimeError
_LEFT = "The answer ended its process before it returned, or wrote into the grader's channel."


def laid_out(results: Iterable[tuple[torch.dtype, torch.Size]]) -> list[Layout]:
    """The places of outputs of these dtypes and shapes."""
    layouts, offset = [], 0
    for dtype, shape in results:
        layouts.append(contiguous(dtype, tuple(shape), offset))
        offset += rounded(layouts[-1].nbytes)
    return layouts


def of(
    ended: Ended,
    rooms: list[tuple[int, int] | None],
    outputs: Shared,
    contract: Contract,
    limits: Limits,
    source: str,
    loading: str,
) -> list[tuple[Outcome, Status]]:
    """For each call that was begun the outcome, and the status it was read from.

    rooms: for each call where in ``outputs`` its own are. A child that was killed or ended badly did so in the last
    call. source: the text that the answer's kernels were defined in. loading: the cell whose own statements were
    running when the child ended, if they were.
    """
    found = [
        _one(line, room, outputs, contract, limits, source) for line, room in zip(ended.reports, rooms, strict=False)
    ]
    if ended.killed or ended.status:
        return [*found[: ended.begun - 1], (Outcome(trouble=_end_of(ended, limits, loading)), Status())]
    if len(found) < ended.begun:
        details = clean(ended.printed, status.DETAILS)
        found.append((Outcome(trouble=Trouble("crashed", _LEFT, details, cell=loading)), Status()))
    return found


def failed(said: bytes, made: int) -> bool:
    """Whether the last of so many calls is known to have failed."""
    try:
        return status.read(said.split(b"\n")[made - 1], "").trouble is not None
    except Garbled:
        return True


def _one(
    line: bytes,
    room: tuple[int, int] | None,
    outputs: Shared,
    contract: Contract,
    limits: Limits,
    source: str,
) -> tuple[Outcome, Status]:
    try:
        said = status.read(line, source)
    except Garbled:
        return Outcome(trouble=Trouble("crashed", _LEFT)), Status()
    if said.trouble and (said.trouble.error == "MemoryError" or _NO_MEMORY in said.trouble.message):
        return Outcome(trouble=Trouble("memory", _too_much(limits), said.trouble.details)), said
    outcome = Outcome(
        trouble=said.trouble,
        aliased=tuple(p for p in contract.parameters if p in said.aliased),
        launches=said.launches,
        traffic=said.traffic,
        findings=said.findings,
        hints=said.hints,
        looser=said.looser,
        peak=said.peak,
        undefined=said.undefined,
    )
    if outcome.trouble is None and room:
        outcome.trouble = _wrong_number(said.outputs, contract)
        if outcome.trouble is None:
            try:
                outcome.outputs = tuple(_taken(said.outputs, outputs, *room))
            except ValueError as error:
                outcome.trouble = Trouble("raised", str(error))
    return outcome, said


def _end_of(ended: Ended, limits: Limits, loading: str) -> Trouble:
    kind, message = _reason(ended, limits, f"Loading `{loading}`" if loading else "The call")
    return Trouble(kind, message, clean(ended.printed, status.DETAILS), cell=loading)


def _reason(ended: Ended, limits: Limits, what: str) -> tuple[str, str]:
    """The kind of trouble and its sentence, about ``what`` was being done."""
    killed = ended.killed
    if killed is None and ended.status == -signal.SIGXCPU:
        killed = Broken("processor", seconds=limits.seconds)
    if killed is None and ended.status < 0:
        return "crashed", f"{what} crashed: {signal.Signals(-ended.status).name}."
    if killed is None:
        return "crashed", f"{what} ended its process with status {ended.status}."
    if killed.kind == "memory":
        return "memory", _too_much(limits, what)
    if killed.kind == "printed":
        most = f"{what} printed more than {limits.printed:,} bytes, which is the most it may print."
        return "output", f"{most} Take out what prints in a loop."
    return "timeout", too_long(killed, what)


def _too_much(limits: Limits, what: str = "The call") -> str:
    return f"{what} took more than {limits.memory >> 20:,} MiB of memory."


_TOGETHER = {"answer": "All calls of this answer together", "notebook": "All answers of this notebook together"}


def too_long(broken: Broken, what: str = "") -> str:
    """The sentence on a limit in seconds. what: was being done when it was broken."""
    who = _TOGETHER.get(broken.scope, what)
    last = f" {what} came last." if what and who != what else ""
    if broken.kind == "processor":
        return f"{who} took more than {broken.seconds:g} s of processor time, which is the most allowed.{last}"
    asks = "Most of that time nothing was computed: does something sleep, or wait?"
    return f"{who} did not end within {broken.seconds:g} s by the clock. {asks}{last}"


def _wrong_number(described: tuple[Described, ...] | None, contract: Contract) -> Trouble | None:
    if described is None or not contract.fewest <= len(described) <= len(contract.outputs):
        return Trouble("crashed", "The answer's process did not hand over what it returned.")
    if not contract.witness and any(d.dtype is None for d in described):
        return Trouble("crashed", "The answer's process handed over something that is no tensor.")
    return None


def _taken(described: tuple[Described, ...], outputs: Shared, begin: int, end: int) -> Iterable:
    """Copies of the outputs, by their description. Raises ValueError where there is no room for what is described."""
    offset = begin
    for one in described:
        if one.dtype is None:
            yield one.value
            continue
        if offset + one.nbytes > end:
            raise ValueError(f"An output of shape {one.shape} and {one.dtype} is larger than any that is right.")
        yield outputs.tensor(contiguous(one.dtype, one.shape, offset)).clone()
        offset += rounded(one.nbytes)
