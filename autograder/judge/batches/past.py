"""Says what later positions change in the results before them, as data and in words."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .bits import other_bits, text_of, ulp_between

SHOWN = 3  # of the sequences in which the past changed; the rest are counted


@dataclass(frozen=True)
class PastChange:
    """A sequence in whose past a result's bits were others than in the example.

    called: the sequence. kept: how many of its positions are the example's. output: the result's name. positions: how
    many of them differ. differ: elements, of ``compared``. index: of the first that differs. here, whole: what it is in
    this sequence and in the example; empty where the bits are the same and were computed otherwise. ulp: how far apart
    they are, None where that is no number.
    """

    called: str
    kept: int
    output: str
    positions: int
    differ: int
    compared: int
    index: tuple[int, ...]
    here: str = ""
    whole: str = ""
    ulp: float | None = None

    def sentence(self) -> str:
        """The change in words."""
        count = f"{self.positions} of {self.kept} positions of {self.output}"
        if not self.here:
            return (
                f"{self.called}: {count} are computed otherwise than in the example, though with these numbers the "
                "bits are the same"
            )
        at = ", ".join(map(str, self.index))
        apart = f", {self.ulp:.3g} ulp apart" if self.ulp else ""
        return (
            f"{self.called}: {count}, {self.differ:,} of {self.compared:,} elements, have other bits; the first, "
            f"{self.output}[{at}], is {self.here} there and {self.whole} in the example{apart}"
        )


@dataclass(frozen=True)
class Causality:
    """Holds whether what comes behind a position changes its result: true where it does.

    dim: the dimension of time. positions: how many it has. names: the arguments that have it. found: the sequences in
    which the past changed. reason: where the first of them and the example part, as lines of text. calls: how many
    sequences were compared. kept: the fewest and the most positions that were the same in them. gradients: of which
    arguments gradients were compared. not_finite: results of whose past NaN or huge numbers behind it made NaN or
    infinity, and where. left_out: what was not compared, and why.
    """

    dim: int
    positions: int
    names: tuple[str, ...]
    found: tuple[PastChange, ...]
    reason: tuple[str, ...]
    calls: int
    kept: tuple[int, int]
    gradients: tuple[str, ...]
    not_finite: dict[str, str]
    left_out: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.found)

    def lines(self, name: str) -> Iterator[str]:
        """Yields the answer in words, of a function of this name."""
        about = f"{name}, positions of {' and '.join(self.names)} along dimension {self.dim}"
        calls = f"{self.calls} other sequences"
        fewest, most = self.kept
        if self.found:
            yield f"{about}: a position's result depends on what comes behind it, in {len(self.found)} of {calls}"
        else:
            kept = f"of which the first {fewest} to {most} of {self.positions} positions are the example's"
            yield f"{about}: a position's result has the same bits whatever comes behind it ({calls}, {kept})"
        sentences = [f"  {change.sentence()}" for change in self.found[:SHOWN]]
        yield from sentences[:1]
        yield from (f"    {line}" for line in self.reason)
        yield from sentences[1:]
        if len(self.found) > SHOWN:
            yield f"  and {len(self.found) - SHOWN} more"
        if self.gradients:
            yield (
                f"  Compared, too: gradients of {' and '.join(self.gradients)} where the upstream gradient is 0 behind "
                "a position, so that nothing behind it belongs to them"
            )
        for output, where in self.not_finite.items():
            yield (
                f"  {output} is not finite before {where}: 0 times NaN is NaN, as in any product of masked blocks. "
                "This is said and decides nothing"
            )
        for what, why in self.left_out.items():
            yield f"Not compared: {what}: {why}"


def past_change(called: str, kept: int, output: str, dim: int, here: Tensor, whole: Tensor) -> PastChange | None:
    """Returns how the first ``kept`` positions of a result, along ``dim``, differ from those of the example, bit by
    bit; None where they do not.
    """
    here, whole = here.narrow(dim, 0, kept), whole.narrow(dim, 0, kept)
    other = other_bits(here, whole)
    if not other.any():
        return None
    positions, differ, compared, index = of_elements(other, dim)
    mine, theirs = here[index], whole[index]
    texts = text_of(mine), text_of(theirs), ulp_between(mine, theirs)
    return PastChange(called, kept, output, positions, differ, compared, index, *texts)


def of_elements(other: Tensor, dim: int) -> tuple[int, int, int, tuple[int, ...]]:
    """Returns of the elements that differ: their positions along ``dim``, their number, of how many, and the index of
    the first.
    """
    by_position = other.movedim(dim, 0)
    first, *rest = by_position.nonzero()[0].tolist()
    index = (*rest[:dim], first, *rest[dim:])
    positions = int(by_position.flatten(1).any(1).sum()) if other.dim() > 1 else int(other.sum())
    return positions, int(other.sum()), other.numel(), index


def turned(here: Tensor, whole: Tensor) -> Tensor:
    """Returns which elements are not finite, where the example's are."""
    if not here.is_floating_point():
        return torch.zeros_like(here, dtype=torch.bool)
    return ~here.isfinite() & whole.isfinite()
