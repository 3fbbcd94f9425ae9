# exercise: global_norm
# backend: triton
"""One number that all programs add to, and its root."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_squares(g_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr, tl.sum(g * g))


@triton.jit
def take_root(total_ptr, norm_ptr):
    tl.store(norm_ptr, tl.sqrt(tl.load(total_ptr)))


def global_norm(grads):
    if not grads:
        return torch.zeros(())
    total, norm = torch.zeros(1, device=grads[0].device), torch.empty((), device=grads[0].device)
    for g in grads:
        if g.numel():
            add_squares[(triton.cdiv(g.numel(), 1024),)](g.contiguous(), total, g.numel(), BLOCK=1024)
    take_root[(1,)](total, norm)
    return norm
