# Wrong: divides the saved weights by their sum and forgets to multiply by scale (scale other than 1).
import torch
import triton
import triton.language as tl


@triton.jit
def _grad(dw_ptr, logits_ptr, experts_ptr, w_ptr, out_ptr, E, k, dw_t, dw_k, st, se, scale, K: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, K)
    e = tl.load(experts_ptr + t * k + j, mask=j < k, other=-1)
    there = e >= 0
    x = tl.load(logits_ptr + t * st + e * se, mask=there, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + t * k + j, mask=there, other=0.0)
    dw = tl.load(dw_ptr + t * dw_t + j * dw_k, mask=there, other=0.0).to(tl.float32)
    w = w / tl.sum(w, axis=0)
    inner = tl.sum(w * dw, axis=0)
    z = tl.exp(-tl.abs(x))
    tail = tl.where(x >= 0.0, z, 1.0) / (1.0 + z)
    dx = w * (dw - inner) * tail
    tl.store(out_ptr + t * E + e, dx.to(out_ptr.dtype.element_ty), mask=there)


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    (T, E), k = logits.shape, experts.shape[1]
    out = torch.zeros((T, E), dtype=logits.dtype, device=logits.device)
    if T and k:
        _grad[(T,)](
            dweights, logits, experts, weights, out, E, k, dweights.stride(0), dweights.stride(1),
            logits.stride(0), logits.stride(1), scale, K=triton.next_power_of_2(k),
        )
    return out
