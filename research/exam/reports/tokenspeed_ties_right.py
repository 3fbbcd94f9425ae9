# RIGHT: the chosen rank is looked up by its id
# after: lightseekorg/tokenspeed#280
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def pick_kernel(x_ptr, rank_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The id of the rank-th largest logit of a row, NaN before all; of equal logits the smaller id comes first."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    nan = x != x
    larger = (x[None, :] > x[:, None]) | (nan[None, :] & ~nan[:, None])
    equal = (x[None, :] == x[:, None]) | (nan[None, :] & nan[:, None])
    before = larger | (equal & (i[None, :] < i[:, None]))
    rank = tl.sum(before.to(tl.int32), 1)
    chosen = (rank == tl.load(rank_ptr + row)) & (i < n)
    tl.store(out_ptr + row, tl.min(tl.where(chosen, i, n), 0).to(tl.int64))


def pick(x, rank):
    x = x.contiguous()
    rows, n = x.shape
    if n > 512:
        raise ValueError("at most 512 logits")
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    if x.numel():
        pick_kernel[(rows,)](x, rank.contiguous(), out, n, BLOCK=triton.next_power_of_2(n))
    return out


if __name__ == "__main__":
    print(pick(torch.randn(4, 20, device="cuda"), torch.tensor([0, 3, 1, 2], device="cuda")))
