"""The interpreter's builder with a device's arithmetic and checked memory.

It replaces the class of the interpreter's one builder.
"""

import functools
import math
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from ..borrowed import ir
from . import (
    arithmetic,
    assembly,
    claims,
    elementwise,
    float8,
    libdevice,
    masked_off,
    messages,
    offsets,
    products,
    scaled,
)
from .atomics import Atomics, Mask, mask_of
from .findings import current_place, numbers_of_the_line
from .handles import cast, numpy_type, rounded, wide
from .integers import Operation

_USUAL = {"fp32", "fp64", "int32", "int64"}  # numpy computes in them, and their results are of them or comparisons


class StrictBuilder(Atomics):
    """Overrides what the interpreter gets wrong; `patches.check` sees to it that each override replaces something."""

    front = 0  # axes of an array before those of a block
    lockstep = False  # whether programs that differ in a loop or a branch stay together (`grid.lockstep`)

    # Python

    def decide(self, data: np.ndarray) -> Any:
        """The one value of a scalar on which Python code depends, as a number."""
        return data.item()

    def holds(self, data: np.ndarray) -> bool:
        """Returns whether an assertion is true in every lane."""
        return bool(data.all())

    def print(self, *values: object, **options: Any) -> None:
        """Python's ``print`` in a kernel."""
        print(*values, **options)

    def claim(self, name: str, handle: TensorHandle, sizes: list[int]) -> None:
        """Reports what `tl.multiple_of` or one of its like claims of a handle where it is false."""
        claim = self._false_claim(name, handle, handle.data, sizes)
        if claim is not None:
            place = current_place()
            self.access.claims.add(claim, self._about(claim), self.access.program, place)
            offsets.doubt(handle, self.access.claims.number(self._about(claim), place))

    def _about(self, claim: claims.FalseClaim) -> str:
        """The parameter whose pointers a claim is about, "" for integers."""
        region = self.access.space.find(claim.value)
        return region.name if region else ""

    def _false_claim(
        self, name: str, handle: TensorHandle, data: np.ndarray, sizes: list[int]
    ) -> claims.FalseClaim | None:
        step = numpy_type(handle.get_element_ty()).itemsize if handle.dtype.scalar.is_ptr() else 1
        if data.dtype.kind not in "iu" or not data.size:
            return None
        missing = self.front + len(sizes) - data.ndim  # a number is a block of one
        return claims.false_claim(name, data.astype(np.int64).reshape(*data.shape, *[1] * missing), sizes, step)

    def create_barrier(self) -> None:
        self.access.barrier()

    def exchanged(self) -> None:
        """Notes that the threads of a program have exchanged what they had loaded."""
        self.emulator.exchanged()

    def create_assert(self, condition: TensorHandle, message: str) -> None:
        if not self.holds(condition.data):
            raise AssertionError(message)

    def create_assume(self, condition: TensorHandle) -> None:
        numbers = numbers_of_the_line()
        self.create_assert(
            condition,
            f"{numbers}{numbers and ', so '}the promise is false. A compiler that believes it may leave out what other "
            "values need: take it out, or promise what is true.",
        )

    # memory

    def create_load(self, ptr: TensorHandle, *policy: Any, **named: Any) -> TensorHandle:
        return self._load(ptr, None, None, policy, named)

    def create_masked_load(
        self,
        ptrs: TensorHandle,
        mask: Mask,
        other: TensorHandle | None,
        *policy: Any,
        **named: Any,
    ) -> TensorHandle:
        return self._load(ptrs, mask, other, policy, named)

    def _load(
        self,
        ptrs: TensorHandle,
        mask: Mask,
        other: TensorHandle | None,
        policy: Any,
        named: Any,
    ) -> TensorHandle:
        self._reached(ptrs)
        self._masked(mask)
        dtype = ptrs.get_element_ty()
        volatile = bool(named.get("is_volatile", policy[-1] if policy else False))
        filler = self._filler(dtype)
        values = self.access.load(ptrs.data, mask_of(mask), None if other is None else other.data, filler, volatile)
        return offsets.mark(TensorHandle(values, dtype), offsets.SIZE if values.dtype.kind in "iu" else 0)

    def _filler(self, dtype: tl.dtype) -> np.ndarray:
        """Returns what a masked-off lane without ``other`` holds."""
        if self.emulator.fill is None:
            return masked_off.poisoned(dtype, numpy_type(dtype))
        filler = masked_off.constant(self.emulator.fill, dtype.scalar, numpy_type(dtype))
        self.emulator.note_filled(int(filler[0]) if dtype.scalar.is_int() else None)
        return filler

    def create_store(self, ptr: TensorHandle, val: TensorHandle, *policy: Any) -> None:
        self._store(ptr, val, None)

    def create_masked_store(self, ptrs: TensorHandle, value: TensorHandle, mask: Mask, *policy: Any) -> None:
        self._store(ptrs, value, mask)

    def _store(self, ptrs: TensorHandle, value: TensorHandle, mask: Mask) -> None:
        self._reached(ptrs)
        self._masked(mask)
        wanted = numpy_type(ptrs.get_element_ty())
        data = value.data if value.data.dtype == wanted else value.data.astype(wanted)
        self.access.store(ptrs.data, data, mask_of(mask))

    # conversions

    def cast_impl(self, src: TensorHandle, dst_type: tl.dtype) -> TensorHandle:
        if self._is_foreign(src.dtype, dst_type):
            return super().cast_impl(src, dst_type)
        result = TensorHandle(cast(wide(src), dst_type.scalar, False), dst_type.scalar)
        if src.attr:
            offsets.mark(result, offsets.converted(offsets.kind_of(src), result.data.itemsize > 4))
        if result.data.dtype == np.int32 and src.data.dtype == np.int64 and self.access.far:
            self._wrapped(src.data, result.data, "conversion")
        return result

    def create_fp_to_fp(self, src: TensorHandle, dst_type: tl.dtype, rounding_mode: Any) -> TensorHandle:
        if self._is_foreign(src.dtype, dst_type):
            return super().create_fp_to_fp(src, dst_type, rounding_mode)
        to_zero = rounding_mode == ir.ROUNDING_MODE.RTZ
        return TensorHandle(cast(wide(src), dst_type.scalar, to_zero), dst_type.scalar)

    def _is_foreign(self, *types: tl.dtype) -> bool:
        """Returns whether one is a float8 that only AMD has: its conversions stay the interpreter's."""
        foreign = any(dtype.scalar.is_fp8() and dtype.scalar not in float8.FORMATS for dtype in types)
        if foreign:
            self.emulator.loose("float8")
        return foreign

    def get_bf16(self, value: float) -> TensorHandle:
        return self.create_fp_trunc(self.get_fp32(value), tl.bfloat16)

    # arithmetic

    def binary_op(self, lhs: TensorHandle, rhs: TensorHandle, op: Operation) -> TensorHandle:
        kind = lhs.dtype.name
        if kind in _USUAL and kind == rhs.dtype.name:
            values = op(lhs.data, rhs.data)
            if values.dtype == lhs.data.dtype:
                return TensorHandle(values, lhs.dtype)
            return rounded(values, lhs.dtype)
        if op is np.bitwise_and and lhs.dtype.scalar.is_fp8():  # of bits: `tl.abs` of a float8 made in software
            return TensorHandle(lhs.data & rhs.data.view(np.uint8), lhs.dtype)
        float8.refuse_arithmetic(lhs.dtype.scalar)
        a, b = wide(lhs), wide(rhs)
        if a.dtype == np.bool_ and b.dtype == np.bool_ and op in (np.add, np.subtract, np.multiply):
            return TensorHandle((op(a.astype(np.int8), b.astype(np.int8)) & 1).astype(np.bool_), tl.int1)
        return rounded(op(a, b), lhs.dtype.scalar)

    def unary_op(self, arg: TensorHandle, op: Operation) -> TensorHandle:
        return rounded(op(wide(arg)), arg.dtype.scalar)

    # arithmetic

    def create_umulhi(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        """Unsigned, whatever the type says."""
        a, b = (TensorHandle(arg.data.view(f"u{arg.data.itemsize}"), arg.dtype) for arg in (lhs, rhs))
        return TensorHandle(super().create_umulhi(a, b).data.view(lhs.data.dtype), lhs.dtype)

    # tl.minimum and tl.maximum drop NaN unless asked to keep it.
    def create_minnumf(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_maxnumf(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_clampf(self, arg: TensorHandle, lo: TensorHandle, hi: TensorHandle, propagate_nans: Any) -> TensorHandle:
        drops_nan = propagate_nans == ir.PROPAGATE_NAN.NONE
        low, high = (np.fmax, np.fmin) if drops_nan else (np.maximum, np.minimum)
        return self.binary_op(self.binary_op(arg, lo, low), hi, high)

    def create_select(self, cond: TensorHandle, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        result = self.ternary_op(cond, lhs, rhs, arithmetic.select)
        return offsets.mark(result, offsets.total(offsets.kind_of(lhs), offsets.kind_of(rhs)))

    def create_fma(self, x: TensorHandle, y: TensorHandle, z: TensorHandle) -> TensorHandle:
        dtype = z.dtype.scalar
        return TensorHandle(cast(arithmetic.fma(wide(x), wide(y), wide(z)), dtype, False), dtype)

    def create_fdiv(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        if lhs.dtype.scalar == tl.float32:
            self.emulator.loose("/")
        return self.binary_op(lhs, rhs, np.divide)

    def _function(self, arg: TensorHandle, op: Operation, loose: str = "", flushes: bool = False) -> TensorHandle:
        """Applies a function in float64 and rounds once: what every device approximates, the same on every machine.
        flushes: whether in float32 subnormal arguments and results become zero, as of PTX's ``ftz``.
        """
        if loose:
            self.emulator.loose(loose)
        values, flushes = wide(arg), flushes and arg.dtype.scalar == tl.float32
        values = op((arithmetic.flushed(values) if flushes else values).astype(np.float64))
        result = rounded(values, arg.dtype.scalar)
        return TensorHandle(arithmetic.flushed(result.data), result.dtype) if flushes else result

    def create_exp(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.exp, "exp")

    def create_exp2(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.exp2, "exp2", flushes=True)

    def create_log(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.log)

    def create_log2(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.log2)

    def create_sin(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.sin)

    def create_cos(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.cos)

    def create_sqrt(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, np.sqrt, "sqrt", flushes=True)

    def create_rsqrt(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, libdevice.rsqrt, "rsqrt", flushes=True)

    def create_erf(self, arg: TensorHandle) -> TensorHandle:
        return self._function(arg, libdevice.erf)

    def create_dot(
        self, a: TensorHandle, b: TensorHandle, d: TensorHandle, input_precision: Any, max_num_imprecise_acc: Any
    ) -> TensorHandle:
        self.exchanged()
        self.access.products.add((self._bytes(a) + self._bytes(b), self._bytes(d)))
        if self._is_foreign(a.dtype, b.dtype):
            return super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
        if a.dtype.scalar == tl.float32 and input_precision == ir.INPUT_PRECISION.TF32x3:
            return rounded(products.product_tf32x3(a.data, b.data) + d.data, d.dtype.scalar)
        if a.dtype.scalar == tl.float32 and input_precision == ir.INPUT_PRECISION.TF32:
            self.emulator.loose("dot")
            self.emulator.notice("tf32", functools.partial(messages.tf32, self.access.kernel))
            return rounded(products.product_tf32(a.data, b.data) + d.data, d.dtype.scalar)
        if d.data.dtype.kind != "f":
            left, right = (np.ascontiguousarray(wide(arg), dtype=np.int32) for arg in (a, b))
            return rounded(np.matmul(left, right) + d.data, d.dtype.scalar)
        product = products.product if d.data.dtype == np.float64 else products.product_float32
        return rounded(product(wide(a), wide(b)) + d.data, d.dtype.scalar)

    def _bytes(self, block: TensorHandle) -> int:
        """Those of a program's block."""
        return int(math.prod(block.data.shape[self.front :]) * block.data.itemsize)

    def create_dot_scaled(
        self,
        a: TensorHandle,
        a_scale: TensorHandle | None,
        a_format: Any,
        b: TensorHandle,
        b_scale: TensorHandle | None,
        b_format: Any,
        fast_math: bool,
        a_packed_in_k: bool,
        b_packed_in_k: bool,
        d: TensorHandle,
    ) -> TensorHandle:
        """The product in float32: a block's dtype tells its format, of which float4 alone is bytes."""
        self.exchanged()
        left = scaled.elements(a, a_scale, -1, -1 if a_packed_in_k else -2)
        right = scaled.elements(b, b_scale, -2, -2 if b_packed_in_k else -1)
        return rounded(products.product_float32(left, right) + wide(d), d.dtype.scalar)

    def create_histogram(self, data: TensorHandle, bins: int, mask: TensorHandle | None) -> TensorHandle:
        self.exchanged()
        return super().create_histogram(data, bins, mask)

    def create_gather(self, src: TensorHandle, indices: TensorHandle, axis: int) -> TensorHandle:
        """Gathers as the interpreter does, but an index outside the block raises nothing and does not count from the
        end.
        """
        size = src.data.shape[axis]
        outside = (indices.data < 0) | (indices.data >= size)
        if not outside.any():
            return super().create_gather(src, indices, axis)
        self.emulator.hint_gathered(int(indices.data[outside][0]), size)
        inside = TensorHandle(np.where(outside, 0, indices.data), indices.dtype)
        taken = super().create_gather(src, inside, axis)
        filler = masked_off.poisoned(src.dtype.scalar, numpy_type(src.dtype))
        return TensorHandle(np.where(outside, filler[0], taken.data), taken.dtype)

    # functions from elsewhere

    def map_elements(
        self, function: elementwise.NumpyFunction, blocks: list[np.ndarray], types: list[tl.dtype], pack: int
    ) -> tuple[list[TensorHandle], bool]:
        """Calls a function of scalars for each element, as `elementwise.mapped`."""
        return elementwise.mapped(function, blocks, types, pack)

    def create_extern_elementwise(
        self, libName: str, libPath: str, symbol: str, argList: list[TensorHandle], retType: tl.dtype, isPure: bool
    ) -> TensorHandle:
        if "fast" in symbol:
            self.emulator.loose("fast")
        values = libdevice.call(symbol, [wide(arg) for arg in argList])
        return TensorHandle(cast(values, retType.scalar, False), retType.scalar)

    def create_inline_asm(
        self, inlineAsm: str, constraints: str, values: list[TensorHandle], type: tl.dtype, isPure: bool, pack: int
    ) -> assembly.AssemblyResult:
        self.emulator.loose("fast")
        op = assembly.function(inlineAsm)
        if op is assembly.exponents:
            return assembly.AssemblyResult(TensorHandle(op(wide(values[0])), tl.uint16))
        return assembly.AssemblyResult(self._function(values[0], op, flushes=".ftz." in inlineAsm))
