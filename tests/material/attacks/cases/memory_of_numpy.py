# exercise: linear_cross_entropy_forward_backward
# backend: torch
# expect: less
# ruff: noqa: F821
"""Holds all logits in an array of NumPy, with the watch on functions switched off."""

import numpy as np
import torch


class Kept:
    def __init__(self, size):
        self.all = np.zeros(size, np.float32)

    def put(self, start, logits):
        with torch._C.DisableTorchFunction():
            self.all[start : start + logits.numel()] = logits.reshape(-1).numpy()

    def get(self, start, shape):
        piece = torch.empty(shape)
        with torch._C.DisableTorchFunction():
            piece.numpy()[:] = self.all[start : start + shape[0] * shape[1]].reshape(shape)
        return piece


# include: all_logits
