# Wrong: the expert is narrowed to int32 in the kernel and checked there, so that 2^32 passes for 0; the flag is one for all tokens.
import torch
import triton
import triton.language as tl


@triton.jit
def _weights(logits_ptr, experts_ptr, out_ptr, bad_ptr, T, E, k, st, se, scale, K: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, K)
    expert = tl.load(experts_ptr + t * k + j, mask=j < k, other=-1).to(tl.int32)
    there = (expert >= 0) & (expert < E)
    bad = (expert < -1) | (expert >= E)
    tl.atomic_min(bad_ptr, tl.min(tl.where(bad, t * k + j, T * k)))
    x = tl.load(logits_ptr + t * st + expert.to(tl.int64) * se, mask=there, other=0.0).to(tl.float32)
    low = tl.where(there, tl.where(x < 0.0, x, 0.0), -1e38)
    s = tl.where(there, tl.exp(low - tl.max(low)) / (1.0 + tl.exp(-tl.abs(x))), 0.0)
    tl.store(out_ptr + t * k + j, tl.where(there, s / tl.sum(s) * scale, 0.0), mask=j < k)


def expert_weights_forward(logits, experts, scale=1.0):
    (T, E), k = logits.shape, experts.shape[1]
    out = torch.empty(T, k, dtype=torch.float32, device=logits.device)
    if out.numel() == 0:
        return out
    bad = torch.full((1,), T * k, dtype=torch.int64, device=logits.device)
    _weights[(T,)](logits, experts, out, bad, T, E, k, *logits.stride(), scale, K=triton.next_power_of_2(k))
    first = int(bad)
    if first < T * k:
        raise IndexError(f"token {first // k}: expert {int(experts[first // k, first % k])} of {E}")
    return out
