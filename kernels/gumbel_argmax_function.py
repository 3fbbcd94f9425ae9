"""Sampling from logits with uniform numbers that are given, as a function to import."""

import torch

from ..solutions.gumbel_argmax import gumbel_argmax as in_pytorch
from .gumbel_argmax import gumbel_argmax as in_triton
from .language import as_matrix, describe, use_triton


def gumbel_argmax(logits: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """One class from the softmax over the last axis of logits, (..., V), for each row: int64 (...).

    u: uniform numbers from 0 to 1, float32 of the logits' shape and device: `torch.rand`, or made of a hash of 32 bits.
    The class with the largest logit + -log(-log u), the first of equals; u = 0 and u = 1 count as 2^-32 off that end.
    A logit of -inf is never chosen; a row of -inf alone gives -1. No logit is NaN. Divide the logits by a temperature
    first. CUDA through Triton, elsewhere PyTorch. Raises ValueError where shapes, dtypes or devices are others.
    """
    if not logits.dim() or not logits.shape[-1] or not logits.is_floating_point():
        raise ValueError(f"gumbel_argmax: logits are (..., V) with a class at least; they are {describe(logits)}")
    if u.dtype != torch.float32 or (u.shape, u.device) != (logits.shape, logits.device):
        raise ValueError(
            f"gumbel_argmax: logits are {describe(logits)}, so u has their shape and device, and is float32; it is "
            f"{describe(u)}"
        )
    function = in_triton if use_triton(logits) else in_pytorch
    return function(as_matrix(logits), as_matrix(u)).reshape(logits.shape[:-1])
