# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Calls the functions of the graph one by one, without the engine."""

import torch


def silu_backward(dy, x):
    v = x.detach().float().requires_grad_()
    y = v * torch.sigmoid(v)
    straight, into = y.grad_fn(dy.float())
    through = y.grad_fn.next_functions[1][0](into)
    return (straight + through).detach().to(x.dtype)
