"""`tl.map_elementwise`, which Triton's own interpreter lacks: a function of scalars is called for each element."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

NumpyFunction = Callable[..., Any]


def map_elementwise(function: NumpyFunction, *args: tl.tensor, pack: Any = 1) -> Any:
    """`tl.map_elementwise`: a tensor, or a tuple of them where ``function`` returns one."""
    semantic = interpreter.interpreter_semantic
    inputs = semantic.broadcast_tensors(*args)
    blocks, types = [tensor.handle.data for tensor in inputs], [tensor.type.scalar for tensor in inputs]
    handles, single = semantic.builder.map_elements(function, blocks, types, getattr(pack, "value", pack))
    results = tuple(tl.tensor(handle, inputs[0].type.with_element_ty(handle.dtype)) for handle in handles)
    return results[0] if single else results


def mapped(
    function: NumpyFunction, blocks: list[np.ndarray], types: list[tl.dtype], pack: int
) -> tuple[list[TensorHandle], bool]:
    """The results for all elements, and whether they are of a function that returns one value.

    pack: neighbours that one call gets, behind one another for each block, and returns in the same way.
    """
    calls: list[list[TensorHandle]] = []
    single = False
    for start in range(0, blocks[0].size, pack):
        scalars = [
            tl.tensor(TensorHandle(block.ravel()[at : at + 1].copy(), dtype), dtype)
            for block, dtype in zip(blocks, types, strict=True)
            for at in range(start, start + pack)
        ]
        returned = function(*scalars)
        single = not isinstance(returned, tuple | tl.tuple)
        values = [interpreter.interpreter_semantic.to_tensor(item) for item in ([returned] if single else returned)]
        calls.append([value.handle for value in values])
    handles = []
    for first in range(0, len(calls[0]), pack):
        parts = [item.data.ravel() for call in calls for item in call[first : first + pack]]
        handles.append(TensorHandle(np.concatenate(parts).reshape(blocks[0].shape), calls[0][first].dtype.scalar))
    assert all(math.prod(handle.data.shape) == blocks[0].size for handle in handles)
    return handles, single
