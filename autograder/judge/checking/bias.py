"""Says whether half-precision results lean to one side: truncation leaves no element off by more than 1 ulp, and all of
them off in one direction, by half an ulp on average.

Judged are the results whose right value lies between two numbers of the dtype, at least a quarter of an ulp from each,
and farther from the middle than float32 arithmetic may be off. Of these rounding to nearest gives one number, whatever
the arithmetic was, and leaves a mean error that is known; stochastic rounding leaves 0, with a standard deviation of at
most half an ulp a result. An answer's mean error lies between the two, or not far from them.
"""

import math
from typing import NamedTuple

import torch

from ...runner import dtype_name
from ..comparing.closeness import Expected
from ..records.category import Category
from ..records.record import BIAS, Exercise
from ..records.ulp import HALVES, PRECISION
from ..results.case_result import CaseResult
from .case_verdict import Judged

SIGMAS = 6.0
FEWEST = 256  # results, of which 6 sigma are 0.19 ulp: less than half of what truncation leaves
QUARTER = 0.25  # ulp: a right value nearer to a number of the dtype says little of how it is rounded
MOST = 1 / 16  # ulp that float32 arithmetic may be off in a result that is judged
HINT = (
    "Round to nearest, as `.to` does, or at random, up with the odds of the place between two numbers. What is cut off "
    "is lost in one direction every time, and adds up over many calls."
)


class Rounded(NamedTuple):
    """Results that are judged, all in ulp. error: of the answer. nearest: that of rounding to nearest. slack: what
    float32 arithmetic may be off. sign: of what is right.
    """

    error: torch.Tensor
    nearest: torch.Tensor
    slack: torch.Tensor
    sign: torch.Tensor


class Lean(NamedTuple):
    """A mean error in one direction, and what rounding leaves there at most. excess: what is beyond, in ulp."""

    excess: float
    sentence: str


def judge_bias(record: Exercise, judged: list[Judged]) -> list[CaseResult]:
    """The mean error of each output in each half format, over the cases that passed."""
    if not record.unbiased:
        return []
    category = Category.POINT if BIAS in record.about else Category.DTYPES
    leans = [_lean(what, rounded) for what, rounded in _results(record, judged).items()]
    if not leans:
        reason = f"It is measured on {FEWEST} half-precision results that are rounded, and fewer are right."
        return [CaseResult(BIAS, "not-run", False, reason, "", category=category)]
    worst = max(leans)
    if worst.excess > 0:
        return [CaseResult(BIAS, "fail", False, worst.sentence, "", HINT, category=category, half=True)]
    return [CaseResult(BIAS, "pass", False, worst.sentence, "", category=category)]


def _lean(what: str, rounded: Rounded) -> Lean:
    """Returns how far results lean towards 0 or away from it, or down or up, whichever is farther beyond what rounding
    leaves.
    """
    directions = ((rounded.sign, "closer to 0", "farther from 0"), (torch.ones_like(rounded.sign), "lower", "higher"))
    count = len(rounded.error)
    chance = SIGMAS * 0.5 / math.sqrt(count) + float(rounded.slack.mean())  # 0.5: of up or down, at even odds
    leans = []
    for direction, before, after in directions:
        mean, nearest = (float((error * direction).mean()) for error in (rounded.error, rounded.nearest))
        most = chance + max(math.copysign(1, mean) * nearest, 0.0)
        where = f"{abs(mean):.2g} ulp {before if mean < 0 else after} than they should be"
        sentence = (
            f"The {count:,} rounded results of {what} are on average {where}; rounding leaves at most {most:.2g}."
        )
        leans.append(Lean(abs(mean) - most, sentence))
    return max(leans, key=lambda lean: lean.excess)


def _results(record: Exercise, judged: list[Judged]) -> dict[str, Rounded]:
    """The results of each output in each half format, as ``y in float16``, where they are enough."""
    groups: dict[str, list[Rounded]] = {}
    for case, verdict in zip(record.cases, judged, strict=True):
        expected, outcome = verdict.expected, verdict.outcome
        if expected is None or outcome is None or verdict.result.status != "pass" or case.bonus or case.convention:
            continue
        for index, (name, dtype) in enumerate(zip(expected.names, expected.dtypes, strict=True)):
            if dtype in HALVES:
                rounded = _rounded(record, expected, index, outcome.outputs[index])
                whole = name.partition("[")[0]  # a list is judged as one
                groups.setdefault(f"{whole} in {dtype_name(dtype)}", []).append(rounded)
    together = {what: Rounded(*map(torch.cat, zip(*parts, strict=True))) for what, parts in groups.items()}
    return {what: rounded for what, rounded in together.items() if len(rounded.error) >= FEWEST}


def _rounded(record: Exercise, expected: Expected, index: int, output: torch.Tensor) -> Rounded:
    """The elements of an output that are judged."""
    dtype, right, size = expected.dtypes[index], expected.values[index], expected.sizes[index]
    single = record.tolerance.single * 2.0 ** (PRECISION[dtype] - PRECISION[torch.float32])
    slack = expected.allowed[index] - record.tolerance.half + single
    place = (right / size).abs() % 1  # from the number of the dtype that is next towards 0
    off_middle = (place - 0.5).abs()
    judged = (slack <= MOST) & (off_middle > slack) & (off_middle <= QUARTER) & (right.abs() < torch.finfo(dtype).max)
    error = (output.double() - right) / size
    nearest = torch.where(place < 0.5, -place, 1 - place) * right.sign()
    return Rounded(*(values[judged] for values in (error, nearest, slack, right.sign())))
