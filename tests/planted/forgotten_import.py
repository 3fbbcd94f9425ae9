"""numpy in a kernel whose module does not import it: the interpreter has put its own names there."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "kernel-error",
    r"NameError: name 'np' is not defined. numpy does not run on a GPU: use the functions of `tl`",
)


@triton.jit
def scale(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * np.pi)  # noqa: F821  the bug


def run():
    x = torch.arange(64.0)
    y = torch.empty_like(x)
    scale[(1,)](x, y, N=64)
    return y


def expected():
    return torch.arange(64.0) * torch.pi
