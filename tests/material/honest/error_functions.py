# exercise: gelu_backward
# backend: torch
"""Uses erf, erfc and the exponential, each where it is exact."""

import math

import torch


def gelu_backward(dy, x, approximate="none"):
    v = x.double()
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        u = c * (v + 0.044715 * v**3)
        share = torch.sigmoid(2 * u)
        slope = share + v * 2 * c * (1 + 3 * 0.044715 * v * v) * share * torch.sigmoid(-2 * u)
    else:
        share = torch.where(v < 0, torch.special.erfc(-v / math.sqrt(2)) / 2, (1 + torch.erf(v / math.sqrt(2))) / 2)
        slope = torch.addcmul(share, v, torch.exp(-v.square() / 2) / math.sqrt(2 * math.pi))
    return (dy.double() * slope).to(x.dtype)
