"""Reductions and scans as a tree, vectorised, each step rounded to the type it is done in."""

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

_MAX_FINITE_FAST = (tl.float32, tl.float64)


def _tensor(data: np.ndarray, dtype: tl.dtype) -> tl.tensor:
    handle = interpreter.TensorHandle(data, dtype)
    return tl.tensor(handle, tl.block_type(dtype, list(data.shape)))


def _combine(function, left: list[np.ndarray], right: list[np.ndarray], dtypes: list[tl.dtype]) -> list[np.ndarray]:
    """Apply a combine function to whole blocks and round its results to the inputs' types."""
    arguments = [_tensor(a, t) for a, t in zip(left + right, dtypes * 2, strict=True)]
    results = function(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    builder = interpreter.interpreter_builder
    out = []
    for value, dtype, like in zip(results, dtypes, left, strict=True):
        value = interpreter.interpreter_semantic.to_tensor(value)
        handle = value.handle if value.dtype == dtype else builder.cast_impl(value.handle, dtype)
        out.append(np.broadcast_to(handle.data, like.shape).astype(like.dtype))
    return out


class StrictReduce(interpreter.ReduceOps):
    """`tl.reduce`: neighbours are combined pair by pair. Only associativity is asked for, as on a GPU."""

    def apply_impl(self, input):
        if self._is("_elementwise_max"):
            return self._extreme(input[0], "create_maxnumf", np.maximum)
        if self._is("_elementwise_min"):
            return self._extreme(input[0], "create_minnumf", np.minimum)
        if self._is("_sum_combine") and input[0].dtype in (tl.float32, tl.float64):
            return self.sum(input[0])
        if self._is("_sum_combine") and input[0].dtype.is_int():
            data = input[0].handle.data
            total = np.sum(data, axis=self.axis, keepdims=self.keep_dims, dtype=data.dtype)
            return self.to_tensor(total, input[0].dtype)
        return self._tree(input)

    def _is(self, name: str) -> bool:
        return self.combine_fn is getattr(tl.standard, name, None)

    def _extreme(self, input, name, whole):
        if not input.dtype.is_floating():
            return self.to_tensor(whole.reduce(input.handle.data, axis=self.axis, keepdims=self.keep_dims), input.dtype)
        if input.dtype not in (tl.float16, tl.float32, tl.float64):
            return self._tree((input,))[0]
        drop = np.fmax if whole is np.maximum else np.fmin
        return self.to_tensor(drop.reduce(input.handle.data, axis=self.axis, keepdims=self.keep_dims), input.dtype)

    def _tree(self, input):
        dtypes = [arg.dtype for arg in input]
        axis = 0 if self.axis is None else self.axis % input[0].handle.data.ndim
        rank = input[0].handle.data.ndim
        data = [arg.handle.data.ravel() if self.axis is None else arg.handle.data for arg in input]
        data = [np.moveaxis(a, axis, -1) for a in data]
        while data[0].shape[-1] > 1:
            data = _combine(self.combine_fn, [a[..., 0::2] for a in data], [a[..., 1::2] for a in data], dtypes)
        data = [a[..., 0] for a in data]
        if self.keep_dims:
            shape = (1,) * rank if self.axis is None else None
            data = [a.reshape(shape) if shape else np.expand_dims(a, axis) for a in data]
        return tuple(self.to_tensor(a if a.shape else a[()], t) for a, t in zip(data, dtypes, strict=True))


class StrictScan(interpreter.ScanOps):
    """`tl.associative_scan`: doubling strides, so that log2(n) combinations of whole blocks do the work of n."""

    def apply_impl(self, input):
        dtypes = [arg.dtype for arg in input]
        axis = self.axis % input[0].handle.data.ndim
        data = [np.moveaxis(arg.handle.data, axis, -1) for arg in input]
        if self.reverse:
            data = [a[..., ::-1] for a in data]
        size, step = data[0].shape[-1], 1
        while step < size:
            shifted = [np.roll(a, step, axis=-1) for a in data]
            combined = _combine(self.combine_fn, shifted, data, dtypes)
            whole = np.arange(size) >= step
            data = [np.where(whole, new, old).astype(old.dtype) for new, old in zip(combined, data, strict=True)]
            step *= 2
        if self.reverse:
            data = [a[..., ::-1] for a in data]
        back = [np.ascontiguousarray(np.moveaxis(a, -1, axis)) for a in data]
        return [self.to_tensor(a, t) for a, t in zip(back, dtypes, strict=True)]
