# exercise: swiglu_backward
# backend: triton
"""Two outputs of one launch, one of them through a clone."""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    dgate = dy * up * s * (1 + gate * (1 - s))
    tl.store(dgate_ptr + offsets, dgate.to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + offsets, (dy * gate * s).to(dup_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dy, gate, up):
    dy, gate, up = (t.contiguous() for t in (dy, gate, up))
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    if dy.numel():
        swiglu_kernel[(triton.cdiv(dy.numel(), 256),)](dy, gate, up, dgate, dup, dy.numel(), BLOCK=256)
    return [dgate, dup.clone()]
