"""Tests of wrong results: right up to a factor, or as if nothing had arrived from above; such a factor in words."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from ...runner import Args
from ..comparing.closeness import NEAR, Comparison, Expected, expect, near
from ..comparing.trial import Trial
from ..records.ulp import comparable
from ..results.case_result import CaseResult
from ..results.scoring import plain_values

ONE, EACH = "one factor", "a factor of each call"  # that results may be right up to: one of all calls, or of this alone

GRAPH = "the graph, to which it is not attached"
TELLING = 4  # distinct numbers of which one factor is no chance
ALIKE, FEWEST = 0.03, 4  # how far, relatively, one factor of two cases lies apart; cases that are right, or up to it
_DIGITS = 6
Factors = tuple[tuple[str, float], ...]  # by what all wrong outputs of a call are off, in words, and the factor
_CONSTANTS = {"2": 2.0, "4": 4.0, "sqrt(2)": math.sqrt(2), "ln 2": math.log(2), "ln 10": math.log(10), "pi": math.pi}


def up_to(trial: Trial, expected: Expected, compared: list[Comparison], outputs: Args) -> Factors:
    """All that makes the outputs right within `NEAR`, each with its factor. A gradient may be off by a factor and be
    as if 1 had arrived from above, where what arrived is one number. The factor may be one that other calls have, or of
    this call alone, as its count is.
    """
    return (*_without(trial, outputs), *_one_factor(expected, compared, outputs))


def right_up_to(cases: Iterable[CaseResult], factors: Mapping[str, Factors]) -> str:
    """Names what all plain values are right up to: one factor, or one of each call, which a case of few distinct
    numbers does not show and is not against; "" where there is nothing, or too few cases show it.

    factors: of the case with this name.
    """
    needed = [case for case in cases if not case.bonus]
    plain = plain_values(needed)
    off = [case for case in plain if case.near != 1]
    of_cases = {case.name: factors.get(case.name, ()) for case in needed if off}
    for words, factor in dict.fromkeys(pair for pairs in of_cases.values() for pair in pairs):
        shown = [case for case, pairs in of_cases.items() if any(_alike(pair, (words, factor)) for pair in pairs)]
        fits = [case for case in off if case.name in shown or (words == EACH and ONE in dict(of_cases[case.name]))]
        if len(fits) == len(off) and len(shown) + len(plain) - len(off) >= FEWEST:
            return words
    return ""


def _alike(pair: tuple[str, float], other: tuple[str, float]) -> bool:
    return pair[0] == other[0] and abs(pair[1] - other[1]) <= ALIKE * abs(other[1])


def but_for_its_graph(expected: Expected, outputs: Args) -> Factors:
    """The same of a result that is not attached to its graph, and so without the gradient that is the last output."""
    peers = expected.peers and expected.peers[:1]
    fields = {name: getattr(expected, name)[:1] for name in ("names", "dtypes", "values", "sizes", "allowed")}
    right = len(outputs) == 1 and near(replace(expected, peers=peers, **fields), outputs) == 1
    return ((GRAPH, 1.0),) if right else ()


def _without(trial: Trial, outputs: Args) -> Factors:
    if trial.exercise.forward is None or not isinstance(trial.args[0], torch.Tensor):
        return ()
    alone = expect(trial.exercise, trial.case, (torch.ones_like(trial.args[0]), *trial.args[1:]))
    return ((f"{trial.exercise.parameters[0]}, which is left out", 1.0),) if near(alone, outputs) == 1 else ()


def _one_factor(expected: Expected, compared: list[Comparison], outputs: Args) -> Factors:
    rows = zip(expected.values, expected.allowed, compared, outputs, strict=True)
    factors = [_factor(*row) for row in rows]
    off = [factor for factor in factors if factor is not None and factor != 1]
    if None in factors or not off or max(off) - min(off) > 2 * NEAR * max(map(abs, off)):
        return ()
    distinct = torch.cat([value[value.isfinite() & (value != 0)].double() for value in expected.values]).unique()
    return ((ONE, off[0]), (EACH, 1.0)) if len(distinct) >= TELLING else ((ONE, off[0]),)


def _factor(value: torch.Tensor, allowed: torch.Tensor, comparison: Comparison, output: torch.Tensor) -> float | None:
    """The factor that an output is off by: 1 where it is right, None where there is none."""
    if not output.is_floating_point():
        return 1.0 if torch.equal(output, value) else None
    finite = value.isfinite() & allowed.isfinite()
    if comparison.wrong is not None:  # at infinity PyTorch's own value is right as well, which may be NaN
        finite &= comparison.wrong | comparable(output).isfinite()
    exact, actual = value.double()[finite], output.double()[finite]
    square = float(exact @ exact)
    if not square or not bool(actual.isfinite().all()):
        return 1.0 if torch.equal(exact, actual) else None
    factor = float(actual @ exact) / square
    left = float((actual - factor * exact).norm())
    if not factor or left > NEAR * abs(factor) * square**0.5:
        return None
    # Near 1 it is what rounding leaves, unless nine tenths of the error are this factor's.
    return factor if abs(factor - 1) > NEAR or 10 * left < float((actual - exact).norm()) else 1.0


def spelled(factor: float, precision: float, named: Mapping[str, Any]) -> str:
    """The factor as a decimal, and as an expression where one alone of those that are usual is that near.

    precision: how far, relatively, it may be off. named: the arguments of the call by name.
    """
    digits = min(max(math.ceil(-math.log10(precision)), 2), _DIGITS) if precision > 0 else _DIGITS
    decimal, size = f"{factor:.{digits}g}", abs(factor)
    spellings: dict[float, str] = {}
    for words, value in _usual(named):
        if abs(value - size) <= precision * size:
            spellings.setdefault(round(value, 12), words)
    if len(spellings) != 1:
        return decimal
    words = f"{'' if factor > 0 else '-'}{next(iter(spellings.values()))}"
    return words if words == decimal else f"{decimal} = {words}"


def _usual(named: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Factors that forgotten or doubled steps leave, in words."""
    yield "1", 1.0
    for words, value in (_CONSTANTS | _numbers(named)).items():
        yield words, value
        yield f"1 / {words}", 1 / value
    for n in sorted(_counts(named)):
        yield f"{n}", float(n)
        yield f"1 / {n}", 1 / n
        yield f"sqrt({n})", math.sqrt(n)
        yield f"1 / sqrt({n})", 1 / math.sqrt(n)
    for over, under in _ratios(named):
        yield f"{over} / {under}", over / under
        yield f"{under} / {over}", under / over
        yield f"sqrt({over} / {under})", math.sqrt(over / under)
        yield f"sqrt({under} / {over})", math.sqrt(under / over)


def _numbers(named: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among the arguments, by name."""
    single = {
        name: abs(float(value))
        for name, value in named.items()
        if isinstance(value, int | float) or (isinstance(value, torch.Tensor) and value.dim() == 0)
    }
    return {name: value for name, value in single.items() if math.isfinite(value) and value not in (0, 1)}


def _counts(named: Mapping[str, Any]) -> set[int]:
    """The sizes of the tensors."""
    tensors = [a for a in named.values() if isinstance(a, torch.Tensor)]
    return {size for t in tensors for size in (*t.shape, t.numel()) if size > 1}


def _ratios(named: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """A size and what stands in its place: one less, the block that holds it, those that count of it."""
    for n in sorted(_counts(named)):
        yield n, n - 1
        yield 1 << (n - 1).bit_length(), n
    whole = [a for a in named.values() if isinstance(a, int)]
    for t in named.values():
        if isinstance(t, torch.Tensor) and not t.is_floating_point():
            kept = [int(t.sum())] if t.dtype == torch.bool else [int((t != value).sum()) for value in whole]
            yield from ((t.numel(), count) for count in kept if count)
