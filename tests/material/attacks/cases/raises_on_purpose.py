# exercise: row_sum
# backend: triton
# expect: less
# case: no rows
"""An accident where there are no rows, of which the answer's own process says that a `raise` of its own did it."""

import sys

import torch
import triton
import triton.language as tl


def on_purpose(report):
    return lambda outcome: (
        (told := report(outcome)) | {"trouble": told["trouble"] and told["trouble"] | {"on_purpose": True}}
    )


for name, module in [*sys.modules.items()]:
    if name.endswith("worker.child"):
        module._report = on_purpose(module._report)


@triton.jit
def kernel(x_ptr, y_ptr, N, down, along, BLOCK: tl.constexpr):
    row, total = tl.program_id(0).to(tl.int64), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * down + c * along, mask=c < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(total, 0).to(y_ptr.dtype.element_ty))


def row_sum(x):
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    many = x.numel() // len(y)
    kernel[(len(y),)](x, y, many, x.stride(0), x.stride(1), BLOCK=1024)
    return y
