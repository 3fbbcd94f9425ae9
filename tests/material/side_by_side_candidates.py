"""Candidates for a softmax, as strangers write them. A comment above each says how it computes, or why it cannot be
compared (`test_compare_isolated.py`).
"""

import numpy
import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import _disable_current_modes


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def launched(x):
    assert x.is_cuda and x.is_contiguous(), "contiguous tensors on a GPU"
    y = torch.empty_like(x)
    if x.numel():
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


# computes: kernels
def kernel(x):
    return launched(x)


# computes: operators
def written_out(x):
    e = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


# computes: partly, aten.amax
def shifted_outside(x):
    return launched(x.float() - x.float().amax(-1, keepdim=True)).to(x.dtype)


# computes: no, aten._softmax
def called(x):
    return torch.softmax(x, -1)


# computes: no, aten._scaled_dot_product_flash_attention_for_cpu, which does more than one step
def by_attention(x):
    one = torch.eye(x.shape[-1], dtype=x.dtype)[None, None]
    return torch.nn.functional.scaled_dot_product_attention(x[None, None], one, one, scale=1.0)[0, 0]


# computes: no, it does not run without operators that do more than one step
def in_its_own_words(x):
    """What it says of the refusal names no operator."""
    try:
        return by_attention(x)
    except RuntimeError:
        raise ValueError("not today") from None


# computes: no, aten._softmax
class InAModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Softmax(-1)

    def forward(self, x):
        return self.inner(x)


# computes: no, aten._softmax
class InAFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.ops.aten._softmax(x, -1, False)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return y * (dy - (dy * y).sum(-1, keepdim=True))


# computes: no, aten._softmax
def beside_a_decoy(x):
    """Its kernel computes what is thrown away."""
    launched(x)
    return torch.softmax(x, -1)


# computes: no, aten._softmax
def through_a_copy(x):
    """Its kernel copies what PyTorch computed."""
    s = torch.softmax(x, -1)
    y = torch.empty_like(s)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](s, y, x.numel(), BLOCK=64)
    return y


# computes: no, aten._softmax
def behind_the_modes(x):
    """A dispatch mode does not see it."""
    launched(x)
    with _disable_current_modes():
        return torch.softmax(x, -1)


# computes: no, aten._softmax
def refusal_swallowed(x):
    """Where the operator is closed it raises another error."""
    try:
        return torch.softmax(x, -1)
    except Exception:
        raise ValueError("contiguous tensors, please") from None


# computes: operators, its kernels do not reach the result
def written_out_beside_a_decoy(x):
    launched(x)
    return written_out(x)


# computes: unknown, it is not shown that its kernels compute the result
def numpy_beside_a_decoy(x):
    launched(x)
    with _disable_current_modes():
        e = numpy.exp(x.cpu().numpy() - x.cpu().numpy().max(-1, keepdims=True))
        return torch.from_numpy(e / e.sum(-1, keepdims=True))


# refused: does not take the 1 arguments
def of_two(x, y):
    return x


# computes: unknown, it does not run on the example
def raising(x):
    raise ValueError("no")


# computes: unknown, it does not run on the example
def ending_its_process(x):
    import os

    os._exit(0)
