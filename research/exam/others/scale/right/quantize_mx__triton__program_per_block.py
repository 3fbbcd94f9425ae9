# Right: one block a program; a candidate exponent is raised while 448 * 2^e is too small.
import torch
import triton
import triton.language as tl


@triton.jit
def _one(x_ptr, q_ptr, e_ptr, N, sm, sn):
    row = tl.program_id(0).to(tl.int64)
    g = tl.program_id(1).to(tl.int64)
    cols = g * 32 + tl.arange(0, 32)
    x = tl.load(x_ptr + row * sm + cols * sn).to(tl.float32)
    size = tl.abs(x)
    nan = tl.sum((x != x).to(tl.int32), axis=0) > 0
    top = tl.max(tl.where(x != x, 0.0, size), axis=0).to(tl.float64)
    biased = tl.max(((size.to(tl.int32, bitcast=True) >> 23) & 255) * (x == x).to(tl.int32), axis=0) - 9
    biased = tl.where(biased < 0, 0, biased)
    # 2^(biased - 127) in float64, by its bits
    for _ in range(0, 2):
        power = ((biased - 127 + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
        biased = tl.where(top > 448.0 * power, biased + 1, biased)
    power = ((biased - 127 + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    q = (x.to(tl.float64) / power).to(tl.float32)
    tl.store(q_ptr + row * N + cols, q.to(tl.float8e4nv))
    tl.store(e_ptr + row * (N // 32) + g, tl.where(nan, 255, biased).to(tl.uint8))


def quantize_mx(x):
    M, N = x.shape
    q = torch.zeros(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    e = torch.zeros(M, N // 32, dtype=torch.uint8, device=x.device)
    if M * N:
        _one[(M, N // 32)](x, q, e, N, *x.stride())
    return q, e
