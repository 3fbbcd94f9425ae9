# WRONG: a state that is longer than the taps is read from its front, not from its end
# after: sgl-project/sglang#38622
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def tail_kernel(x_ptr, w_ptr, state_ptr, y_ptr, dim, kept, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < dim
    total = tl.load(x_ptr + row * dim + i, mask=mask, other=0.0).to(tl.float32) * tl.load(
        w_ptr + i * WIDTH + WIDTH - 1, mask=mask, other=0.0
    ).to(tl.float32)
    for k in tl.static_range(WIDTH - 1):
        past = tl.load(state_ptr + (row * dim + i) * kept + k, mask=mask, other=0.0)
        total += past.to(tl.float32) * tl.load(w_ptr + i * WIDTH + k, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * dim + i, total, mask=mask)


def step(x, w, state):
    x, w, state = x.contiguous(), w.contiguous(), state.contiguous()
    y = torch.empty_like(x)
    rows, dim = x.shape
    if x.numel():
        tail_kernel[(rows,)](x, w, state, y, dim, state.shape[2], WIDTH=w.shape[1], BLOCK=triton.next_power_of_2(dim))
    return y


if __name__ == "__main__":
    print(step(*(torch.randn(*s, device="cuda") for s in ((3, 20), (20, 4), (3, 20, 5)))).sum())
