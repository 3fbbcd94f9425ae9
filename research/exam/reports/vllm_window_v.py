# WRONG: values outside the window are loaded without its mask; pages that nobody wrote hold NaN, and 0 times NaN is NaN
# after: vllm-project/vllm#30887
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(q_ptr, k_ptr, v_ptr, table_ptr, out_ptr, length, window, D: tl.constexpr, PAGE: tl.constexpr):
    d = tl.arange(0, D)
    q = tl.load(q_ptr + d)
    best, total = float("-inf"), 0.0
    out = tl.zeros([D], tl.float32)
    for start in range(0, length, PAGE):
        t = start + tl.arange(0, PAGE)
        inside = (t < length) & (t >= length - window)
        page = tl.load(table_ptr + start // PAGE)
        place = (page * PAGE + tl.arange(0, PAGE))[:, None] * D + d[None, :]
        k = tl.load(k_ptr + place, mask=inside[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + place, mask=(t < length)[:, None], other=0.0)
        s = tl.where(inside, tl.sum(k * q[None, :], 1), -1e30)
        now = tl.maximum(best, tl.max(s, 0))
        p = tl.where(inside, tl.exp(s - now), 0.0)
        shrink = tl.exp(best - now)
        out = out * shrink + tl.sum(p[:, None] * v, 0)
        total = total * shrink + tl.sum(p, 0)
        best = now
    tl.store(out_ptr + d, out / total)


if __name__ == "__main__":
    length, window, page, width = 60, 20, 16, 32
    keys, values = torch.empty(6 * page, width, device="cuda"), torch.empty(6 * page, width, device="cuda")
    table = torch.tensor([5, 1, 3, 0], dtype=torch.int32, device="cuda")
    for t in range(length - window, length):  # pages that left the window were given back and hold anything
        row = int(table[t // page]) * page + t % page
        keys[row], values[row] = torch.randn(width, device="cuda"), torch.randn(width, device="cuda")
    out = torch.empty(width, device="cuda")
    decode_kernel[(1,)](torch.randn(width, device="cuda"), keys, values, table, out, length, window, D=width, PAGE=page)
    print(out.sum())
