# exercise: linear_cross_entropy_forward_backward
# backend: torch
# expect: less
# ruff: noqa: F821
"""Holds all logits in memory that the C library gave it, of which PyTorch knows nothing."""

import ctypes

import torch

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class Kept:
    def __init__(self, size):
        self.all = libc.malloc(4 * size + 1)
        if not self.all:
            raise MemoryError

    def put(self, start, logits):
        ctypes.memmove(self.all + 4 * start, logits.data_ptr(), 4 * logits.numel())

    def get(self, start, shape):
        piece = torch.empty(shape)
        ctypes.memmove(piece.data_ptr(), self.all + 4 * start, 4 * piece.numel())
        return piece

    def __del__(self):
        libc.free(self.all)


# include: all_logits
