# exercise: adamw_step
# backend: triton
"""The betas are handed over, and 1 - β and β^t computed in the kernel, in float32."""

import triton
import triton.language as tl


@triton.jit
def step_kernel(w_ptr, g_ptr, m_ptr, v_ptr, n, t, lr, beta1, beta2, eps, decay, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    g = tl.load(g_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + offsets, mask=mask, other=0.0)
    v = tl.load(v_ptr + offsets, mask=mask, other=0.0)
    m += (1.0 - beta1) * (g - m)
    v += (1.0 - beta2) * (g * g - v)
    power1 = tl.where(beta1 > 0.0, tl.exp2(t * tl.log2(beta1)), 0.0)
    power2 = tl.exp2(t * tl.log2(beta2))
    root = tl.sqrt(1.0 - power2)
    update = root / (1.0 - power1) * m / (tl.sqrt(v) + eps * root)
    tl.store(w_ptr + offsets, (w - lr * (update + decay * w)).to(w_ptr.dtype.element_ty), mask=mask)
    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)


def adamw_step(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    if param.numel():
        grid = (triton.cdiv(param.numel(), 512),)
        numbers = (param.numel(), float(step), lr, beta1, beta2, eps, weight_decay)
        step_kernel[grid](param, grad.contiguous(), m, v, *numbers, BLOCK=512)
