# Right: loops over the places one by one, twice: the largest log sigma with the running sum first, then the weights.
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
def _log_sigmoid(x):
    return tl.where(x < 0.0, x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def _sweeps(logits_ptr, experts_ptr, out_ptr, T, k, st, se, scale, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = t < T
    top = tl.full((BLOCK,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, k):
        e = tl.load(experts_ptr + t * k + j, mask=live, other=-1)
        ok = e >= 0
        x = tl.load(logits_ptr + t * st + e * se, mask=ok, other=0.0).to(tl.float32)
        ls = tl.where(ok, _log_sigmoid(x), -1.0e30)
        new = tl.where(ls > top, ls, top)
        total = total * tl.exp(top - new) + tl.where(ok, tl.exp(ls - new), 0.0)
        top = new
    for j in range(0, k):
        e = tl.load(experts_ptr + t * k + j, mask=live, other=-1)
        ok = e >= 0
        x = tl.load(logits_ptr + t * st + e * se, mask=ok, other=0.0).to(tl.float32)
        w = tl.exp(_log_sigmoid(x) - top) / total * scale
        tl.store(out_ptr + t * k + j, tl.where(ok, w, 0.0), mask=live)


def expert_weights_forward(logits, experts, scale=1.0):
    T, E = logits.shape
    k = experts.shape[1]
    _check(experts, E)
    out = torch.empty(T, k, dtype=torch.float32, device=logits.device)
    if T * k:
        _sweeps[(triton.cdiv(T, 64),)](logits, experts, out, T, k, logits.stride(0), logits.stride(1), scale, BLOCK=64)
    return out
