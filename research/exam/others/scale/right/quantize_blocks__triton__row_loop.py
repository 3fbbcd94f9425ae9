# Right: a program per row walks over its blocks; NaN by the sum of 0 * x.
import torch
import triton
import triton.language as tl


@triton.jit
def _rows(x_ptr, q_ptr, s_ptr, N, G, sm, sn, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for g in range(0, G):
        cols = (g * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
        live = cols < N
        x = tl.load(x_ptr + row * sm + cols * sn, mask=live, other=0.0).to(tl.float32)
        top = tl.max(tl.abs(x), axis=0) + tl.sum(x * 0.0, axis=0)
        scale = top / 448.0
        ratio = tl.where(scale == 0.0, 0.0, x / scale)
        ratio = tl.where(tl.abs(ratio) > 448.0, tl.where(ratio > 0.0, 448.0, -448.0), ratio)
        tl.store(q_ptr + row * N + cols, ratio.to(tl.float8e4nv), mask=live)
        tl.store(s_ptr + row * G + g, scale)


def quantize_blocks(x, block=128):
    M, N = x.shape
    G = (N + block - 1) // block
    q = torch.zeros(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    s = torch.zeros(M, G, dtype=torch.float32, device=x.device)
    if M > 0:
        _rows[(M,)](x, q, s, N, G, *x.stride(), BLOCK=block)
    return q, s
