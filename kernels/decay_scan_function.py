"""A sum that decays along time as a function to import, differentiable in its rows and in their decays.

    h_t  = e^(g_t) · h_(t-1) + x_t                            x, h: (T, D)   g = log_decay: (T,)
    dx_t = dh_t + e^(g_(t+1)) · dx_(t+1)                      nothing behind the last
    dg_t = e^(g_t) · Σ_d dx[t, d] · h[t-1, d]                 0 for the first

The gradient is a scan from the last row to the first. Nothing is divided, and every factor of a row is at most 1: a
decay of -inf, where e^g is 0, has a gradient of exactly 0. x and log_decay are saved; h is computed again, in float32.
"""

import torch
from torch import Tensor

from ..solutions.decay_scan import decay_scan as in_pytorch
from .autograd import Function, gradient, unaliased
from .decay_scan import BLOCK, CHUNK, one_after_the_other
from .decay_scan import decay_scan as in_triton
from .language import check_tensors, describe, tl, triton, use_triton


@triton.jit
def decay_scan_backward_kernel(
    dh_ptr, h_ptr, g_ptr, dx_ptr, part_ptr, T, D, dh_row, dh_col, CHUNK: tl.constexpr, BLOCK: tl.constexpr
):
    """Program i does block i of the columns, from the last row on, and its part of each sum over the columns."""
    d = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    last = (tl.arange(0, CHUNK) == CHUNK - 1)[:, None]
    behind = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, T, CHUNK):
        t = (T - 1 - start - tl.arange(0, CHUNK)).to(tl.int64)
        mask = (t >= 0)[:, None] & (d < D)[None, :]
        dh = tl.load(dh_ptr + t[:, None] * dh_row + d[None, :] * dh_col, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + t + 1, mask=(t >= 0) & (t + 1 < T), other=0.0)
        decay = tl.broadcast_to(tl.exp(g)[:, None], (CHUNK, BLOCK))
        decay, dx = tl.associative_scan((decay, dh), 0, one_after_the_other)
        dx += decay * behind[None, :]
        tl.store(dx_ptr + t[:, None] * D + d[None, :], dx.to(dx_ptr.dtype.element_ty), mask=mask)
        behind = tl.sum(tl.where(last, dx, 0.0), 0)

        h = tl.load(h_ptr + (t - 1)[:, None] * D + d[None, :], mask=mask & (t > 0)[:, None], other=0.0)
        g = tl.load(g_ptr + t, mask=t >= 0, other=0.0)
        part = tl.exp(g) * tl.sum(dx * h, 1)
        tl.store(part_ptr + tl.program_id(0).to(tl.int64) * T + t, part, mask=t >= 0)


def gradients_in_triton(dh: Tensor, x: Tensor, log_decay: Tensor) -> tuple[Tensor, Tensor]:
    """(dx, dlog_decay), like x and log_decay. dh and x: any strides."""
    T, D = x.shape
    blocks = triton.cdiv(D, BLOCK)
    dx = torch.empty(T, D, dtype=x.dtype, device=x.device)
    parts = torch.empty(blocks, T, dtype=torch.float32, device=x.device)
    if dx.numel():
        h = in_triton(x.float(), log_decay)
        decay_scan_backward_kernel[(blocks,)](
            dh, h, log_decay, dx, parts, T, D, *dh.stride(), CHUNK=CHUNK, BLOCK=BLOCK, num_warps=1
        )
    return dx, parts.sum(0)


def gradients_in_pytorch(dh: Tensor, x: Tensor, log_decay: Tensor) -> tuple[Tensor, Tensor]:
    """(dx, dlog_decay), like x and log_decay, in the dtype of log_decay and rounded once."""
    h = in_pytorch(x.to(log_decay.dtype), log_decay)
    dx = in_pytorch(dh.to(log_decay.dtype).flip(0), log_decay.roll(-1).flip(0)).flip(0)  # the first decay is of nothing
    dlog_decay = log_decay.exp() * (dx * torch.cat((torch.zeros_like(h[:1]), h[:-1]))).sum(1)
    return dx.to(x.dtype), dlog_decay


class DecayScanFunction(Function):
    """Saves x and log_decay."""

    @staticmethod
    def forward(x, log_decay):
        return unaliased((in_triton if use_triton(x) else in_pytorch)(x, log_decay))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dh):
        compute = gradients_in_triton if use_triton(dh) else gradients_in_pytorch
        return gradient("decay_scan", compute, dh, *ctx.saved_tensors)


def decay_scan(x: torch.Tensor, log_decay: torch.Tensor) -> torch.Tensor:
    """h_t = e^(log_decay_t) · h_(t-1) + x_t, nothing before the first: (T, D), like x, differentiable once in both.

    x: (T, D)   log_decay: (T,) float32, or float64 where x is; 0 or below, and -inf where h starts anew. Sums are kept
    in float32 (float64 for float64) and rounded once. What lies behind t leaves no trace in row t. CUDA: Triton;
    elsewhere PyTorch. Any strides. Raises TypeError for what is no tensor, ValueError for shapes, dtypes and devices
    that do not fit. Gu and Dao 2023, arXiv:2312.00752, section 3.
    """
    check_tensors("decay_scan", 2, x=x, log_decay=log_decay)
    wide = torch.promote_types(x.dtype, torch.float32)
    if x.dim() != 2 or log_decay.dtype != wide or log_decay.shape != x.shape[:1]:
        wanted = f"decay_scan: x is (T, D) and log_decay (T,) {str(wide).removeprefix('torch.')}"
        raise ValueError(f"{wanted}; they are {describe(x)} and {describe(log_decay)}")
    return DecayScanFunction.apply(x, log_decay.contiguous())
