# RIGHT: 1 - beta is taken in the kernel, of a float32 scalar, as kernels of optimisers do
# after: bitsandbytes-foundation/bitsandbytes#2001 (its repaired kernel)
# run: compare --arguments arguments
import torch
import triton
import triton.language as tl


@triton.jit
def moment_kernel(g_ptr, m_ptr, out_ptr, n, beta, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + i, beta * m + (1 - beta) * g, mask=i < n)


def moment(g, m, beta=0.99):
    g, m = g.contiguous(), m.contiguous()
    out = torch.empty_like(g)
    if g.numel():
        moment_kernel[(triton.cdiv(g.numel(), 256),)](g, m, out, g.numel(), beta, BLOCK=256)
    return out


if __name__ == "__main__":
    print(moment(torch.randn(300, device="cuda"), torch.randn(300, device="cuda")).sum())
