# Right: both factors are dequantised in the tile and multiplied in float32 without TF32.
import torch
import triton
import triton.language as tl


@triton.jit
def _dequantised(
    a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M, N, K, size, am, ak, sam, sag, bk, bn, sbg, sbn,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
):
    m = (tl.program_id(1) * TM + tl.arange(0, TM)).to(tl.int64)[:, None]
    n = (tl.program_id(0) * TN + tl.arange(0, TN)).to(tl.int64)[None, :]
    acc = tl.zeros((TM, TN), tl.float32)
    for start in range(0, K, TK):
        k = (start + tl.arange(0, TK)).to(tl.int64)
        kc, kr = k[None, :], k[:, None]
        left = (m < M) & (kc < K)
        right = (kr < K) & (n < N)
        a = tl.load(a_ptr + m * am + kc * ak, mask=left, other=0).to(tl.float32)
        a *= tl.load(sa_ptr + m * sam + kc // size * sag, mask=left, other=0.0)
        b = tl.load(b_ptr + kr * bk + n * bn, mask=right, other=0).to(tl.float32)
        b *= tl.load(sb_ptr + kr // size * sbg + n * sbn, mask=right, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m * N + n, acc, mask=(m < M) & (n < N))


def scaled_matmul(a, a_scale, b, b_scale):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32, device=a.device)
    if M > 0:
        _dequantised[(triton.cdiv(N, 64), triton.cdiv(M, 16))](
            a, a_scale, b, b_scale, c, M, N, K, K // a_scale.shape[1], *a.stride(), *a_scale.stride(), *b.stride(),
            *b_scale.stride(), TM=16, TN=64, TK=64,
        )
    return c
