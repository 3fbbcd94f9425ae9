# WRONG: NaN compares as false, so argmax passes over it where PyTorch names it
# after: triton-lang/triton#9022
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=float("-inf"))
    best = tl.min(tl.where((x == tl.max(x, 0)) & (i < n), i, n), 0)
    tl.store(out_ptr + row, best.to(tl.int64))


def argmax(x):
    x = x.contiguous()
    rows, n = x.shape
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    if rows:
        argmax_kernel[(rows,)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


if __name__ == "__main__":
    print(argmax(torch.randn(5, 28, device="cuda")).sum())
