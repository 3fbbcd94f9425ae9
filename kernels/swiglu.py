"""SwiGLU in Triton: the gated half of a transformer's MLP, in one pass.

    y     = silu(gate) · up
    dgate = dy · up · silu'(gate),   dup = dy · silu(gate)

Elementwise over any shape; float32 inside, rounded once at the store. Shazeer 2020, arXiv:2002.05202.
Forward moves 3 numbers an element, backward 5; silu(gate) is computed twice and never written.
"""

import torch

from ..solutions import silu as cpu
from ..solutions.precision import upcast
from .autograd import Function, gradient, unaliased
from .language import check_tensors, describe, tl, triton, use_triton
from .on_a_cpu import elementwise
from .silu import BLOCK, sigmoid_parts, silu_derivative_in_float64, silu_in_float64, silu_of


# %% swiglu_forward
@triton.jit
def swiglu_forward_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    y = silu_of(gate, y_ptr.dtype.element_ty) * up  # rounded once, at the store: silu(gate) is never a half

    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def swiglu_forward(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """y = silu(gate) · up, elementwise. gate and up of one shape and dtype; y too.

    Strides: any for gate and up.
    """
    gate, up = gate.contiguous(), up.contiguous()
    y = torch.empty_like(gate)
    swiglu_forward_kernel[(triton.cdiv(y.numel(), BLOCK),)](gate, up, y, y.numel(), BLOCK=BLOCK)
    return y


# %% swiglu_backward
@triton.jit
def swiglu_backward_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK. Computing silu(gate) again is cheaper than reading it."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    gate = tl.where(gate < -1500.0, -1500.0, gate)  # -inf would meet its sigmoid as inf * 0
    bounded = tl.where(gate > 1500.0, 1500.0, gate)
    tail, other, r = sigmoid_parts(gate, dgate_ptr.dtype.element_ty)
    slope = 1.0 + bounded * (other * other * r)
    part = dy * tail * r
    dup = part * gate * tail  # one tail last: the square of both may be subnormal
    dgate = part * up * slope * tail

    tl.store(dgate_ptr + offsets, dgate.to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + offsets, dup.to(dup_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dy: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(dgate, dup) = (dy · up · silu'(gate), dy · silu(gate)), elementwise. All of one shape and dtype.

    Strides: any for dy, gate and up.
    """
    dy, gate, up = dy.contiguous(), gate.contiguous(), up.contiguous()
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    swiglu_backward_kernel[(triton.cdiv(dy.numel(), BLOCK),)](dy, gate, up, dgate, dup, dy.numel(), BLOCK=BLOCK)
    return dgate, dup


# %% swiglu
def forward_in_float64(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return silu_in_float64(gate).mul_(up)


def dgate_in_float64(dy: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return silu_derivative_in_float64(dy.mul_(up), gate)


def forward_by_the_answer(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return (cpu.silu_forward(upcast(gate)) * up).to(gate.dtype)


def dgate_by_the_answer(dy: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return cpu.silu_backward(upcast(dy) * up, upcast(gate)).to(gate.dtype)


def forward_on_a_cpu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return elementwise(forward_in_float64, forward_by_the_answer, gate, up)


def backward_on_a_cpu(dy: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return elementwise(dgate_in_float64, dgate_by_the_answer, dy, gate, up), forward_on_a_cpu(gate, dy)


class SwiGLUFunction(Function):
    """Saves gate and up; silu(gate) is never held."""

    @staticmethod
    def forward(gate, up):
        return swiglu_forward(gate, up) if use_triton(gate) else unaliased(forward_on_a_cpu(gate, up))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dy):
        return gradient("swiglu", swiglu_backward if use_triton(dy) else backward_on_a_cpu, dy, *ctx.saved_tensors)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """silu(gate) · up, differentiable once. Any shape and strides; CUDA through Triton, elsewhere PyTorch.

    Raises ValueError where gate and up differ in shape, dtype or device, or are not floating point.
    """
    if (gate.shape, gate.dtype, gate.device) != (up.shape, up.dtype, up.device):
        raise ValueError(f"swiglu: gate is {describe(gate)} but up is {describe(up)}; they must be alike")
    check_tensors("swiglu", gate=gate, up=up)
    return SwiGLUFunction.apply(gate, up)
