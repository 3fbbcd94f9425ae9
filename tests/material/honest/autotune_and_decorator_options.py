# exercise: swiglu_backward
# backend: triton
"""A heuristic over an autotuner over a kernel whose decorator says how an argument of 1 is launched."""

import torch
import triton
import triton.language as tl


@triton.heuristics({"GATED": lambda args: args["up_ptr"] is not None})
@triton.autotune(configs=[triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
@triton.jit(do_not_specialize=["n", "one"])
def gradients_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, one, BLOCK: tl.constexpr, GATED: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    slope = s * (1.0 + gate * (1.0 - s)) * one
    if GATED:
        slope *= tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(dgate_ptr + offsets, (dy * slope).to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + offsets, (dy * gate * s).to(dup_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dy, gate, up):
    dy, gate, up = dy.contiguous(), gate.contiguous(), up.contiguous()
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    n = gate.numel()
    if n:
        gradients_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](dy, gate, up, dgate, dup, n, 1)
    return dgate, dup
