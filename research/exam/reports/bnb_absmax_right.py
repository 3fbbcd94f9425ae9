# RIGHT: the store of the block maxima is masked
# after: bitsandbytes-foundation/bitsandbytes#2042
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def quantise_kernel(x_ptr, q_ptr, absmax_ptr, n, blocks, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    first = tl.program_id(0) * GROUP
    block = first + tl.arange(0, GROUP)
    cell = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + cell, mask=cell < n, other=0.0).to(tl.float32)
    largest = tl.where(tl.max((x != x).to(tl.int32), 1) > 0, float("nan"), tl.max(tl.abs(x), 1))  # `tl.max` drops NaN
    tl.store(q_ptr + cell, x / tl.where(largest == 0, 1.0, largest)[:, None], mask=cell < n)
    tl.store(absmax_ptr + block, largest, mask=block < blocks)


def quantise(x):
    x = x.contiguous()
    n = x.numel()
    blocks = triton.cdiv(n, 32)
    q = torch.empty_like(x)
    absmax = x.new_empty(blocks)
    if n:
        quantise_kernel[(triton.cdiv(blocks, 4),)](x, q, absmax, n, blocks, BLOCK=32, GROUP=4)
    return q, absmax


if __name__ == "__main__":
    q, absmax = quantise(torch.randn(32 * 6, device="cuda"))
    print(q.abs().max(), absmax.sum())
