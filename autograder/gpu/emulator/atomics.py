"""Atomic operations of the builder: what they do, which of them order the programs, and what they wait for."""

from typing import Any, TypeAlias

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from ..borrowed import atomic_cas, atomic_rmw, ir
from . import arithmetic, offsets, poison
from .coverage import Coverage
from .findings import not_emulated
from .handles import numpy_type
from .integers import Integers

Mask: TypeAlias = "TensorHandle | np.ndarray | None"  # block pointers and descriptors make plain arrays

_SEMANTICS = ir.MEM_SEMANTIC
SCOPE_CTA = ir.MEM_SYNC_SCOPE.CTA
_RMW = ir.ATOMIC_OP
_UNSIGNED = {"MIN": _RMW.UMIN, "MAX": _RMW.UMAX}


class Atomics(Integers):
    """coverage: notes masks, where the emulator has one.
    unused: True while an atomic runs whose result the kernel does not use.
    """

    coverage: Coverage | None = None
    unused = False

    def _masked(self, mask: Mask) -> None:
        """Has the mask of an access noted; not one that a block pointer or a descriptor makes."""
        if self.coverage is not None and isinstance(mask, TensorHandle):
            self.coverage.masked(self._by_program(mask.data))

    def _by_program(self, mask: np.ndarray) -> np.ndarray:
        """A mask as one row for each program."""
        return mask.reshape(1, -1)

    def _loose(self, operation: Any) -> None:
        self.emulator.loose("atomic")
        if operation == _RMW.FADD:
            self.emulator.loose("atomic sum")

    def create_atomic_rmw(
        self,
        rmwOp: Any,
        ptr: TensorHandle,
        val: TensorHandle,
        mask: Mask,
        sem: Any,
        scope: Any,
    ) -> TensorHandle:
        def perform(real: np.ndarray, lanes: np.ndarray) -> Any:
            if val.dtype.scalar == tl.bfloat16:
                return _add_bf16(real, val.data, lanes)
            return atomic_rmw(
                self.ir_rmw_op_to_interpreter_rmw_op[rmwOp],
                real,
                np.ascontiguousarray(val.data),
                lanes,
                self.ir_sem_to_interpreter_sem[sem],
            )

        self._reached(ptr)
        self.access.ordered |= not self.unused
        self._masked(mask)
        self._loose(rmwOp)
        old = self.access.atomic(
            ptr.data, mask_of(mask), val.data.itemsize, orders(sem), perform, scope != SCOPE_CTA, not self.unused
        )
        return TensorHandle(old, val.dtype.scalar)

    def create_atomic_cas(
        self, ptr: TensorHandle, cmp: TensorHandle, val: TensorHandle, sem: Any, scope: Any
    ) -> TensorHandle:
        def perform(real: np.ndarray, lanes: np.ndarray) -> Any:
            return atomic_cas(real, cmp.data, val.data, self.ir_sem_to_interpreter_sem[sem])

        self.access.ordered = True
        self.emulator.loose("atomic")
        old = self.access.atomic(
            ptr.data, None, val.data.itemsize, orders(sem), perform, scope != SCOPE_CTA, not self.unused
        )
        return TensorHandle(old, cmp.dtype.scalar)

    def create_atomic_store(self, ptr: TensorHandle, val: TensorHandle, mask: Mask, sem: Any, scope: Any) -> None:
        """`tl.atomic_store` of Triton 3.9: an exchange of which nobody asks for the old value."""
        self.create_atomic_rmw(_RMW.XCHG, ptr, val, mask, sem, scope)

    def create_atomic_load(self, ptr: TensorHandle, mask: Mask, sem: Any, scope: Any) -> TensorHandle:
        """`tl.atomic_load` of Triton 3.9."""
        self._masked(mask)
        on = mask_of(mask)
        values = self._read(ptr, on, scope)
        self._acquire(ptr, np.ones(values.shape, bool) if on is None else on, sem, scope)
        dtype = ptr.get_element_ty()
        return offsets.mark(TensorHandle(values, dtype), offsets.SIZE if values.dtype.kind in "iu" else 0)

    def create_atomic_poll(
        self, ptr: TensorHandle, expected: TensorHandle, timeout_ns: Any, sem: Any, scope: Any
    ) -> TensorHandle:
        """`tl.atomic_poll` of Triton 3.9. Programs run one after the other, so what is not there yet will not come: a
        time-out has passed, and without one the launch is refused.
        """
        matched = self._read(ptr, None, scope) == expected.data
        if not matched.all() and not isinstance(timeout_ns, TensorHandle):
            not_emulated(
                "`tl.atomic_poll`, {place}, waits for a value that no program before it has stored. The emulator runs "
                "the programs one after the other, in the order of their numbers; a GPU, too, may wait for ever for a "
                "program that it has not begun. Wait for programs with a smaller number only."
            )
        self._acquire(ptr, matched, sem, scope)
        return TensorHandle(matched, tl.int1)

    def _read(self, ptr: TensorHandle, mask: Any, scope: Any) -> np.ndarray:
        self._reached(ptr)
        filler = np.zeros(1, numpy_type(ptr.get_element_ty()))
        return self.access.load(ptr.data, mask, filler, filler, scope != SCOPE_CTA)

    def _acquire(self, ptr: TensorHandle, lanes: np.ndarray, sem: Any, scope: Any) -> None:
        if orders(sem)[0] and scope != SCOPE_CTA:
            self.access.acquire(ptr.data[lanes], numpy_type(ptr.get_element_ty()).itemsize)

    def create_descriptor_reduce(self, kind: Any, desc: Any, value: TensorHandle, indices: list[TensorHandle]) -> None:
        """``descriptor.atomic_add`` and its like: an atomic on each element within the tensor."""
        ptrs, mask = desc.materialize_pointers(indices)
        dtype = ptrs.get_element_ty()
        operation = getattr(_RMW, kind.name)
        if kind.name == "ADD" and dtype.is_floating():
            operation = _RMW.FADD
        elif kind.name in _UNSIGNED and dtype.is_floating():
            not_emulated(f"The emulator cannot run `atomic_{kind.name.lower()}` of a descriptor on {dtype}, {{place}}.")
        elif kind.name in _UNSIGNED and dtype.is_int_unsigned():
            operation = _UNSIGNED[kind.name]
        self.unused = True
        try:
            self.create_atomic_rmw(operation, ptrs, value, mask, _SEMANTICS.RELAXED, None)
        finally:
            self.unused = False


def orders(sem: Any) -> tuple[bool, bool]:
    """Returns whether an atomic of these semantics acquires, and whether it releases."""
    return (
        sem in (_SEMANTICS.ACQUIRE, _SEMANTICS.ACQUIRE_RELEASE),
        sem in (_SEMANTICS.RELEASE, _SEMANTICS.ACQUIRE_RELEASE),
    )


def mask_of(mask: Mask) -> Any:
    """The mask as an array, None where there is none."""
    return mask.data if isinstance(mask, TensorHandle) else mask


def _add_bf16(real: np.ndarray, values: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Adds bfloat16 by atomics, which the interpreter would add as integers; returns the old values. One lane at a
    time: lanes may meet.
    """
    old = np.zeros(real.shape, dtype=np.uint16)
    flat = zip(real.ravel().tolist(), np.broadcast_to(values, real.shape).ravel(), lanes.ravel().tolist(), strict=True)
    for lane, (address, value, on) in enumerate(flat):
        if on:
            word = poison.memory(address, 2).view(np.uint16)
            old.ravel()[lane] = word[0]
            total = arithmetic.from_bf16(word) + arithmetic.from_bf16(np.array([value], dtype=np.uint16))
            word[:] = arithmetic.to_bf16(total)
    return old
