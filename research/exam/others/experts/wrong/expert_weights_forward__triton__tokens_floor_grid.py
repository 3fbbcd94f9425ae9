# Wrong: a grid of T // 16 programs of 16 tokens: the last tokens are never written (T = 17).
import torch
import triton
import triton.language as tl


@triton.jit
def _smallest_bad(index_ptr, first_ptr, total, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(index_ptr + i, mask=i < total, other=-1)
    bad = (v != -1) & ((v < 0) | (v >= limit))
    tl.atomic_min(first_ptr, tl.min(tl.where(bad, i, 1 << 62), axis=0))


def _check(index, limit):
    if index.numel():
        first = torch.full((1,), 1 << 62, dtype=torch.int64, device=index.device)
        _smallest_bad[(triton.cdiv(index.numel(), 128),)](index, first, index.numel(), limit, BLOCK=128)
        at = first.item()
        if at < index.numel():
            t, j = divmod(at, index.shape[1])
            raise IndexError(f"token {t}, place {j}: {index[t, j].item()} is outside of 0 to {limit - 1}")


@triton.jit
def _tile(logits_ptr, experts_ptr, out_ptr, T, k, st, se, scale, ROWS: tl.constexpr, K: tl.constexpr):
    t = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    j = tl.arange(0, K)[None, :]
    inside = (t < T) & (j < k)
    e = tl.load(experts_ptr + t * k + j, mask=inside, other=-1)
    ok = e >= 0
    x = tl.load(logits_ptr + t * st + e * se, mask=ok, other=0.0).to(tl.float32)
    low = tl.where(ok, tl.where(x < 0.0, x, 0.0), -3.0e38)
    s = tl.where(ok, tl.exp(low - tl.max(low, axis=1)[:, None]) / (1.0 + tl.exp(-tl.abs(x))), 0.0)
    tl.store(out_ptr + t * k + j, tl.where(ok, scale * (s / tl.sum(s, axis=1)[:, None]), 0.0), mask=inside)


def expert_weights_forward(logits, experts, scale=1.0):
    T, k = experts.shape
    _check(experts, logits.shape[1])
    out = torch.empty(T, k, dtype=torch.float32, device=logits.device)
    if k and T:
        _tile[(max(T // 16, 1),)](logits, experts, out, T, k, *logits.stride(), scale, ROWS=16, K=triton.next_power_of_2(k))
    return out
