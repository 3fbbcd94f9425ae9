"""The strict builder for many programs: what knows of shapes gets the axis of the programs in front.

Elementwise arithmetic, conversions, comparisons and `tl.dot` need no change: numpy does them for all programs.
"""

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from ...borrowed import ir
from .. import offsets
from ..access import Access
from ..atomics import SCOPE_CTA, Mask, mask_of, orders
from ..builder import StrictBuilder
from ..findings import current_place
from ..handles import kept, numpy_type
from .fallback import Fallback, TooWide
from .memory import Memory
from .pointers import BlockPointer, Descriptor, Pointer, stored
from .programs import Programs
from .turns import WordChange

_RMW = ir.ATOMIC_OP
# What numpy calls them, and the kind: those of one kind may change places. A float's maximum is done on its bits, as
# Triton does it, by a signed maximum of the positive values and an unsigned minimum of the negative ones.
_ATOMIC: dict[Any, tuple[Any, str]] = {
    _RMW.ADD: (np.add, "add"),
    _RMW.FADD: (np.add, "add"),
    _RMW.MAX: (np.maximum, "max"),
    _RMW.UMAX: (np.maximum, "umax"),
    _RMW.MIN: (np.minimum, "min"),
    _RMW.UMIN: (np.minimum, "umin"),
    _RMW.AND: (np.bitwise_and, "and"),
    _RMW.OR: (np.bitwise_or, "or"),
    _RMW.XOR: (np.bitwise_xor, "xor"),
    _RMW.XCHG: (lambda old, value: value, ""),
}
_OF_FLOATS = {"umin": "max", "umax": "min"}


