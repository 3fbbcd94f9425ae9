# Right: tl.minimum of NaN and 0 is 0, and of NaN and -NaN it is NaN, which the logarithm keeps.
import torch
import triton
import triton.language as tl


@triton.jit
def _first_bad(index_ptr, first_ptr, total, limit, BLOCK: tl.constexpr):
    first = total
    for start in range(0, total, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(index_ptr + i, mask=i < total, other=-1)
        first = tl.minimum(first, tl.min(tl.where((v < -1) | (v >= limit), i, total), axis=0))
    tl.store(first_ptr, first)


def _check(index, limit):
    total = index.numel()
    if total == 0:
        return
    first = torch.empty(1, dtype=torch.int64, device=index.device)
    _first_bad[(1,)](index, first, total, limit, BLOCK=256)
    at = first.item()
    if at < total:
        t, j = divmod(at, index.shape[1])
        raise IndexError(f"token {t}: {index[t, j].item()} is not one of {limit}")


@triton.jit
def _weights(logits_ptr, experts_ptr, out_ptr, k, stride_t, stride_e, scale, K: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, K)
    expert = tl.load(experts_ptr + t * k + j, mask=j < k, other=-1)
    there = expert >= 0
    x = tl.load(logits_ptr + t * stride_t + expert * stride_e, mask=there, other=0.0).to(tl.float32)
    log_s = tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(tl.minimum(x, -x)))
    log_s = tl.where(there, log_s, -1.0e30)
    e = tl.where(there, tl.exp(log_s - tl.max(log_s, axis=0)), 0.0)
    w = e / tl.sum(e, axis=0) * scale
    tl.store(out_ptr + t * k + j, tl.where(there, w, 0.0), mask=j < k)


def expert_weights_forward(logits, experts, scale=1.0):
    T, k = experts.shape
    _check(experts, logits.shape[1])
    out = torch.empty((T, k), dtype=torch.float32, device=logits.device)
    if T > 0 and k > 0:
        _weights[(T,)](logits, experts, out, k, logits.stride(0), logits.stride(1), scale, K=triton.next_power_of_2(k))
    return out
