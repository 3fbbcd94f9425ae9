"""The builder of a whole grid, and its reductions, whose floats carry histories."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from ..atomics import Mask, mask_of
from ..findings import current_place
from ..grid.fallback import Fallback
from ..grid.grid_builder import GridBuilder
from ..grid.grid_reduction import GridReduce, GridScan
from .hashes import ODDER, U, history, is_float, is_zero, put, seed, stir, with_places
from .histories import Histories

CHOOSES = ("maxnumf", "minnumf", "maximumf", "minimumf", "clampf")
COMMUTES = ("fadd", "fmul")
COMPUTES = (
    "fsub fdiv precise_divf frem fma exp exp2 log log2 sqrt precise_sqrt rsqrt sin cos erf fabs floor ceil".split()
)
MOVES = "splat unsplat expand_dims broadcast reshape trans cat join split select gather".split()
_CODE = U(2**22 - 1)  # products of two codes of 22 bits, 512 of them added up, are exact in float64
_BLOCK = 512
_NOBODY = ~U(0)


class FollowedBuilder(GridBuilder):
    """``histories`` are those of the run."""

    histories: Histories

    def computed(
        self,
        name: str,
        result: TensorHandle,
        operands: list[TensorHandle],
        commutes: bool = False,
        chosen: bool = False,
    ) -> TensorHandle:
        """``made`` with its history. chosen: it is one of its operands."""
        known, start = [history(item) for item in operands], seed(name, result.dtype.scalar.name)
        if chosen:
            h = np.full(result.data.shape, _NOBODY)
        elif len(known) > 1 and commutes:
            h = stir((known[0] + known[1]) ^ start)
        else:
            h = known[0] ^ start if len(known) > 1 else stir(known[0] ^ start)
            for item in known[1:]:
                h = stir(h * ODDER + item)
        if len(known) > 1:
            for operand, its in zip(operands, known, strict=True):
                if operand.data.dtype == result.data.dtype:
                    same = result.data == operand.data
                    h = np.where(same, np.minimum(h, its) if chosen else its, h)
        return self._followed(name, result, np.where(is_zero(result), U(0), h), tuple(known))

    def _followed(
        self,
        name: str,
        result: TensorHandle,
        h: np.ndarray,
        operands: tuple[np.ndarray, ...] = (),
        lanes: tuple[np.ndarray, ...] = (),
    ) -> TensorHandle:
        put(result, h)
        self.histories.note(name, current_place(), h, operands, lanes)
        return result

    # memory

    def _load(
        self, ptrs: TensorHandle, mask: Mask, other: TensorHandle | None, policy: Any, named: Any
    ) -> TensorHandle:
        result = super()._load(ptrs, mask, other, policy, named)
        if is_float(result):
            h = self.histories.stored.loaded(ptrs.region, ptrs.offsets, result.data, history(result))
            self._followed(f"load of {ptrs.region.name}", result, h)
        return result

    def _store(self, ptrs: TensorHandle, value: TensorHandle, mask: Mask) -> None:
        super()._store(ptrs, value, mask)
        if is_float(value):
            self.histories.stored.store(ptrs.region, *self._on(mask, ptrs.offsets, value.data, history(value)))

    def _on(self, mask: Mask, *arrays: np.ndarray) -> list[np.ndarray]:
        """The lanes that are on, of programs that go on."""
        on = np.ones(1, bool) if mask is None else mask_of(mask)
        every = np.empty((self.programs.live.size, *[1] * (arrays[0].ndim - 1)), bool)
        *spread, on, _ = np.broadcast_arrays(*map(self.programs.only_live, (*arrays, on)), every)
        return [operand[on] for operand in spread]

    def create_atomic_rmw(
        self, rmwOp: Any, ptr: TensorHandle, val: TensorHandle, mask: Mask, sem: Any, scope: Any
    ) -> TensorHandle:
        result = super().create_atomic_rmw(rmwOp, ptr, val, mask, sem, scope)
        if is_float(val):
            offsets, h = self._on(mask, ptr.offsets, history(val))
            sums, most = self.histories.stored.add(ptr.region, offsets, h)
            self.histories.note(f"atomic of {most}", current_place(), sums, (h,))
        return result

    def exchanged_with(self, *args: Any) -> NoReturn:
        """Gives up: of what one program gets by an atomic from another nothing is followed."""
        raise Fallback("an atomic whose result is used: an order of the programs")

    # conversions and products

    def cast_impl(self, src: TensorHandle, dst_type: tl.dtype) -> TensorHandle:
        return self._cast(src, super().cast_impl(src, dst_type))

    def create_fp_to_fp(self, src: TensorHandle, dst_type: tl.dtype, rounding_mode: Any) -> TensorHandle:
        return self._cast(src, super().create_fp_to_fp(src, dst_type, rounding_mode))

    def _cast(self, src: TensorHandle, result: TensorHandle) -> TensorHandle:
        if is_float(src) and is_float(result):
            if src.dtype.primitive_bitwidth < result.dtype.primitive_bitwidth:
                put(result, history(src))  # exact
            else:
                self.computed("cast", result, [src])
        return result

    def create_dot(
        self, a: TensorHandle, b: TensorHandle, d: TensorHandle, input_precision: Any, max_num_imprecise_acc: int
    ) -> TensorHandle:
        result = super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
        if not is_float(result):
            return result
        k, (of_a, of_b, of_d) = a.data.shape[-1], (history(operand) for operand in (a, b, d))
        of_a, of_b = np.broadcast_to(of_a, a.data.shape), np.broadcast_to(of_b, b.data.shape)
        h = _products(with_places(of_a, of_a.ndim - 1), of_b, seed("dot", k, str(input_precision), a.dtype.name))
        h = np.where(result.data == d.data, of_d, stir(h ^ (of_d * ODDER)))
        return self._followed(f"dot of {k}", result, np.where(result.data == 0, U(0), h), (of_d,), (of_a, of_b))


def _products(rows: np.ndarray, columns: np.ndarray, start: np.uint64) -> np.ndarray:
    """The hash, for each pair of a row and a column, of the products that are not 0."""
    h: Any = start
    for shift in (U(8), U(38)):
        codes = [
            np.where(operand == 0, 0, (operand >> shift) & _CODE | U(1)).astype(np.float64)
            for operand in (rows, columns)
        ]
        for at in range(0, rows.shape[-1], _BLOCK):
            exact = np.matmul(codes[0][..., at : at + _BLOCK], codes[1][..., at : at + _BLOCK, :])
            h = stir(exact.astype(U) ^ h)
    hashed: np.ndarray = h
    return hashed


def _computes(method: str, commutes: bool, chosen: bool) -> Callable[..., Any]:
    original = getattr(GridBuilder, method)

    def followed(self: FollowedBuilder, *args: Any, **named: Any) -> Any:
        result, name = original(self, *args, **named), method.removeprefix("create_")
        if method == "create_extern_elementwise":
            name, args = args[2:4]
        floats = [arg for arg in args if is_float(arg)]
        return self.computed(name, result, floats, commutes, chosen) if is_float(result) and floats else result

    return followed


def _moves(method: str) -> Callable[..., Any]:
    """An operation that moves elements, or chooses some, does the same to their histories."""
    original = getattr(GridBuilder, method)

    def followed(self: FollowedBuilder, *args: Any) -> Any:
        result = original(self, *args)
        several = result if isinstance(result, tuple) else (result,)
        if any(map(is_float, several)):
            others = original(self, *(_its_histories(arg) if is_float(arg) else arg for arg in args))
            for operand, other in zip(several, others if isinstance(others, tuple) else (others,), strict=True):
                put(operand, other.data)
        return result

    return followed


def _its_histories(handle: TensorHandle) -> TensorHandle:
    """The histories as numbers, which an operation moves as it moves the handle's own."""
    return TensorHandle(np.broadcast_to(history(handle), handle.data.shape), tl.uint64)


