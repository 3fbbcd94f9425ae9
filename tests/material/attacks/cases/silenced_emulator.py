# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Takes the emulator's check of addresses away and reads out of bounds."""

import sys

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


for name, module in list(sys.modules.items()):
    if name.endswith("emulator.address_space"):

        def inside(region, addresses, itemsize):
            offsets = (addresses - addresses.dtype.type(region.virtual)).astype("int64") // itemsize
            return offsets.clip(0, region.layout.span - 1)

        module.AddressSpace._inside = staticmethod(inside)


# include: launch
