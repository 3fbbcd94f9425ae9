"""Two ways to get a `torch.autograd.Function` wrong that nobody is known to have shipped."""

import torch


class _WithoutUpstream(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return s * (1 + x * (1 - s))


class _OfTheResult(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors  # which is y
        s = torch.sigmoid(x)
        return dy * s * (1 + x * (1 - s))


def without_upstream(x):
    """Backward returns the slope alone, as if what arrives from above were 1."""
    return _WithoutUpstream.apply(x)


def slope_at_the_result(x):
    """y was saved and not x: backward takes the slope at y."""
    return _OfTheResult.apply(x)
