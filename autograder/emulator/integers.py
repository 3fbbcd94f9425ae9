"""The builder's operations on integers: what they are made of goes with them (`offsets`), and 32 bits that wrap around
are told.
"""

from typing import Any

import numpy as np
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from . import offsets
from .handles import kept


class Integers(interpreter.InterpreterBuilder):
    """A part of `StrictBuilder`. emulator, access: those of the launch under way."""

    emulator: Any
    access: Any

    def create_mul(self, lhs, rhs):
        return self._product(lhs, rhs, np.multiply, "multiplication", always=True)

    def create_shl(self, lhs, rhs):
        return self._product(lhs, rhs, np.left_shift, "shift")

    def _product(self, lhs, rhs, op, what, always=False):
        made = self._exact(self.binary_op(lhs, rhs, op), lhs, rhs, op, what, always)
        if lhs.attr or rhs.attr:
            kinds = offsets.kind_of(lhs), offsets.kind_of(rhs)
            offsets.mark(made, offsets.product(*kinds, made.data.itemsize > 4))
        return made

    def create_add(self, lhs, rhs):
        return self._combined(lhs, rhs, np.add, offsets.total, "addition")

    def create_sub(self, lhs, rhs):
        return self._combined(lhs, rhs, np.subtract, offsets.total, "subtraction")

    def create_minsi(self, lhs, rhs):
        return self._combined(lhs, rhs, np.minimum, offsets.least)

    def create_maxsi(self, lhs, rhs):
        return self._combined(lhs, rhs, np.maximum, offsets.total)

    def create_srem(self, lhs, rhs):
        return self._combined(lhs, rhs, np.fmod, offsets.least)

    def _combined(self, lhs, rhs, op, kind, what=""):
        made = self.binary_op(lhs, rhs, op)
        if what:
            self._exact(made, lhs, rhs, op, what)
        if lhs.attr or rhs.attr:
            offsets.mark(made, kind(offsets.kind_of(lhs), offsets.kind_of(rhs)))
        return made

    def create_sdiv(self, lhs, rhs):
        return offsets.mark(super().create_sdiv(lhs, rhs), offsets.quotient(offsets.kind_of(lhs)))

    def _exact(self, made, lhs, rhs, op, what, always=False):
        """Hints at an integer of 32 bits that wrapped around. Sums do so only where a tensor has elements so far apart;
        asked for each one it would take longer than all else.
        """
        if made.data.dtype == np.int32 and (always or self.access.far):
            exact = op(lhs.data.astype(np.int64), rhs.data)
            self._wrapped(exact, made.data, what)
        return made

    def _wrapped(self, exact: np.ndarray, data: np.ndarray, what: str) -> None:
        if (exact != data).any():
            lane = int((exact != data).argmax())
            self.emulator.hint_wrapped(int(exact.ravel()[lane]), int(data.ravel()[lane]), what)

    def create_get_program_id(self, axis):
        return offsets.mark(super().create_get_program_id(axis), offsets.LANE if axis else offsets.PROGRAM)

    def create_get_num_programs(self, axis):
        return offsets.mark(super().create_get_num_programs(axis), offsets.LANE if axis else offsets.SIZE)

    def create_make_range(self, ret_ty, start, stop):
        return offsets.mark(super().create_make_range(ret_ty, start, stop), offsets.LANE)

    def create_splat(self, ret_ty, arg):
        return kept(super().create_splat(ret_ty, arg), arg)

    def create_unsplat(self, arg):
        return kept(super().create_unsplat(arg), arg)

    def create_expand_dims(self, arg, axis):
        return kept(super().create_expand_dims(arg, axis), arg)

    def create_broadcast(self, arg, shape):
        return kept(super().create_broadcast(arg, shape), arg)

    def create_reshape(self, arg, shape, allow_reorder):
        return kept(super().create_reshape(arg, shape, allow_reorder), arg)

    def create_trans(self, arg, perm):
        return kept(super().create_trans(arg, perm), arg)

    def create_addptr(self, ptr, offset):
        made = super().create_addptr(ptr, offset)
        return offsets.mark(made, offsets.total(offsets.kind_of(ptr), offsets.kind_of(offset)))

    def _reached(self, ptrs: TensorHandle) -> None:
        """Memory is accessed through these pointers."""
        if offsets.outgrows(offsets.kind_of(ptrs)):
            self.emulator.loose("offsets")
