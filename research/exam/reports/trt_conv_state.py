# WRONG: a tile of the state is overwritten by other lanes than those that have read it, with no barrier between
# after: NVIDIA/TensorRT-LLM#17522
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def step_kernel(x_ptr, w_ptr, state_ptr, y_ptr, dim, WIDTH: tl.constexpr, KEPT: tl.constexpr, BLOCK: tl.constexpr):
    """One token of a causal convolution; state has the last WIDTH - 1 tokens, newest last."""
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = i < dim
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(WIDTH - 1):
        past = tl.load(state_ptr + (row * dim + i) * (WIDTH - 1) + k, mask=mask, other=0.0)
        total += past * tl.load(w_ptr + i * WIDTH + k, mask=mask, other=0.0)
    x = tl.load(x_ptr + row * dim + i, mask=mask, other=0.0)
    total += x * tl.load(w_ptr + i * WIDTH + WIDTH - 1, mask=mask, other=0.0)
    t = tl.arange(0, KEPT)
    place = state_ptr + (row * dim + i)[None, :] * (WIDTH - 1) + t[:, None]
    older = tl.load(place + 1, mask=(t[:, None] < WIDTH - 2) & mask[None, :], other=0.0)
    new = tl.where(t[:, None] == WIDTH - 2, x[None, :], older)
    tl.store(place, new, mask=(t[:, None] < WIDTH - 1) & mask[None, :])
    tl.store(y_ptr + row * dim + i, total, mask=mask)


def step(x, w, state):
    y = torch.empty_like(x)
    rows, dim = x.shape
    step_kernel[(rows, triton.cdiv(dim, 64))](x, w, state, y, dim, WIDTH=4, KEPT=4, BLOCK=64)
    return y


if __name__ == "__main__":
    x, w, state = (torch.randn(*s, device="cuda") for s in ((3, 80), (80, 4), (3, 80, 3)))
    want = (torch.cat([state, x[:, :, None]], 2) * w).sum(2)
    y = step(x, w, state)
    torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-4)
