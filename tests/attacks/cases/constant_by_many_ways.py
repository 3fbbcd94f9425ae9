# exercise: silu_forward
# backend: triton
# expect: full
"""A constant that is reached by a million million ways."""

import torch
import triton
import triton.language as tl

A0 = 0.0
A1 = A0 + A0
A2 = A1 + A1
A3 = A2 + A2
A4 = A3 + A3
A5 = A4 + A4
A6 = A5 + A5
A7 = A6 + A6
A8 = A7 + A7
A9 = A8 + A8
A10 = A9 + A9
A11 = A10 + A10
A12 = A11 + A11
A13 = A12 + A12
A14 = A13 + A13
A15 = A14 + A14
A16 = A15 + A15
A17 = A16 + A16
A18 = A17 + A17
A19 = A18 + A18
A20 = A19 + A19
A21 = A20 + A20
A22 = A21 + A21
A23 = A22 + A22
A24 = A23 + A23
A25 = A24 + A24
A26 = A25 + A25
A27 = A26 + A26
A28 = A27 + A27
A29 = A28 + A28
A30 = A29 + A29
A31 = A30 + A30
A32 = A31 + A31
A33 = A32 + A32
A34 = A33 + A33
A35 = A34 + A34
A36 = A35 + A35
A37 = A36 + A36
A38 = A37 + A37
A39 = A38 + A38
A40 = A39 + A39
C = tl.constexpr(A40)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    x += C
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
