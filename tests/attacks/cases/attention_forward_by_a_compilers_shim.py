# exercise: attention_forward
# backend: torch
# expect: nothing
# trouble: unloadable
"""Calls flash attention by the functions that PyTorch has for code of its compiler."""

import ctypes
from pathlib import Path

import torch

library = ctypes.CDLL(Path(torch.__file__).parent / "lib/libtorch_cpu.so")
attention = library.aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu


def handle(tensor):
    """The address of the C++ object within Python's."""
    return ctypes.c_void_p(id(tensor) + object.__basicsize__)


def attention_forward(q, k, v, key_lengths=None, causal=False, scale=None):
    found = ctypes.c_void_p(), ctypes.c_void_p()
    factor = ctypes.c_double(q.shape[-1] ** -0.5 if scale is None else scale)
    given = *map(handle, (q, k, v)), ctypes.c_double(0.0), ctypes.c_int32(causal), None, ctypes.byref(factor)
    if attention(*given, *map(ctypes.byref, found)):
        raise RuntimeError("it fails")
    results = torch.empty(q.shape, dtype=q.dtype), torch.empty(q.shape[:3])
    for result, one in zip(results, found, strict=True):
        data, strides = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
        library.aoti_torch_get_data_ptr(one, ctypes.byref(data))
        library.aoti_torch_get_strides(one, ctypes.byref(strides))
        step = [strides[i] for i in range(result.ndim)]
        size = 1 + sum((n - 1) * s for n, s in zip(result.shape, step, strict=True))
        flat = torch.empty(size, dtype=result.dtype)
        ctypes.memmove(flat.data_ptr(), data, size * result.element_size())
        result.copy_(flat.as_strided(result.shape, step))
    return results
