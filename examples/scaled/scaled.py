"""A kernel of the kind that ships: one line per row, a block per program."""

import torch
import triton
import triton.language as tl


@triton.jit
def _scaled(x, scale, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * columns + i, mask=inside, other=0.0)
    factors = tl.load(scale + i, mask=inside, other=0.0)
    tl.store(y + row * columns + i, values * factors, mask=inside)


def scaled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x * scale`` for x of shape (M, N), scale of shape (N,), both contiguous."""
    y = torch.empty_like(x)
    rows, columns = x.shape
    _scaled[(rows,)](x, scale, y, columns, BLOCK=triton.next_power_of_2(columns))
    return y
