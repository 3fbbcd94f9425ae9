"""The estimator k3 of a KL divergence in Triton.

    kl    = e^r - 1 - r,   r = ref - logp
    dlogp = -dkl (e^r - 1),   dref = -dlogp

Elementwise over any shape; float32 inside, rounded once at the store. Forward moves 3 numbers an element, backward 4.
Near r = 0, where e^r keeps nothing of r²/2, both come from the series of (e^r - 1 - r) / r²: Triton has no expm1. Where
both are -inf, both results are 0. Schulman 2020, "Approximating KL Divergence".
"""

import torch

from ..solutions import kl as cpu
from .autograd import Function, gradient, unaliased
from .language import check_tensors, describe, tl, triton, use_triton
from .on_a_cpu import elementwise

# %% kl_forward
BLOCK = 1024


@triton.jit
def log_ratio(logp, ref):
    """ref - logp, and 0 where both are -inf."""
    both = (logp == float("-inf")) & (ref == float("-inf"))
    return tl.where(both, 0.0, ref - logp)


@triton.jit
def near_kl(r):
    """r² (1/2! + r/3! + r²/4! + ...): e^r - 1 - r for |r| < 1, to the last digit of float32."""
    total = 1.0
    for k in tl.static_range(11, 2, -1):
        total = 1.0 + r * (1 / k) * total
    return r * r * 0.5 * total


@triton.jit
def kl_forward_kernel(logp_ptr, ref_ptr, kl_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    logp = tl.load(logp_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    ref = tl.load(ref_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    r = log_ratio(logp, ref)
    far = tl.where(r == float("inf"), r, tl.exp(r) - 1.0 - r)  # inf - inf is NaN
    kl = tl.where(tl.abs(r) < 1.0, near_kl(r), far)

    tl.store(kl_ptr + offsets, kl.to(kl_ptr.dtype.element_ty), mask=mask)


def kl_forward(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """kl = e^r - 1 - r, r = ref - logp, elementwise. logp and ref of one shape and dtype; kl too.

    0 where both are -inf; inf where one of them is, or where e^r overflows. Strides: any for logp and ref.
    """
    logp, ref = logp.contiguous(), ref.contiguous()
    kl = torch.empty_like(logp)
    kl_forward_kernel[(triton.cdiv(kl.numel(), BLOCK),)](logp, ref, kl, kl.numel(), BLOCK=BLOCK)
    return kl


# %% kl_backward
@triton.jit
def kl_backward_kernel(dkl_ptr, logp_ptr, ref_ptr, dlogp_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    dkl = tl.load(dkl_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    logp = tl.load(logp_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    ref = tl.load(ref_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    r = log_ratio(logp, ref)
    slope = tl.where(tl.abs(r) < 1.0, r + near_kl(r), tl.exp(r) - 1.0)  # expm1(r)
    dlogp = tl.where(dkl == 0.0, 0.0, -dkl * slope)  # 0 * inf is NaN

    tl.store(dlogp_ptr + offsets, dlogp.to(dlogp_ptr.dtype.element_ty), mask=mask)


def kl_backward(dkl: torch.Tensor, logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """dlogp = -dkl (e^r - 1), r = ref - logp, elementwise. dkl, logp and ref of one shape and dtype; dlogp too.

    0 where both are -inf, and where dkl is 0. Strides: any for dkl, logp and ref.
    """
    dkl, logp, ref = dkl.contiguous(), logp.contiguous(), ref.contiguous()
    dlogp = torch.empty_like(logp)
    kl_backward_kernel[(triton.cdiv(dlogp.numel(), BLOCK),)](dkl, logp, ref, dlogp, dlogp.numel(), BLOCK=BLOCK)
    return dlogp


# %% kl
def log_ratio_in_float64(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """ref - logp, with 1e300 for infinity: 0 where both are -inf."""
    return ref.clamp_(min=-1e300).sub_(logp.clamp_(min=-1e300)).clamp_(max=1e300)


def kl_in_float64(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """The larger one of two numbers that are not above kl, but for 2^-53: r²/2 + r³/6, which is kl near r = 0, and
    e^r - 1 - r, lowered by what exp may be off there. Both are right to 2^-26 where they meet, at r = 0.0003.
    """
    r = log_ratio_in_float64(logp, ref)
    near = torch.mul(r, 1 / 6).add_(0.5).mul_(r).mul_(r)
    return r.exp().sub_(1 + 2**-51).sub_(r).maximum(near)


def kl_derivative_in_float64(dkl: torch.Tensor, logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    r = log_ratio_in_float64(logp, ref).clamp_(max=709)  # e^709 is finite, and 0 times it is 0
    return r.expm1_().mul_(dkl).neg_()


def kl_on_a_cpu(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    return elementwise(kl_in_float64, cpu.kl_forward, logp, ref)


def kl_backward_on_a_cpu(dkl: torch.Tensor, logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    return elementwise(kl_derivative_in_float64, cpu.kl_backward, dkl, logp, ref)


class KLFunction(Function):
    """Saves its inputs. The gradient of ref is that of logp with the other sign."""

    @staticmethod
    def forward(logp, ref):
        return unaliased((kl_forward if use_triton(logp) else kl_on_a_cpu)(logp, ref))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dkl):
        dlogp = gradient("kl", kl_backward if use_triton(dkl) else kl_backward_on_a_cpu, dkl, *ctx.saved_tensors)
        return dlogp, -dlogp if ctx.needs_input_grad[1] else None


def kl(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """e^r - 1 - r for r = ref - logp, elementwise: the estimator k3 of KL(p ‖ ref) at a token drawn from p.

    Differentiable once in both, which have one shape, floating dtype and device; else ValueError. CUDA through Triton,
    elsewhere PyTorch. Detach ref where it is a constant.
    """
    if (logp.shape, logp.dtype, logp.device) != (ref.shape, ref.dtype, ref.device):
        raise ValueError(f"kl: logp is {describe(logp)} but ref is {describe(ref)}; they must be alike")
    check_tensors("kl", logp=logp, ref=ref)
    return KLFunction.apply(logp, ref)