class GridBuilder(StrictBuilder):
    """``programs`` and ``memory`` are the pass's; ``lanes`` is the most elements that one array may have."""

    programs: Programs
    memory: Memory
    lanes: int
    widest: int
    front = 1
    lockstep: bool

    def widen(self, elements: int) -> None:
        """Makes room for a block of ``elements`` for every program. Raises TooWide where there is none."""
        if elements > self.widest:
            self.widest = elements
            if elements * len(self.programs.numbers) > self.lanes and len(self.programs.numbers) > 1:
                raise TooWide

    @property
    def access(self) -> Access:
        return self.memory.access

    # Python

    def decide(self, data: np.ndarray) -> Any:
        return self.programs.decide(data, self.memory.put_off)

    def holds(self, data: np.ndarray) -> bool:
        return bool(self.programs.only_live(data).all())

    def _divided_by_zero(self, zero: np.ndarray, operator: str) -> None:
        live = self.programs.only_live(zero)
        if live.reshape(len(live), -1).all(axis=1).any():
            raise Fallback("a division by zero")

    def _wrapped(self, exact: np.ndarray, data: np.ndarray, what: str) -> None:
        super()._wrapped(self.programs.only_live(exact), self.programs.only_live(data), what)

    def claim(self, name: str, handle: TensorHandle, sizes: list[int]) -> None:
        live, data = self.programs.live, handle.data
        if self._false_claim(name, handle, self.programs.only_live(data), sizes) is None:
            return
        ranks = self.memory.ranks(live)
        for place in np.argsort(ranks).tolist():  # the first program of which it is false is reported
            row = live[place]
            found = self._false_claim(name, handle, data[row : row + 1] if len(data) > 1 else data, sizes)
            if found is not None:
                tensor, number = self._about(found), int(self.programs.numbers[row])
                self.emulator.note_false_claim(found, tensor, int(ranks[place]), number)
                offsets.doubt(handle, self.access.claims.number(tensor, current_place()))
                return

    def switch(self, programs: Programs) -> None:
        """Goes on with some of the pass's programs, or with all."""
        self.programs = programs
        self.memory.switch(programs)

    def create_barrier(self) -> None:
        self.memory.barrier()

    def exchanged(self) -> None:
        self.memory.exchanged()

    def print(self, *values: object, **options: Any) -> None:
        raise Fallback("a kernel that prints, in the order of its programs")

    def create_print(self, prefix: str, hex: bool, values: list[TensorHandle], isSigned: list[bool]) -> None:
        self.print()

    # programming model

    def create_get_program_id(self, axis: int) -> TensorHandle:
        return offsets.mark(TensorHandle(self.programs.ids[axis], tl.int32), offsets.LANE if axis else offsets.PROGRAM)

    def create_make_range(self, ret_ty: tl.block_type, start: int, stop: int) -> TensorHandle:
        self.widen(stop - start)
        made = TensorHandle(np.arange(start, stop, dtype=np.int32)[None], tl.int32)
        return offsets.mark(made, offsets.LANE)

    # shapes

    def create_splat(self, ret_ty: tl.block_type, arg: TensorHandle) -> TensorHandle:
        self.widen(ret_ty.numel)
        return _moved(arg, lambda a: _spread(a, ret_ty.shape))

    def create_unsplat(self, arg: TensorHandle) -> TensorHandle:
        return _moved(arg, lambda a: a.reshape(len(a)))

    def create_expand_dims(self, arg: TensorHandle, axis: int) -> TensorHandle:
        return _moved(arg, lambda a: np.expand_dims(a, axis + 1))

    def create_broadcast(self, arg: TensorHandle, shape: list[int]) -> TensorHandle:
        self.widen(math.prod(shape))
        return _moved(arg, lambda a: np.broadcast_to(a, (len(a), *shape)))

    def create_reshape(self, arg: TensorHandle, shape: list[int], allow_reorder: bool) -> TensorHandle:
        return _moved(arg, lambda a: a.reshape(len(a), *shape))

    def create_trans(self, arg: TensorHandle, perm: list[int]) -> TensorHandle:
        return _moved(arg, lambda a: np.transpose(a, (0, *(p + 1 for p in perm))))

    def create_cat(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return TensorHandle(np.concatenate(alike(lhs.data, rhs.data), axis=1), lhs.dtype.scalar)

    def create_join(self, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
        return TensorHandle(np.stack(alike(lhs.data, rhs.data), axis=-1), lhs.dtype.scalar)

    def create_gather(self, src: TensorHandle, indices: TensorHandle, axis: int) -> TensorHandle:
        values, at = alike(src.data, indices.data)
        return super().create_gather(TensorHandle(values, src.dtype), TensorHandle(at, indices.dtype), axis + 1)

    def create_histogram(self, data: TensorHandle, bins: int, mask: TensorHandle | None) -> TensorHandle:
        on = np.ones((1,) * data.data.ndim, dtype=bool) if mask is None else mask.data
        values, on = alike(data.data, np.broadcast_to(on, (len(on), *data.data.shape[1:])))
        one = super().create_histogram
        rows = [
            one(TensorHandle(v, data.dtype), bins, TensorHandle(m, tl.int1)).data
            for v, m in zip(values, on, strict=True)
        ]
        return TensorHandle(np.stack(rows), tl.int32)

    # pointers

    def create_addptr(self, ptr: TensorHandle, offset: TensorHandle) -> TensorHandle:
        if not isinstance(ptr, Pointer):
            return super().create_addptr(ptr, offset)
        return offsets.mark(ptr.plus(offset.data), offsets.total(offsets.kind_of(ptr), offsets.kind_of(offset)))

    def create_bitcast(self, src: TensorHandle, dst_type: tl.dtype) -> TensorHandle:
        return src.cast(dst_type.scalar) if isinstance(src, Pointer) else super().create_bitcast(src, dst_type)

    def create_int_to_ptr(self, val: TensorHandle, dst_ty: tl.dtype) -> TensorHandle:
        made = super().create_int_to_ptr(val, dst_ty)
        if made.data.ndim > 1:
            return made
        return stored(int(self.decide(made.data)), dst_ty.scalar, self.access.space)  # programs part by tensor

    def create_make_block_ptr(
        self,
        base: TensorHandle,
        shape: list[TensorHandle],
        strides: list[TensorHandle],
        offsets: list[TensorHandle],
        block_shape: list[int],
        order: list[int],
    ) -> BlockPointer:
        return BlockPointer(base, shape, strides, offsets, block_shape, order)

    def create_advance(self, ptr: BlockPointer, offsets: list[TensorHandle]) -> BlockPointer:
        moved = [TensorHandle(a.data + b.data, a.dtype) for a, b in zip(ptr.offsets, offsets, strict=True)]
        return BlockPointer(ptr.base, ptr.shape, ptr.strides, moved, ptr.block_shape, ptr.order)

    def create_make_tensor_descriptor(
        self,
        base: TensorHandle,
        shape: list[TensorHandle],
        strides: list[TensorHandle],
        tensor_shape: list[int],
        is_signed: bool,
        padding: Any = "zero",
    ) -> Descriptor:
        live, itemsize = self.programs.only_live, numpy_type(base.get_element_ty()).itemsize
        steps = [live(base.data), *(live(stride.data) * itemsize for stride in strides[:-1])]
        if any((step % 16).any() for step in steps) or (live(strides[-1].data) != 1).any():
            raise Fallback("a descriptor that is refused")
        return Descriptor(base, shape, strides, tensor_shape, padding)

    def create_descriptor_gather(self, *args: Any) -> NoReturn:
        raise Fallback("a descriptor's gather or scatter")

    create_descriptor_scatter = create_descriptor_gather

    # memory

    def _by_program(self, mask: np.ndarray) -> np.ndarray:
        live: np.ndarray = self.programs.only_live(mask)
        return live.reshape(len(live), -1)

    def _load(
        self,
        ptrs: TensorHandle,
        mask: Mask,
        other: TensorHandle | None,
        policy: Any,
        named: Any,
    ) -> TensorHandle:
        _known(ptrs)
        if named.get("is_volatile", policy[-1] if policy else False):
            raise Fallback("a volatile load")
        self._reached(ptrs)
        self._masked(mask)
        dtype = ptrs.get_element_ty()
        values = self.memory.load(ptrs, mask_of(mask), mask_of(other), self._filler(dtype))
        return offsets.mark(TensorHandle(values, dtype), offsets.SIZE if values.dtype.kind in "iu" else 0)

    def _store(self, ptrs: TensorHandle, value: TensorHandle, mask: Mask) -> None:
        _known(ptrs)
        self._reached(ptrs)
        self._masked(mask)
        wanted = numpy_type(ptrs.get_element_ty())
        data = value.data if value.data.dtype == wanted else value.data.astype(wanted)
        self.memory.store(ptrs, data, mask_of(mask))

    def create_atomic_rmw(
        self,
        rmwOp: Any,
        ptr: TensorHandle,
        val: TensorHandle,
        mask: Mask,
        sem: Any,
        scope: Any,
    ) -> TensorHandle:
        _known(ptr)
        operation, kind = _ATOMIC.get(rmwOp, (None, ""))
        if ptr.region.dtype.is_floating_point:
            kind = _OF_FLOATS.get(kind, kind)
        if scope == SCOPE_CTA:
            raise Fallback("an atomic of scope cta: whether two programs meet")
        if operation is None or val.data.dtype == np.float16 or val.dtype.scalar == tl.bfloat16:
            raise Fallback("an atomic that numpy does not do in the same way")
        self._reached(ptr)
        self._masked(mask)
        self._loose(rmwOp)
        if self.unused and kind and not self.memory.storage(ptr.region).exchanged:
            self.memory.atomic(ptr, val.data, mask_of(mask), kind, operation)
            return TensorHandle(np.zeros(1, val.data.dtype), val.dtype.scalar)
        return self.exchanged_with(ptr, (val.data,), mask_of(mask), operation, sem, val.dtype.scalar)

    def create_atomic_cas(
        self, ptr: TensorHandle, cmp: TensorHandle, val: TensorHandle, sem: Any, scope: Any
    ) -> TensorHandle:
        _known(ptr)
        if scope == SCOPE_CTA:
            raise Fallback("an atomic of scope cta: whether two programs meet")
        self.access.ordered = True
        self._loose(None)
        words = tuple(np.ascontiguousarray(a.data).view(f"u{val.data.itemsize}") for a in (cmp, val))
        old = self.exchanged_with(ptr, words, np.ones(1, bool), _compared_and_swapped, sem, cmp.dtype.scalar)
        return TensorHandle(old.data.view(cmp.data.dtype), old.dtype)

    def exchanged_with(
        self,
        ptr: Pointer,
        operands: tuple[np.ndarray, ...],
        mask: np.ndarray,
        change: WordChange,
        sem: Any,
        dtype: tl.dtype,
    ) -> TensorHandle:
        """An atomic whose result counts, or whose order does. Of programs that come to it together the one that one
        program at a time would run first is the first.
        """
        if operands[0].itemsize != ptr.region.itemsize:
            raise Fallback("an atomic on elements of another size")
        self.access.ordered |= not self.unused
        old = self.memory.exchange(ptr, operands, mask, change, orders(sem), used=not self.unused)
        return TensorHandle(old, dtype)

    def create_atomic_load(self, *args: Any) -> NoReturn:
        raise Fallback("an atomic that loads: it may wait for what another program stores")

    def create_atomic_poll(self, *args: Any) -> NoReturn:
        self.create_atomic_load()

    def map_elements(self, *args: Any) -> NoReturn:
        raise Fallback("a function that is called for each element")


def _compared_and_swapped(old: np.ndarray, expected: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where(old == expected, value, old)


def alike(*arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays with one number of rows, for what numpy does not broadcast."""
    rows = max(len(a) for a in arrays)
    return [np.broadcast_to(a, (rows, *a.shape[1:])) for a in arrays]


def _spread(values: np.ndarray, shape: list[int]) -> np.ndarray:
    """One value for each program, as a view of ``(rows, *shape)``."""
    return np.broadcast_to(values.reshape(-1, *(1,) * len(shape)), (len(values), *shape))


def _moved(handle: TensorHandle, change: Callable[[np.ndarray], np.ndarray]) -> TensorHandle:
    """A handle whose elements are moved, not computed."""
    if isinstance(handle, Pointer):
        return kept(handle.moved(change), handle)
    return kept(TensorHandle(change(handle.data), handle.dtype.scalar), handle)


def _known(ptrs: TensorHandle) -> None:
    if not isinstance(ptrs, Pointer):
        raise Fallback("an address that is not an argument plus an offset")
