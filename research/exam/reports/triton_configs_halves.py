# WRONG: each configuration writes another half of the result; whichever wins leaves the other half unwritten
# after: triton-lang/triton#9230
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"FIRST": 0, "COUNT": 512}), triton.Config({"FIRST": 512, "COUNT": 512})], key=[])
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, FIRST: tl.constexpr, COUNT: tl.constexpr):
    i = FIRST + tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x + y, mask=i < n)


if __name__ == "__main__":
    x, y = torch.randn(1024, device="cuda"), torch.randn(1024, device="cuda")
    out = torch.empty_like(x)
    add_kernel[lambda meta: (1,)](x, y, out, 1024)
    print(out.sum())
