"""The builder's operations on integers: what they are made of goes with them (`offsets`), and 32 bits that wrap around
are told.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from . import offsets
from .access import Access
from .handles import kept, numpy_type

Operation = Callable[..., Any]  # of numpy, on arrays


class Integers(interpreter.InterpreterBuilder):  # type: ignore[misc]  # of a library without types
    """A part of `StrictBuilder`. emulator: whose block it is, or what takes its place during a pass (`grid.passes`).

    Methods of the interpreter's return what the interpreter's do, mostly the handle of a result.
    """

    emulator: Any

    @property
    def access(self) -> Access:
        """The memory of the launch under way."""
        access: Access = self.emulator.access
        return access

    def create_mul(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._product(lhs, rhs, np.multiply, "multiplication", always=True)

    def create_shl(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._product(lhs, rhs, np.left_shift, "shift")

    def _product(
        self, lhs: TensorHandle, rhs: TensorHandle, op: Operation, what: str, always: bool = False
    ) -> TensorHandle:
        result = self._exact(self.binary_op(lhs, rhs, op), lhs, rhs, op, what, always)
        if lhs.attr or rhs.attr:
            kinds = offsets.kind_of(lhs), offsets.kind_of(rhs)
            offsets.mark(result, offsets.product(*kinds, result.data.itemsize > 4))
        return result

    def create_add(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._combined(lhs, rhs, np.add, offsets.total, "addition")

    def create_sub(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._combined(lhs, rhs, np.subtract, offsets.total, "subtraction")

    def create_minsi(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._combined(lhs, rhs, np.minimum, offsets.least)

    def create_maxsi(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._combined(lhs, rhs, np.maximum, offsets.total)

    def create_srem(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        result = self._combined(lhs, rhs, np.fmod, offsets.least)
        return self._by_zero(result, lhs, rhs, "%")

    def create_urem(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._by_zero(super().create_urem(lhs, rhs), lhs, rhs, "%")

    def create_udiv(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return self._by_zero(super().create_udiv(lhs, rhs), lhs, rhs, "//")

    def _combined(
        self, lhs: TensorHandle, rhs: TensorHandle, op: Operation, kind: Callable[[int, int], int], what: str = ""
    ) -> TensorHandle:
        result = self.binary_op(lhs, rhs, op)
        if what:
            self._exact(result, lhs, rhs, op, what)
        if lhs.attr or rhs.attr:
            offsets.mark(result, kind(offsets.kind_of(lhs), offsets.kind_of(rhs)))
        return result

    def create_sdiv(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        result = offsets.mark(super().create_sdiv(lhs, rhs), offsets.quotient(offsets.kind_of(lhs)))
        return self._by_zero(result, lhs, rhs, "//")

    def _by_zero(self, result: TensorHandle, lhs: TensorHandle, rhs: TensorHandle, operator: str) -> TensorHandle:
        """The quotient or remainder ``made``, with what a GPU happens to leave where the divisor is 0: all bits set,
        and the dividend. Where it is 0 in every lane that is a finding; some lanes may be those that a mask leaves out.
        """
        zero = rhs.data == 0
        if not zero.any():
            return result
        self._divided_by_zero(zero, operator)
        whole = np.asarray(-1).astype(result.data.dtype) if operator == "//" else lhs.data
        return kept(TensorHandle(np.where(zero, whole, result.data).astype(result.data.dtype), result.dtype), result)

    def _divided_by_zero(self, zero: np.ndarray, operator: str) -> None:
        if zero.all():
            self.access.note_division(operator)

    def _exact(
        self, result: TensorHandle, lhs: TensorHandle, rhs: TensorHandle, op: Operation, what: str, always: bool = False
    ) -> TensorHandle:
        """``made``. Hints at an integer of 32 bits that wrapped around. Sums do so only where a tensor has elements so
        far apart; asked for each one it would take longer than all else.
        """
        if result.data.dtype != np.int32 or not (always or self.access.far):
            return result
        if op is not np.multiply or _most(lhs.data) * _most(rhs.data) >= 2**31:
            exact = op(lhs.data.astype(np.int64), rhs.data)
            self._wrapped(exact, result.data, what)
        return result

    def _wrapped(self, exact: np.ndarray, data: np.ndarray, what: str) -> None:
        if (exact != data).any():
            lane = int((exact != data).argmax())
            self.emulator.hint_wrapped(int(exact.ravel()[lane]), int(data.ravel()[lane]), what)

    def create_get_program_id(self, axis: int) -> TensorHandle:
        return offsets.mark(super().create_get_program_id(axis), offsets.LANE if axis else offsets.PROGRAM)

    def create_get_num_programs(self, axis: int) -> TensorHandle:
        return offsets.mark(super().create_get_num_programs(axis), offsets.LANE if axis else offsets.SIZE)

    def create_make_range(self, ret_ty: tl.block_type, start: int, stop: int) -> TensorHandle:
        return offsets.mark(super().create_make_range(ret_ty, start, stop), offsets.LANE)

    def create_splat(self, ret_ty: tl.block_type, arg: TensorHandle) -> TensorHandle:
        return kept(super().create_splat(ret_ty, arg), arg)

    def create_unsplat(self, arg: TensorHandle) -> TensorHandle:
        return kept(super().create_unsplat(arg), arg)

    def create_expand_dims(self, arg: TensorHandle, axis: int) -> TensorHandle:
        return kept(super().create_expand_dims(arg, axis), arg)

    def create_broadcast(self, arg: TensorHandle, shape: list[int]) -> TensorHandle:
        return kept(super().create_broadcast(arg, shape), arg)

    def create_reshape(self, arg: TensorHandle, shape: list[int], allow_reorder: bool) -> TensorHandle:
        return kept(super().create_reshape(arg, shape, allow_reorder), arg)

    def create_trans(self, arg: TensorHandle, perm: list[int]) -> TensorHandle:
        return kept(super().create_trans(arg, perm), arg)

    def create_addptr(self, ptr: TensorHandle, offset: TensorHandle) -> TensorHandle:
        result = super().create_addptr(ptr, offset)
        return offsets.mark(result, offsets.total(offsets.kind_of(ptr), offsets.kind_of(offset)))

    def _reached(self, ptrs: TensorHandle) -> None:
        """Notes an access to memory through these pointers."""
        kind = offsets.kind_of(ptrs)
        if offsets.outgrows(kind):
            self.emulator.loose("offsets")
        for claim in offsets.doubts(kind) if kind else ():
            self.access.claims.reach(claim, numpy_type(ptrs.get_element_ty()).itemsize)


def _most(integers: np.ndarray) -> int:
    """The greatest absolute value."""
    return max(abs(int(integers.max())), abs(int(integers.min())))
