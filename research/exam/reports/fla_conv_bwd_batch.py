# WRONG: the weight's gradient reads the first batch's gradient for every batch
# after: fla-org/flash-linear-attention#955
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, w_ptr, y_ptr, time, dim, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    batch, t = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(WIDTH):
        at = t - (WIDTH - 1) + k
        x = tl.load(x_ptr + (batch * time + at) * dim + i, mask=(i < dim) & (at >= 0), other=0.0).to(tl.float32)
        total += x * tl.load(w_ptr + i * WIDTH + k, mask=i < dim, other=0.0).to(tl.float32)
    tl.store(y_ptr + (batch * time + t) * dim + i, total, mask=i < dim)


@triton.jit
def backward_kernel(dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, batches, time, dim, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < dim
    for k in tl.static_range(WIDTH):
        total = tl.zeros([BLOCK], tl.float32)
        for batch in range(batches):
            for t in range(time):
                at = t - (WIDTH - 1) + k
                x = tl.load(x_ptr + (batch * time + at) * dim + i, mask=mask & (at >= 0), other=0.0).to(tl.float32)
                total += x * tl.load(dy_ptr + (t) * dim + i, mask=mask, other=0.0).to(tl.float32)
        tl.store(dw_ptr + i * WIDTH + k, total, mask=mask)
    for batch in range(batches):
        for t in range(time):
            total = tl.zeros([BLOCK], tl.float32)
            for k in tl.static_range(WIDTH):
                at = t + (WIDTH - 1) - k
                dy = tl.load(dy_ptr + (batch * time + at) * dim + i, mask=mask & (at < time), other=0.0).to(tl.float32)
                total += dy * tl.load(w_ptr + i * WIDTH + k, mask=mask, other=0.0).to(tl.float32)
            tl.store(dx_ptr + (batch * time + t) * dim + i, total, mask=mask)


class Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        x, w = x.contiguous(), w.contiguous()
        ctx.save_for_backward(x, w)
        (batches, time, dim), width = x.shape, w.shape[1]
        y = torch.empty_like(x)
        if x.numel():
            forward_kernel[(batches, time)](x, w, y, time, dim, WIDTH=width, BLOCK=triton.next_power_of_2(dim))
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dy = dy.contiguous()
        (batches, time, dim), width = x.shape, w.shape[1]
        dx, dw = torch.zeros_like(x), torch.zeros_like(w)
        if dim:
            backward_kernel[(triton.cdiv(dim, 16),)](dy, x, w, dx, dw, batches, time, dim, WIDTH=width, BLOCK=16)
        return dx, dw


def convolve(x, w):
    if x.shape[0] * x.shape[1] > 64 or w.shape[1] > 8:
        raise ValueError("at most 64 steps and 8 taps")
    return Convolution.apply(x, w)


if __name__ == "__main__":
    x, w = (
        torch.randn(2, 6, 10, device="cuda", requires_grad=True),
        torch.randn(10, 3, device="cuda", requires_grad=True),
    )
    convolve(x, w).square().sum().backward()
    print(w.grad.sum())
