"""row * stride in 32 bits: rows 2^30 elements apart wrap around at the third."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"loads x_ptr out of bounds in program \(2, 0, 0\).*wrapped around at 2\^31.*2,147,483,648 does not fit",
)


@triton.jit
def copy_rows(x_ptr, y_ptr, stride, N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + row * stride + columns)
    tl.store(y_ptr + row * N + columns, x)


def run():
    # Nobody touches the pages between the rows: this tensor costs three pages, not 2 GB.
    x = torch.empty(2**31 + 16, dtype=torch.int8).as_strided((3, 16), (2**30, 1))
    x.copy_(torch.arange(48, dtype=torch.int8).reshape(3, 16))
    y = torch.empty(3, 16, dtype=torch.int8)
    copy_rows[(3,)](x, y, x.stride(0), N=16)
    return y


def expected():
    return torch.arange(48, dtype=torch.int8).reshape(3, 16)
