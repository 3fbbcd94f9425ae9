"""One step of AdamW in Triton, in place.

    m = β₁ m + (1 - β₁) g          m̂ = m / (1 - β₁^t)
    v = β₂ v + (1 - β₂) g²         v̂ = v / (1 - β₂^t)
    w = w - lr λ w - lr m̂ / (√v̂ + ε)

Float32 inside, each weight rounded once at the store. What is the same for all elements is computed on the host, in
float64: in float32 1 - 0.999 would be off by 1e-5 of it, and so would v. One pass: w, g, m, v are read, and w, m, v
written.
"""

import torch

from .language import tl, triton


# %% adamw_step
@triton.jit
def adamw_step_kernel(
    param_ptr, grad_ptr, m_ptr, v_ptr, n,
    beta1, rest1, beta2, rest2, size, correction2, eps, keep,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Program p does elements p · BLOCK to (p + 1) · BLOCK. rest: 1 - β. size: lr / (1 - β₁^t). keep: 1 - lr λ."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    g = tl.load(grad_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    m = beta1 * tl.load(m_ptr + offsets, mask=mask, other=0.0) + rest1 * g
    v = beta2 * tl.load(v_ptr + offsets, mask=mask, other=0.0) + rest2 * g * g
    w = tl.load(param_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    w = w * keep - size * (m / (tl.sqrt(v / correction2) + eps))

    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)
    tl.store(param_ptr + offsets, w.to(param_ptr.dtype.element_ty), mask=mask)


def adamw_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> None:
    """One step of AdamW, into param, m and v. All four of one shape; m and v float32, param and grad of any floating
    dtype. step: an integer, 1 at the first call.

    Strides: any for grad; param, m and v are contiguous.
    """
    n = param.numel()
    if n:
        size, correction2 = lr / (1 - beta1**step), 1 - beta2**step
        adamw_step_kernel[(triton.cdiv(n, 1024),)](
            param, grad.contiguous(), m, v, n,
            beta1, 1 - beta1, beta2, 1 - beta2, size, correction2, eps, 1 - lr * weight_decay,
            BLOCK=1024,
        )  # fmt: skip
