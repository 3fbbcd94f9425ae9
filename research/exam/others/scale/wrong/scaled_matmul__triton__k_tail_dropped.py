# Wrong: K // 128 tiles of 128: what is left of K is not added (K = 160).
import torch
import triton
import triton.language as tl


@triton.jit
def _product(
    a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M, N, K, size, am, ak, sam, sag, bk, bn, sbg, sbn,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
):
    m = (tl.program_id(0) * TM + tl.arange(0, TM)).to(tl.int64)
    n = (tl.program_id(1) * TN + tl.arange(0, TN)).to(tl.int64)
    acc = tl.zeros((TM, TN), tl.float32)
    for tile in range(0, K // TK):
        k = (tile * TK + tl.arange(0, TK)).to(tl.int64)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m < M)[:, None], other=0).to(tl.float32)
        a *= tl.load(sa_ptr + m[:, None] * sam + (k // size)[None, :] * sag, mask=(m < M)[:, None], other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(n < N)[None, :], other=0).to(tl.float32)
        b *= tl.load(sb_ptr + (k // size)[:, None] * sbg + n[None, :] * sbn, mask=(n < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def scaled_matmul(a, a_scale, b, b_scale):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=torch.float32, device=a.device)
    if M:
        _product[(triton.cdiv(M, 16), triton.cdiv(N, 32))](
            a, a_scale, b, b_scale, c, M, N, K, K // a_scale.shape[1], *a.stride(), *a_scale.stride(), *b.stride(),
            *b_scale.stride(), TM=16, TN=32, TK=128 if K > 64 else 32,
        )
    return c
