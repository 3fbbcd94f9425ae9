"""Reductions and scans as a tree, vectorised, each step rounded to the type it is done in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from .handles import wide

_ROUNDINGS = 8  # of each step, in ulp
_QUARTERS = 4  # of a block, which are combined in a second order


class _Blocks:
    """Blocks as arrays. ``programs``: the axes in front of a block's own (a pass of many programs has one)."""

    programs = 0
    combine_fn: Callable[..., Any]  # of Triton's own class, which a subclass has as well

    def to_tensor(self, data: np.ndarray, dtype: tl.dtype) -> tl.tensor:
        """A tensor of Triton's that holds ``data``, without the axes of the programs in its shape."""
        block = list(data.shape[self.programs :])
        handle = interpreter.TensorHandle(data if data.ndim else data.reshape(1), dtype)
        return tl.tensor(handle, tl.block_type(dtype, block) if block else dtype)

    def _combine(self, left: list[np.ndarray], right: list[np.ndarray], dtypes: list[tl.dtype]) -> list[np.ndarray]:
        """Apply the combine function to whole blocks and round its results to the inputs' types."""
        arguments = [self.to_tensor(a, t) for a, t in zip(left + right, dtypes * 2, strict=True)]
        results = self.combine_fn(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        builder = interpreter.interpreter_builder
        out = []
        for value, dtype, like in zip(results, dtypes, left, strict=True):
            value = interpreter.interpreter_semantic.to_tensor(value)
            handle = value.handle if value.dtype == dtype else builder.cast_impl(value.handle, dtype)
            out.append(np.broadcast_to(handle.data, like.shape).astype(like.dtype))
        return out

    def _arrays(self, input: tuple[tl.tensor, ...]) -> list[np.ndarray]:
        """The inputs in one shape and in C order: numpy adds in the order of memory."""
        return [np.ascontiguousarray(a) for a in np.broadcast_arrays(*(arg.handle.data for arg in input))]

    def _is_own(self) -> bool:
        """Returns whether the combining function is the program's, and not one of Triton's own."""
        function = getattr(self.combine_fn, "fn", self.combine_fn)
        return not str(getattr(function, "__module__", "")).startswith("triton.")

    def _compare(
        self, inputs: list[np.ndarray], forward: list[np.ndarray], other: list[np.ndarray], dtypes: list[tl.dtype]
    ) -> None:
        """Reports a combining function by which two orders differ by more than rounding."""
        for values, first, second, dtype in zip(inputs, forward, other, dtypes, strict=True):
            of_all, left, right = (wide(interpreter.TensorHandle(a, dtype)) for a in (values, first, second))
            differ = _differ(of_all, left, right, dtype)
            if self._of_live(differ).any():
                at = int(differ.ravel().argmax())
                name = getattr(getattr(self.combine_fn, "fn", self.combine_fn), "__name__", "the function")
                self._report(name, (str(left.ravel()[at]), str(right.ravel()[at])))
                return

    def _of_live(self, differ: np.ndarray) -> np.ndarray:
        """Those of the programs that go on."""
        return differ

    def _report(self, name: str, values: tuple[str, str]) -> None:
        interpreter.interpreter_builder.access.note_combined(name, values)


def _differ(inputs: np.ndarray, forward: np.ndarray, other: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """Where two results differ by more than the rounding of as many steps as there are numbers. inputs: their last axis
    was combined.
    """
    if forward.dtype.kind != "f":
        differ: np.ndarray = forward != other
        return differ
    forward, other, inputs = (a.astype(np.float64) for a in (forward, other, inputs))
    largest = np.max(np.where(np.isfinite(inputs), np.abs(inputs), 0.0), axis=-1)
    least = 2.0 ** -(dtype.fp_mantissa_width - 1)
    scale = np.maximum(np.maximum(np.abs(forward), np.abs(other)), largest)
    near = np.abs(forward - other) <= _ROUNDINGS * least * inputs.shape[-1] * scale
    same = (forward == other) | (np.isnan(forward) & np.isnan(other))
    apart: np.ndarray = ~(near | same)
    return apart


class StrictReduce(_Blocks, interpreter.ReduceOps):  # type: ignore[misc]  # of a library without types
    """`tl.reduce`: neighbours are combined pair by pair. Only associativity is asked for, as on a GPU."""

    def apply_impl(self, input: tuple[tl.tensor, ...]) -> tuple[tl.tensor, ...]:
        """The reductions of blocks of one shape."""
        interpreter.interpreter_builder.exchanged()
        arrays, dtypes = self._arrays(input), [arg.dtype for arg in input]
        rank = arrays[0].ndim - self.programs
        if self.axis is None:
            axis, kept = self.programs, tuple(range(self.programs, self.programs + rank))
            arrays = [a.reshape(*a.shape[: self.programs], -1) for a in arrays]
        else:
            axis = self.axis % rank + self.programs
            kept = (axis,)
        results = self._reduce(arrays, dtypes, axis)
        if self.keep_dims:
            results = [np.expand_dims(a, kept) for a in results]
        return tuple(self.to_tensor(np.asarray(a), t) for a, t in zip(results, dtypes, strict=True))

    def _reduce(self, arrays: list[np.ndarray], dtypes: list[tl.dtype], axis: int) -> list[np.ndarray]:
        dtype, whole = dtypes[0], dtypes[0].is_int()
        if whole or dtype in (tl.float16, tl.float32, tl.float64):
            if self._is("_elementwise_max"):
                return [(np.maximum if whole else np.fmax).reduce(arrays[0], axis=axis)]
            if self._is("_elementwise_min"):
                return [(np.minimum if whole else np.fmin).reduce(arrays[0], axis=axis)]
        if self._is("_sum_combine") and dtype != tl.int1 and (whole or dtype in (tl.float32, tl.float64)):
            # Along the last axis, in C order: numpy adds in another order along others, and in a block of one column.
            last = np.ascontiguousarray(np.moveaxis(arrays[0], axis, -1))
            return [np.sum(last, axis=-1, dtype=last.dtype)]
        return self._tree(arrays, dtypes, axis)

    def _is(self, name: str) -> bool:
        return self.combine_fn is getattr(tl.standard, name, None)

    def _tree(self, arrays: list[np.ndarray], dtypes: list[tl.dtype], axis: int) -> list[np.ndarray]:
        inputs = arrays = [np.moveaxis(a, axis, -1) for a in arrays]
        quarters: list[np.ndarray] = []
        while arrays[0].shape[-1] > 1:
            quarters = arrays if arrays[0].shape[-1] == _QUARTERS else quarters
            arrays = self._combine([a[..., 0::2] for a in arrays], [a[..., 1::2] for a in arrays], dtypes)
        if quarters and self._is_own():
            other = [a[..., :1] for a in quarters]
            for number in range(1, _QUARTERS):  # one after the other, in place of two and two
                other = self._combine(other, [a[..., number : number + 1] for a in quarters], dtypes)
            self._compare(inputs, [a[..., 0] for a in arrays], [a[..., 0] for a in other], dtypes)
        return [a[..., 0] for a in arrays]


class StrictScan(_Blocks, interpreter.ScanOps):  # type: ignore[misc]
    """`tl.associative_scan`: doubling strides, so that log2(n) combinations of whole blocks do the work of n."""

    def apply_impl(self, input: tuple[tl.tensor, ...]) -> list[tl.tensor]:
        """The scans of blocks of one shape, which they keep."""
        interpreter.interpreter_builder.exchanged()
        dtypes = [arg.dtype for arg in input]
        arrays = self._arrays(input)
        axis = self.axis % (arrays[0].ndim - self.programs) + self.programs
        data = [np.moveaxis(a, axis, -1) for a in arrays]
        if self.reverse:
            data = [a[..., ::-1] for a in data]
        given, data = data, self._doubling(data, dtypes)
        if data[0].shape[-1] > 2 and self._is_own():
            before, last = [a[..., -2:-1] for a in data], [a[..., -1:] for a in given]
            other = self._combine(before, last, dtypes)
            self._compare(given, [a[..., -1] for a in data], [a[..., -1] for a in other], dtypes)
        if self.reverse:
            data = [a[..., ::-1] for a in data]
        back = [np.ascontiguousarray(np.moveaxis(a, -1, axis)) for a in data]
        return [self.to_tensor(a, t) for a, t in zip(back, dtypes, strict=True)]

    def _doubling(self, data: list[np.ndarray], dtypes: list[tl.dtype]) -> list[np.ndarray]:
        """The scan along the last axis, by strides that double."""
        size, step = data[0].shape[-1], 1
        while step < size:
            shifted = [np.roll(a, step, axis=-1) for a in data]
            combined = self._combine(shifted, data, dtypes)
            whole = np.arange(size) >= step
            data = [np.where(whole, new, old).astype(old.dtype) for new, old in zip(combined, data, strict=True)]
            step *= 2
        return data
