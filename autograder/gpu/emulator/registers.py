"""Says what a program reads of the GPU that it runs on, in place of `triton.language.extra.cuda`'s instructions."""

import time

import triton.language as tl
from triton.runtime import interpreter

_WARP = 32


def globaltimer() -> tl.tensor:
    """Nanoseconds of a clock, which does not run backwards."""
    return _number(time.monotonic_ns(), tl.int64)


def smid() -> tl.tensor:
    """The number of the multiprocessor: the first, for every program."""
    return _number(0, tl.int32)


def num_warps() -> tl.constexpr:
    """The launch's number of warps."""
    return tl.constexpr(interpreter.interpreter_builder.access.warps)


def num_threads() -> tl.constexpr:
    """The launch's number of threads in a program."""
    return tl.constexpr(_WARP * interpreter.interpreter_builder.access.warps)


def _number(value: int, dtype: tl.dtype) -> tl.tensor:
    builder = interpreter.interpreter_builder
    return tl.tensor(builder.get_int64(value) if dtype == tl.int64 else builder.get_int32(value), dtype)


FUNCTIONS = {function.__name__: function for function in (globaltimer, smid, num_warps, num_threads)}
