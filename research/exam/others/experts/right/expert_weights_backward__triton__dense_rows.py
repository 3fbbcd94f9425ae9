# Right: a program writes a whole row of dlogits: each expert is compared with the k chosen, so nothing has to be zeroed first.
import torch
import triton
import triton.language as tl


@triton.jit
def _dense(dw_ptr, logits_ptr, experts_ptr, w_ptr, out_ptr, E, k, dw_t, dw_k, st, se, scale, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    inner = 0.0
    for j in range(0, k):
        e = tl.load(experts_ptr + t * k + j)
        if e != -1:
            inner += tl.load(w_ptr + t * k + j) * tl.load(dw_ptr + t * dw_t + j * dw_k).to(tl.float32)
    inner = inner / scale
    for start in range(0, E, BLOCK):
        cols = (start + tl.arange(0, BLOCK)).to(tl.int64)
        slope = tl.zeros((BLOCK,), tl.float32)
        hit = tl.zeros((BLOCK,), tl.int32) > 0
        for j in range(0, k):
            e = tl.load(experts_ptr + t * k + j)
            w = tl.load(w_ptr + t * k + j)
            dw = tl.load(dw_ptr + t * dw_t + j * dw_k).to(tl.float32)
            slope = tl.where(cols == e, w * (dw - inner), slope)
            hit = hit | (cols == e)
        x = tl.load(logits_ptr + t * st + cols * se, mask=cols < E, other=0.0).to(tl.float32)
        dx = slope / (1.0 + tl.exp(x))
        tl.store(out_ptr + t * E + cols, tl.where(hit, dx, 0.0).to(out_ptr.dtype.element_ty), mask=cols < E)


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    (T, E), k = logits.shape, experts.shape[1]
    out = torch.empty((T, E), dtype=logits.dtype, device=logits.device)
    if T:
        _dense[(T,)](
            dweights, logits, experts, weights, out, E, k, *dweights.stride(), *logits.stride(), scale, BLOCK=64,
        )
    return out
