"""A reference in another precision: its conversions to float32 are to that; those to fewer bits are its own. And on
memory that holds one number where it never wrote: what hangs on that is not expected.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...gpu import ATEN, lazily
from ...runner import Callee, Tree, dtype_name
from ..borrowed import TorchDispatchMode, schema
from ..ulp import FLOAT8, HALVES

EMPTY = frozenset(name for name in ATEN.memory if "empty" in name)
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
        """What a report says of it."""
        found = []
        if self.widened:
            found.append(
                f"The reference converts to float32 in {_listed(self.widened)}; here it stays in float64 there."
            )
        if self.rounded:
            found.append(f"The reference rounds to {_listed(self.rounded)}: its own result is what is expected.")
        return tuple(found)


@lazily
class Filled(TorchDispatchMode):
    """Has memory that was allocated and never written hold one number. made: whether there was any."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.number, self.made = 0, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if ATEN.base(schema(func).name) in EMPTY and Tree((result,)).tensors:
            self.made = True
            result.fill_(self.number)
        return result

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, called in this mode."""

        def call(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return call

    @contextlib.contextmanager
    def holding(self, number: int) -> Iterator[None]:
        """Inside, it is another number."""
        before, self.number = self.number, number
        try:
            yield
        finally:
            self.number = before


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
