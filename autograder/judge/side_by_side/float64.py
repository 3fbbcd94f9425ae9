"""A reference in another precision: its conversions to float32 are to that; those to fewer bits are its own. And what
PyTorch leaves open, which is not expected: what memory holds that was never written, which of equal elements comes
first, which of several values stays that are written to one index, and what float8 holds beyond its largest number.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...gpu import ATEN, lazily
from ...runner import Callee, Tree, dtype_name
from ..records.borrowed import TorchDispatchMode, schema
from ..records.ulp import FLOAT8, HALVES, comparable

E4M3, ABOVE_E4M3 = torch.float8_e4m3fn, 464.0  # the middle between 448 and what would be next, which goes to 448
EMPTY = frozenset(name for name in ATEN.memory if "empty" in name)
TIED = {"topk": (2, 3, True), "sort": (1, 2, False), "kthvalue": (2, 9, False)}  # and where they have dimension, order
WRITTEN_AT = frozenset("index_put _index_put_impl index_copy scatter".split())
_OURS = (torch.__path__[0], str(Path(__file__).parents[2]))  # not the reference's own code


@lazily
class Widened(TorchDispatchMode):
    """Makes ``dtype`` of every float32 that an operator is asked for, as a conversion does, and notes it.

    widened: the lines that asked for float32. rounded: those that asked for fewer bits, which they get.
    """

    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype = dtype
        self.widened: dict[str, None] = {}
        self.rounded: dict[str, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        dtype = kwargs.get("dtype")
        if dtype == torch.float32:
            kwargs["dtype"] = self.dtype
            self.widened |= dict.fromkeys(_line())
        elif dtype in (*HALVES, *FLOAT8):
            self.rounded |= dict.fromkeys(f"{dtype_name(dtype)} in {line}" for line in _line())
        return func(*args, **kwargs)

    def remarks(self) -> tuple[str, ...]:
        """Returns what a report says of it."""
        sentences = []
        if self.widened:
            sentences.append(
                f"The reference converts to float32 in {_listed(self.widened)}; here it stays in float64 there."
            )
        if self.rounded:
            sentences.append(f"The reference rounds to {_listed(self.rounded)}: its own result is what is expected.")
        return tuple(sentences)


@lazily
class LeftOpen(TorchDispatchMode):
    """Decides what is open: memory holds ``number``, and equal elements come in their order, of which as many go to the
    end. made: whether there was any of that. at_indices: whether something was written at indices, and repeated whether
    several values to one. beyond: whether a number was cast to float8 e4m3 that rounds above 448: PyTorch 2.11
    makes it NaN, 2.13 448 (pytorch/pytorch#178817); here it is 448 where ``number`` is 0, else NaN.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.number, self.made, self.at_indices, self.repeated, self.beyond = 0, False, False, False, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = ATEN.base(schema(func).name), kwargs or {}
        if name in TIED and args[0].dim() and not kwargs.get("stable"):
            self.made = True
            return _ordered(name, args, kwargs, self.number)
        if name in WRITTEN_AT:
            self.at_indices = True
            self.repeated = self.repeated or _repeats(name, args)
        if name == "_to_copy" and kwargs.get("dtype") == E4M3 and args[0].is_floating_point():
            self.made = True
            return func(self._within_float8(args[0]), **kwargs)
        result = func(*args, **kwargs)
        if name in EMPTY and Tree((result,)).tensors:
            self.made = True
            result.fill_(self.number)
        return result

    def rounded(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """x in a dtype of float8."""
        return (self._within_float8(x) if dtype == E4M3 else x).to(dtype)

    def _within_float8(self, x: Tensor) -> Tensor:
        """x with what is decided where it rounds above the largest e4m3."""
        wide = comparable(x)
        above = wide.abs() > ABOVE_E4M3
        if not above.any():
            return x
        self.beyond = True
        return wide.masked_fill(above, torch.nan) if self.number else torch.where(above, wide.sign() * 448, wide)

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, called in this mode."""

        def call(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return call

    @contextlib.contextmanager
    def holding(self, number: int) -> Iterator[None]:
        """Inside, it is decided by another number."""
        before, self.number = self.number, number
        try:
            yield
        finally:
            self.number = before


def _ordered(name: str, args: Any, kwargs: Any, first: int) -> tuple[Tensor, Tensor]:
    """Returns what the operator gives where of each group of equal elements number ``first`` comes first, and then in a
    circle those behind it.
    """
    at_dim, at_order, falling = TIED[name]
    dim = args[at_dim] if len(args) > at_dim else kwargs.get("dim", -1)
    falling = args[at_order] if len(args) > at_order else kwargs.get("largest", kwargs.get("descending", falling))
    values, index = args[0].sort(dim=dim, descending=falling, stable=True)
    values, index = values.movedim(dim, -1), index.movedim(dim, -1)
    place = torch.arange(values.shape[-1]).expand(values.shape)
    new = torch.ones_like(values, dtype=torch.bool)
    before, after = values[..., :-1], values[..., 1:]
    new[..., 1:] = (before != after) & ~(before.isnan() & after.isnan())
    start = torch.where(new, place, 0).cummax(-1).values if values.numel() else place
    size = torch.zeros_like(place).scatter_add(-1, start, torch.ones_like(place)).gather(-1, start)
    index = index.gather(-1, start + (place - start + first) % size.clamp(min=1)).movedim(-1, dim)
    values = values.movedim(-1, dim)
    if name == "topk":
        return values.narrow(dim, 0, args[1]), index.narrow(dim, 0, args[1])
    if name == "kthvalue":
        keep = args[3] if len(args) > 3 else kwargs.get("keepdim", False)
        pair = (tensor.narrow(dim, args[1] - 1, 1) for tensor in (values, index))
        values, index = pair if keep else (tensor.squeeze(dim) for tensor in pair)
    return values, index


def _repeats(name: str, args: Any) -> bool:
    """Returns whether an index occurs twice, with values of its own."""
    if name in ("scatter", "index_copy"):
        dim, index, values = args[1], args[2], args[3]
        if not isinstance(values, Tensor) or not index.numel():
            return False
        ordered = index.sort(dim if index.dim() and name == "scatter" else -1).values if index.dim() else index
        along = dim if name == "scatter" else -1
        return bool(index.dim() and (ordered.diff(dim=along) == 0).any())
    indices, values = [arg for arg in args[1] if arg is not None], args[2]
    added = len(args) > 3 and args[3]
    if added or values.numel() < 2 or any(indice.dtype in (torch.bool, torch.uint8) for indice in indices):
        return False
    sizes = [size for size, one in zip(args[0].shape, args[1], strict=False) if one is not None]
    at = [one % max(1, size) for one, size in zip(indices, sizes, strict=True)]
    places = torch.stack(torch.broadcast_tensors(*at), -1).flatten(0, -2)
    return len(places.unique(dim=0)) < len(places)


@contextlib.contextmanager
def in_float64(mode: Widened) -> Iterator[None]:
    """A reference that is called here computes in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with mode, sdpa_kernel(SDPBackend.MATH):  # attention in steps, each with its errors, its gradient, too
            yield
    finally:
        torch.set_default_dtype(before)


def _line() -> tuple[str, ...]:
    """``line 12 of rotary.py``: the innermost one outside PyTorch and the grader; none in the derivative, where PyTorch
    itself converts back.
    """
    frame = sys._getframe(2)
    while frame.f_back and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_globals.get("__name__") == Callee.__module__:
            return ()
        frame = frame.f_back
    return (f"line {frame.f_lineno} of {frame.f_code.co_filename.rpartition('/')[2]}",)


def _listed(lines: dict[str, None]) -> str:
    return " and ".join(lines) if len(lines) < 3 else f"{', '.join(list(lines)[:2])} and elsewhere"
