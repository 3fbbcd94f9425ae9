# WRONG: the last tap is left out
# after: fla-org/flash-linear-attention#955 (the form of its reference)
# run: compare --arguments arguments
import torch
import triton
import triton.language as tl


@triton.jit
def taps_kernel(x_ptr, w_ptr, y_ptr, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(WIDTH - 1):
        total += x * tl.load(w_ptr + k).to(tl.float32)
    tl.store(y_ptr + i, total, mask=i < n)


def taps(x, w):
    x, w = x.contiguous(), w.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        taps_kernel[(triton.cdiv(x.numel(), 64),)](x, w, y, x.numel(), WIDTH=w.numel(), BLOCK=64)
    return y


if __name__ == "__main__":
    print(taps(torch.randn(100, device="cuda"), torch.randn(3, device="cuda")).sum())