for _name in (*COMMUTES, *COMPUTES, "extern_elementwise", *CHOOSES):
    setattr(FollowedBuilder, f"create_{_name}", _computes(f"create_{_name}", _name in COMMUTES, _name in CHOOSES))
for _name in MOVES:
    setattr(FollowedBuilder, f"create_{_name}", _moves(f"create_{_name}"))


class FollowedReduce(GridReduce):
    """`tl.reduce`."""

    def apply_impl(self, input: tuple[tl.tensor, ...]) -> Any:
        """The reductions, with their histories."""
        return _folded(self, input, super().apply_impl, None)


class FollowedScan(GridScan):
    """`tl.associative_scan`."""

    def apply_impl(self, input: tuple[tl.tensor, ...]) -> Any:
        """The scans, with their histories."""
        return _folded(self, input, super().apply_impl, bool(self.reverse))


def _folded(self: Any, input: tuple[tl.tensor, ...], apply: Callable[..., Any], reverse: bool | None) -> Any:
    """A reduction, or a scan where ``reverse`` is not None, and the histories of its results."""
    builder = interpreter.interpreter_builder
    builder.__class__ = GridBuilder  # what the combining function does has no histories
    try:
        out = apply(input)
    finally:
        builder.__class__ = FollowedBuilder
    floats = [operand.handle for operand in input if is_float(operand.handle)]
    if not floats:
        return out
    known = [np.broadcast_to(history(operand), operand.data.shape) for operand in floats]
    h = (
        known[0]
        if len(known) == 1
        else stir(sum((operand * U(2 * i + 3) for i, operand in enumerate(known)), np.zeros(1, U)))
    )
    h, axis = (h.reshape(len(h), -1), 1) if self.axis is None else (h, self.axis % (h.ndim - 1) + 1)
    name = self.combine_fn.__name__.strip("_").removesuffix("_combine")
    result = _of_lanes(h, axis, reverse, seed(name, h.shape[axis], reverse is not None))
    chooses = reverse is None and name.startswith(("elementwise_m", "arg"))
    kind = "reduction" if reverse is None else "scan"
    for place, operand in enumerate(operand.handle for operand in out if is_float(operand.handle)):
        its = result ^ seed(place) if place else result
        if chooses:
            won = floats[place].data.reshape(h.shape) == np.expand_dims(operand.data.reshape(result.shape), axis)
            its = np.where(won, h, _NOBODY).min(axis)
        its = np.where(is_zero(operand).reshape(result.shape), U(0), its)
        put(operand, its.reshape(operand.data.shape))
        lanes = (np.moveaxis(h, axis, -1),) if reverse is None else ()
        builder.histories.note(f"{kind} {name} of {h.shape[axis]}", current_place(), its, (), lanes)
    return out


def _of_lanes(h: np.ndarray, axis: int, reverse: bool | None, start: np.uint64) -> np.ndarray:
    """The hash of the lanes that are added up, each with its place. Of one number and zeros it is that number's."""

    def add(operand: np.ndarray) -> np.ndarray:
        if reverse is None:
            return np.asarray(operand.sum(axis))
        return np.flip(np.cumsum(np.flip(operand, axis), axis), axis) if reverse else np.cumsum(operand, axis)

    count = add((h != 0).astype(np.int64))
    result = stir(add(with_places(h, axis)) ^ start)
    return np.where(count == 0, U(0), np.where(count == 1, add(h), result))
