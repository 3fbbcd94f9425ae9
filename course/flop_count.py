"""Counts the floating-point operations of kernels that run in the emulator.

One for each element of a sum, difference, product, quotient, minimum, maximum or function; two for a fused
multiplication and addition, and for each pair that `tl.dot` multiplies and adds; one less than there are elements for a
sum or a maximum over a block. Comparisons, choices, conversions, addresses, loads and stores are none. Masked-off lanes
count: a GPU computes them, too. `tl.sigmoid` is four, and an exponential is one however many instructions it takes.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from ..autograder.gpu.emulator.builder import StrictBuilder
from ..autograder.gpu.emulator.reduction import StrictReduce

EACH = ("binary_op", "unary_op", "_function", "create_fma")
NO_ARITHMETIC = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


@dataclass
class Count:
    """The operations so far."""

    total: int = 0


@contextlib.contextmanager
def counting_flops() -> Iterator[Count]:
    """Counts in its block, of kernels that the emulator runs one program at a time."""
    count = Count()
    with contextlib.ExitStack() as stack:
        for name in EACH:
            counted = _of_elements(getattr(StrictBuilder, name), count, 2 if name == "create_fma" else 1)
            stack.enter_context(patch.object(StrictBuilder, name, counted))
        stack.enter_context(patch.object(StrictBuilder, "create_dot", _of_products(StrictBuilder.create_dot, count)))
        stack.enter_context(patch.object(StrictReduce, "_reduce", _of_blocks(StrictReduce._reduce, count)))
        yield count


def _of_elements(operation: Callable[..., Any], count: Count, each: int) -> Callable[..., Any]:
    def counted(builder: Any, *operands: Any, **options: Any) -> Any:
        before = count.total
        result = operation(builder, *operands, **options)
        count.total = before  # what it is made of is not counted again
        if result.data.dtype.kind == "f" and operands[-1] not in NO_ARITHMETIC:
            count.total += each * result.data.size
        return result

    return counted


def _of_products(product: Callable[..., Any], count: Count) -> Callable[..., Any]:
    def counted(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        result = product(builder, a, b, *rest)
        count.total += 2 * result.data.size * a.data.shape[-1]
        return result

    return counted


def _of_blocks(reduce: Callable[..., Any], count: Count) -> Callable[..., Any]:
    def counted(self: Any, arrays: list[np.ndarray], dtypes: Any, axis: int) -> Any:
        before = count.total
        result = reduce(self, arrays, dtypes, axis)
        float_elements = sum(
            array.size - array.size // max(array.shape[axis], 1) for array in arrays if array.dtype.kind == "f"
        )
        count.total = before + float_elements
        return result

    return counted
