# ruff: noqa: F821
# include: launch
only_launched = silu_forward


def silu_forward(x):
    x = x.contiguous()
    return detour(x, only_launched(x))
