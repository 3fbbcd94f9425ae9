"""What a child left when it died, turned into an outcome; and what was to be expected of it."""

import signal
from collections.abc import Iterable

import torch

from ..exercise import Exercise, Witness
from ..runner import Outcome, Trouble, as_tuple
from . import status
from .buffers import Layout, Shared, contiguous, rounded
from .status import Described, Garbled, Status, clean
from .worker import Ended, Limits

_LEFT = "The answer ended its process before it returned, or wrote into the grader's channel."


def expected(record: Exercise, args: tuple) -> list[Layout]:
    """The outputs' places, from the oracle's shapes; none where these arguments are bad input, for an answer too."""
    floats = [record.upcast and isinstance(a, torch.Tensor) and a.is_floating_point() for a in args]
    try:
        values = as_tuple(record.oracle(*(a.double() if up else a for a, up in zip(args, floats, strict=True))))
    except (IndexError, ValueError):
        return []
    named = dict(zip(record.parameters, args, strict=False))
    layouts, offset = [], 0
    for output, value in zip(record.outputs, values, strict=True):
        dtype = output.like if isinstance(output.like, torch.dtype) else named[output.like].dtype
        layouts.append(contiguous(dtype, tuple(value.shape), offset))
        offset += rounded(layouts[-1].nbytes)
    return layouts


def of(
    ended: Ended, outputs: Shared, record: Exercise | Witness, limits: Limits, source: str
) -> tuple[Outcome, Status]:
    """The outcome, and the status it was read from. ``source``: the text that the answer's kernels were defined in."""
    if ended.killed or ended.status:
        return Outcome(trouble=_end_of(ended, limits)), Status()
    try:
        said = status.read(ended.said, source)
    except Garbled:
        return Outcome(trouble=Trouble("crashed", _LEFT, clean(ended.printed, status.DETAILS))), Status()
    parameters = () if isinstance(record, Witness) else record.parameters
    outcome = Outcome(
        trouble=said.trouble,
        aliased=tuple(p for p in parameters if p in said.aliased),
        launches=said.launches,
        traffic=said.traffic,
        findings=said.findings,
        hints=said.hints,
        peak=said.peak,
    )
    if outcome.trouble is None:
        outcome.trouble = _wrong_number(said.outputs, record)
    if outcome.trouble is None:
        try:
            outcome.outputs = tuple(_taken(said.outputs, outputs))
        except ValueError as error:
            outcome.trouble = Trouble("raised", str(error))
    return outcome, said


def _end_of(ended: Ended, limits: Limits) -> Trouble:
    printed = clean(ended.printed, status.DETAILS)
    if ended.killed == "timeout" or ended.status == -signal.SIGXCPU:
        return Trouble("timeout", f"The call did not end within {limits.seconds:g} s.", printed)
    if ended.killed == "memory":
        return Trouble("memory", f"The call took more than {limits.memory >> 20:,} MiB of memory.", printed)
    if ended.status < 0:
        return Trouble("crashed", f"The call crashed: {signal.Signals(-ended.status).name}.", printed)
    return Trouble("crashed", f"The call ended its process with status {ended.status}.", printed)


def _wrong_number(described: tuple[Described, ...] | None, record: Exercise | Witness) -> Trouble | None:
    witness = isinstance(record, Witness)
    most = len(record.parameters if witness else record.outputs)
    fewest = record.fewest if witness else most
    if described is None or not fewest <= len(described) <= most:
        return Trouble("crashed", "The answer's process did not hand over what it returned.")
    if not witness and any(d.dtype is None for d in described):
        return Trouble("crashed", "The answer's process handed over something that is no tensor.")
    return None


def _taken(described: tuple[Described, ...], outputs: Shared) -> Iterable:
    """Copies of the outputs, by their description. Raises ValueError where there is no room for what is described."""
    offset = 0
    for one in described:
        if one.dtype is None:
            yield one.value
            continue
        if offset + one.nbytes > outputs.nbytes:
            raise ValueError(f"An output of shape {one.shape} and {one.dtype} is larger than any that is right.")
        yield outputs.tensor(contiguous(one.dtype, one.shape, offset)).clone()
        offset += rounded(one.nbytes)
