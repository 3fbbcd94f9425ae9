# WRONG: a tile of k spans two groups of scales and takes the first one's for both
# after: sgl-project/sglang#39626
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, sa_ptr, c_ptr, m, n, k, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    groups = tl.cdiv(k, GROUP)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        scale = tl.load(sa_ptr + rows * groups + start // GROUP, mask=rows < m, other=0.0)
        total += tl.dot(a, b, input_precision="ieee") * scale[:, None]
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


def product(a, b, scales):
    a, b, scales = a.contiguous(), b.contiguous(), scales.contiguous()
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, dtype=torch.float32, device=a.device)
    if c.numel():
        product_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](
            a, b, scales, c, m, n, k, GROUP=32, BM=16, BN=16, BK=64
        )
    return c


if __name__ == "__main__":
    a, b, s = torch.randn(8, 128, device="cuda"), torch.randn(128, 24, device="cuda"), torch.rand(8, 4, device="cuda")
    print(product(a, b, s).sum())
