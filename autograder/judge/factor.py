"""A factor that a result is off by, in the sizes and numbers of the call."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

_DIGITS = 6
_CONSTANTS = {"2": 2.0, "4": 4.0, "sqrt(2)": math.sqrt(2), "ln 2": math.log(2), "ln 10": math.log(10), "pi": math.pi}


def spelled(factor: float, precision: float, named: Mapping[str, Any]) -> str:
    """The factor as a decimal, and as an expression where one alone of those that are usual is that near.

    precision: how far, relatively, it may be off. named: the arguments of the call by name.
    """
    digits = min(max(math.ceil(-math.log10(precision)), 2), _DIGITS) if precision > 0 else _DIGITS
    decimal, size = f"{factor:.{digits}g}", abs(factor)
    found: dict[float, str] = {}
    for words, value in _usual(named):
        if abs(value - size) <= precision * size:
            found.setdefault(round(value, 12), words)
    if len(found) != 1:
        return decimal
    words = f"{'' if factor > 0 else '-'}{next(iter(found.values()))}"
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
