"""An exercise whose answers write in place, the step of gradient descent with momentum: its record, and answers."""

import math

import torch
from graded_kernels.autograder import Case, Exercise, Tolerance

ROUNDED = 2.0**-22  # four roundings of float32, of the largest number in a sum


def step(param, grad, m, lr=0.1, beta=0.9):
    """The formula: m = beta m + grad, and then param - lr m."""
    m = beta * m + grad
    return param - lr * m, m


def floor(param, grad, m, lr=0.1, beta=0.9):
    """What float32 may lose in m and in param, where the two parts of a sum nearly cancel."""
    largest = beta * m.abs() + grad.abs()
    return ROUNDED * (param.abs() + lr * largest), ROUNDED * largest


def drawn(*shape, dtype=torch.float32, view=lambda t: t, **numbers):
    """A function that draws param, grad and m, each seen through ``view``, and gives these numbers behind them."""

    def inputs(generator):
        tensors = (view(torch.randn(shape, generator=generator).to(dtype)) for _ in range(3))
        return (*tensors, *numbers.values())

    return inputs


def every_second(t):
    return t[..., ::2]


def special(generator):
    values = torch.tensor([1.0, math.nan, 2.0, 3.0]), torch.tensor([1.0, 2.0, math.inf, 0.0])
    return (*values, torch.zeros(4))


sgd_step = Exercise(
    name="sgd_step",
    summary="m = beta m + grad; param = param - lr m, both in place",
    oracle=step,
    outputs=(),
    writes=("param", "m"),
    cases=(
        Case("ordinary values", drawn(1000), "Begin here."),
        Case("the same shape again", drawn(1000), "Keep nothing from call to call."),
        Case("several blocks", drawn(5, 1009), "5,045 elements, of which the last block has not all."),
        Case("other numbers", drawn(1000, lr=0.5, beta=0.0), "lr and beta are parameters."),
        Case("float16", drawn(1000, dtype=torch.float16), "Compute in float32."),
        Case("every second element", drawn(40, 50, view=every_second), "The stride of the last dimension is 2."),
        Case("transposed", drawn(40, 30, view=lambda t: t.T), "The stride of the first dimension is 1."),
        Case("no elements", drawn(0), "There is nothing to write."),
        Case("NaN and infinity", special, "NaN and infinity stay what they are."),
    ),
    tolerance=Tolerance(1, 8, "Two sums of two float32 numbers.", floor),
    hint="m first: param takes the new one.",
    least_bytes=lambda param, *rest: 5 * param.numel() * param.element_size(),
    traffic=1.1,
    most_bytes=lambda param, *rest: 12 * param.numel(),
)

TORCH = """
def sgd_step(param, grad, m, lr=0.1, beta=0.9):
    new = m.float() * beta + grad.float()
    param.copy_(param.float() - lr * new)
    m.copy_(new)
"""
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(P, G, M, n, columns, p0, p1, g0, g1, m0, m1, lr, beta, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    row, column = (offsets // columns).to(tl.int64), (offsets % columns).to(tl.int64)
    p_at, g_at, m_at = P + row * p0 + column * p1, G + row * g0 + column * g1, M + row * m0 + column * m1
    grad = tl.load(g_at, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(m_at, mask=inside, other=0.0).to(tl.float32)
    param = tl.load(p_at, mask=inside, other=0.0).to(tl.float32)
    m = beta * m + grad
    tl.store(m_at, m, mask=inside)
    tl.store(p_at, param - lr * m, mask=inside)


def sgd_step(param, grad, m, lr=0.1, beta=0.9):
    n = param.numel()
    if n:
        tensors = [t if t.dim() == 2 else t.unsqueeze(0) for t in (param, grad, m)]
        strides = [stride for t in tensors for stride in t.stride()]
        columns = tensors[0].shape[1]
        kernel[(triton.cdiv(n, 1024),)](*tensors, n, columns, *strides, lr, beta, BLOCK=1024)
"""
