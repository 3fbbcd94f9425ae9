"""Layer norm in PyTorch, over the last axis of a matrix.

    x̂ = (x - mean) · rstd,   y = x̂ · weight + bias,   rstd = 1 / √(var + eps)
    dx = rstd · (g - mean(g) - x̂ · mean(g · x̂)),   g = dy · weight
    dweight = Σ_rows dy · x̂,   dbias = Σ_rows dy

x, y, dy, dx: (M, N)   weight, bias: (N,)   mean, rstd: (M,) float32. Ba et al. 2016, arXiv:1607.06450.
In float32 (float64 for float64 input), rounded once at the end. The mean is subtracted twice: the second time it is
what rounding left of it the first time, which at a mean of 1e5 standard deviations is most of the error.
"""

import torch


# %% layer_norm_forward
def layer_norm_forward(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(y, mean, rstd): y = (x - mean) · rstd · weight + bias for each row, in x's dtype; mean, rstd: (M,) float32.

    Strides: any for x; weight and bias are contiguous.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    mean = v.mean(-1, keepdim=True)
    d = v - mean
    rest = d.mean(-1, keepdim=True)  # the rounding error of the mean
    d = d - rest
    rstd = torch.rsqrt((d * d).mean(-1, keepdim=True) + eps)
    y = d * rstd * weight + bias
    return y.to(x.dtype), (mean + rest).squeeze(-1), rstd.squeeze(-1)


# %% layer_norm_backward
def layer_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(dx, dweight, dbias), in the dtypes of x, weight and weight; mean and rstd are layer_norm_forward's.

    Strides: any for dy and x; weight, mean and rstd are contiguous.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    dy, rstd = dy.to(wide), rstd.unsqueeze(-1)
    d = x.to(wide) - mean.unsqueeze(-1)
    normal = (d - d.mean(-1, keepdim=True)) * rstd  # x̂
    g = dy * weight
    dx = rstd * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return dx.to(x.dtype), (dy * normal).sum(0).to(weight.dtype), dy.sum(0).to(weight.dtype)


# %% layer_norm_witness
def layer_norm_witness() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(x, weight, bias) or (x, weight, bias, eps), finite, on which burn's output is off by more than 1 % of the
    largest element of the row, and a right one is not.
    At most 65,536 elements in all.
    """
    x = torch.tensor([[0.0, 1e-4, -1e-4, 2e-4], [3.0, -1.0, 2.0, 0.5]])  # the first row's variance is far below eps
    return x, torch.tensor([1.0, -0.5, 2.0, 0.75]), torch.tensor([0.1, 0.2, -0.3, 0.0])
