"""What the emulator does quicker than Triton's language layer gives what the layer gives: types, bits and errors."""

import itertools

import numpy as np
import pytest
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.gpu.emulator.grid.lanes import Lanes
from graded_kernels.autograder.gpu.emulator.grid.operators import operators
from graded_kernels.autograder.gpu.emulator.handles import numpy_type
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

TYPES = (tl.int1, tl.int8, tl.uint8, tl.int32, tl.uint32, tl.int64, tl.float16, tl.bfloat16, tl.float32, tl.float64)
NUMBERS = (0, -0.0, 3, -1, 2.5, True, 2**31, 2**40, 1e-40, float("inf"), float("nan"))
SHAPES = ((), (4,), (1, 4), (2, 1), (2, 4))


@pytest.fixture(autouse=True)
def emulator():
    with Emulator() as emulator:
        emulator.prepare()
        yield emulator


def tensor(dtype, shape=(4,)):
    """Values with a sign, a fraction, one too large for small types, and for floats NaN."""
    storage = numpy_type(dtype)
    bits = np.random.default_rng(7).integers(0, 256, (max(1, int(np.prod(shape))), storage.itemsize), np.uint8)
    data = bits[:, 0] > 127 if dtype == tl.int1 else np.ascontiguousarray(bits).view(storage)[:, 0]
    kind = tl.block_type(dtype, list(shape)) if shape else dtype
    return tl.tensor(TensorHandle(data.reshape(shape or (1,)), dtype), kind)


def outcome(function, *args):
    """Type and bits of each result, or the error."""
    try:
        with np.errstate(all="ignore"):
            results = function(*args)
    except Exception as error:
        return type(error), str(error)
    results = results if isinstance(results, tuple) else (results,)
    return [(one.type.name, one.handle.dtype.name, one.handle.data.shape, one.handle.data.tobytes()) for one in results]


def assert_same(name, *args):
    quick, slow = getattr(interpreter.interpreter_semantic, name), getattr(TritonSemantic, name)
    assert quick.__module__.endswith("emulator.shortcuts"), "the quick one is in place"
    for _ in range(2):  # what was remembered, too
        assert outcome(quick, *args) == outcome(slow, interpreter.interpreter_semantic, *args)


def test_operands_are_broadcast():
    for one, other in itertools.product(SHAPES, (*SHAPES, (8,))):
        assert_same("broadcast_impl_value", tensor(tl.float32, one), tensor(tl.int32, other))


@pytest.mark.parametrize("spread", (1, 5, 1 << 20))
@pytest.mark.parametrize("columns", (4, 32))
@pytest.mark.parametrize("masked", (False, True))
def test_distinct_elements_are_counted_by_row(spread, columns, masked):
    """A flag for each element where they lie near each other, else the elements sorted."""
    draw = np.random.default_rng(3)
    for few in (3, 50, 100_000):
        offsets = draw.integers(0, few, (6, columns)) * spread
        mask = draw.random((6, columns)) < 0.7 if masked else None
        on = np.ones_like(offsets, bool) if mask is None else mask
        expected = [len(set(row[keep].tolist())) for row, keep in zip(offsets, on, strict=True)]
        assert np.broadcast_to(Lanes(offsets, mask).distinct(), 6).tolist() == expected


def test_quicker_operators_are_made_once_for_those_they_stand_on(monkeypatch):
    made, asked = operators(), []
    assert operators() is made
    for name in ("__add__", "__radd__", "__and__", "__getitem__"):
        monkeypatch.setattr(tl.tensor, name, lambda one, other, name=name: asked.append(name))
    later = operators()
    for name in ("__add__", "__radd__", "__and__", "__getitem__"):
        later[name](tensor(tl.float16), "what the layer alone knows")
    assert asked == ["__add__", "__radd__", "__and__", "__getitem__"]


def test_a_mask_of_one_column_is_one_for_every_column():
    offsets, mask = np.arange(12).reshape(3, 4) * 2, np.array([[True], [False], [True]])
    lanes = Lanes(offsets, mask)
    assert lanes.at.tolist() == offsets[[0, 2]].ravel().tolist()
    assert lanes.counts().tolist() == [4, 0, 4]
