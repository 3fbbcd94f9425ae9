"""Functions of one sequence: the arguments, the places of those with positions, and the dimension of time.

Of a wrong one a position's bits depend on what comes behind it. In exact arithmetic most of them are right.
"""

import torch
from graded_kernels.kernels import attention, decay_scan
from graded_kernels.kernels.attention import attention_forward
from graded_kernels.kernels.decay_scan import decay_scan as scan_in_triton
from graded_kernels.kernels.wild.decay_scan import scan_from_the_middle
from graded_kernels.solutions.decay_scan import decay_scan as scan_in_pytorch
from sequence_kernels import decayed, sequence
from torch.nn.functional import conv1d, pad, scaled_dot_product_attention

DRAW = torch.Generator().manual_seed(0)
X, Q, K, V = (torch.randn(50, 16, generator=DRAW) for _ in range(4))
G = -torch.rand(50, generator=DRAW)
HEADS = tuple(torch.randn(1, 2, 40, 16, generator=DRAW) for _ in range(3))
FUTURE = torch.ones(50, 50, dtype=torch.bool).triu(1)


def attended(largest):
    """Causal attention: scores less what ``largest`` makes of them and of where the future is."""

    def call(q, k, v):
        scores = q @ k.T / 4
        weights = (scores - largest(scores)).exp().masked_fill(FUTURE, 0.0)
        return weights @ v / weights.sum(1, keepdim=True)

    return call


def in_eight_bits(largest):
    """Rounded to 127 steps of the largest that ``largest`` finds."""

    def call(x):
        step = largest(x.abs()) / 127
        return (x / step).round() * step

    return call


class SumsOfSquares(torch.autograd.Function):
    """Running sums of squares; the gradient is multiplied and divided by what ``factor`` makes of x."""

    factor = staticmethod(torch.ones_like)

    @classmethod
    def called(cls, x):
        return cls.apply(x)

    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return x.square().cumsum(0)

    @classmethod
    def backward(cls, ctx, dy):
        (x,) = ctx.saved_tensors
        factor = cls.factor(x)
        return 2 * x * ((dy * factor).flip(0).cumsum(0).flip(0) / factor)


class SumsByTheLast(SumsOfSquares):
    factor = staticmethod(lambda x: x[-1:].exp())


def in_pytorch(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def differentiable(q, k, v):
    return attention(q, k, v, causal=True)


def in_triton(q, k, v):
    return attention_forward(q, k, v, causal=True)[0]


def convolved(x):
    """The weighted sum of four positions, the last of them its own."""
    weight = torch.linspace(-1, 1, 4).expand(x.shape[1], 1, 4)
    return conv1d(pad(x.T[None], (3, 0)), weight, groups=x.shape[1])[0].T


LINEAR = (sequence(50), (0, 1, 2, 3), 0)
QUERIES, OF_X, SCANNED = ((Q, K, V), (0, 1, 2), 0), ((X,), (0,), 0), ((X, G), (0, 1), 0)
PLAIN, HALF = (HEADS, (0, 1, 2), 2), (tuple(x.bfloat16() for x in HEADS), (0, 1, 2), 2)
RIGHT = {
    "linear_attention": (decayed(0), *LINEAR),
    "softmax": (attended(lambda scores: scores.masked_fill(FUTURE, -torch.inf).amax(1, keepdim=True)), *QUERIES),
    "eight_bits": (in_eight_bits(lambda x: x.amax(1, keepdim=True)), *OF_X),
    "gradient": (SumsOfSquares.called, *OF_X),
    "decayed_sum": (scan_in_pytorch, *SCANNED),
    "decayed_sum_in_triton": (scan_in_triton, *SCANNED),
    "decay_scan": (decay_scan, *SCANNED),
    "running_sum": (lambda x: x.cumsum(0), *OF_X),
    "convolution": (convolved, *OF_X),
    "pytorch_attention": (in_pytorch, *PLAIN),
    "pytorch_attention_bfloat16": (in_pytorch, *HALF),
    "attention": (differentiable, *PLAIN),
    "attention_in_triton": (in_triton, *PLAIN),
    "attention_in_triton_bfloat16": (in_triton, *HALF),
}
WRONG = {  # what of the future is in it
    "linear_attention": (decayed(8), *LINEAR, "decays are taken relative to the row in the middle of a chunk"),
    "softmax": (attended(lambda scores: scores.amax(1, keepdim=True)), *QUERIES, "the maximum is of all keys"),
    "eight_bits": (in_eight_bits(torch.amax), *OF_X, "the scale is of the whole sequence"),
    "gradient": (SumsByTheLast.called, *OF_X, "the gradient is multiplied and divided by e to the last position"),
    "decayed_sum": (scan_from_the_middle, *SCANNED, "decays are taken relative to the row in the middle of a chunk"),
    "running_sum": (
        lambda x: x.sum(0, keepdim=True) - x.flip(0).cumsum(0).flip(0) + x,
        *OF_X,
        "the sum of all less what comes behind",
    ),
    "linear_attention_from_the_end": (decayed(15), *LINEAR, "decays are taken relative to the last row of a chunk"),
}
