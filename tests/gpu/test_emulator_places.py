"""An element's bits hang on its own inputs and the operation alone: not on its place, nor on the size of its block.

Operations are asked of the builder itself, which is all that a kernel's block meets. Every method of it that makes
floats is in one of the lists here.
"""

import inspect
import itertools

import numpy as np
import pytest
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, arithmetic, libdevice, products
from graded_kernels.autograder.gpu.emulator.launch import Launch
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

N = 1024
ONE = ("exp", "exp2", "log", "log2", "sqrt", "precise_sqrt", "rsqrt", "sin", "cos", "erf", "fabs", "floor", "ceil")
TWO = (
    *("fadd", "fsub", "fmul", "fdiv", "precise_divf", "frem"),
    *("minnumf", "maxnumf", "minimumf", "maximumf"),
)
OTHERS = ("fma", "clampf")
# Of the builder's methods, those that move floats, make them of integers or of another type, compare or only hold them;
# those that have a test below; and what calls a kernel's or somebody else's code for each element.
MOVED = """splat unsplat expand_dims broadcast reshape trans join split cat gather select load masked_load store
    masked_store tensor_pointer_load tensor_pointer_store descriptor_load descriptor_store descriptor_gather
    descriptor_scatter bitcast addptr ptr_to_int int_to_ptr atomic_cas atomic_rmw atomic_load atomic_poll print assert
    barrier make_range get_program_id get_num_programs idiv histogram make_block_ptr advance
    make_tensor_descriptor descriptor_reduce atomic_store assume""".split()
CONVERTED = "fp_to_fp fp_ext fp_trunc fp_to_si fp_to_ui si_to_fp ui_to_fp int_cast".split()
ELSEWHERE = "dot dot_scaled extern_elementwise inline_asm".split()


@pytest.fixture(autouse=True)
def emulator():
    with Emulator() as one, np.errstate(all="ignore"):
        one.prepare()
        one.begin(Launch(None, "kernel", (1, 1, 1), ()))  # what a product in TF32 is said of
        one.launching = True  # the functions by which a scan combines run as a kernel's
        yield one


def handle(array: np.ndarray, dtype: tl.dtype = tl.float32) -> TensorHandle:
    return TensorHandle(array, dtype)


def made_by(name: str, *arrays: np.ndarray) -> np.ndarray:
    operation = getattr(interpreter.interpreter_builder, f"create_{name}")
    more = (interpreter._ir.PROPAGATE_NAN.NONE,) if name == "clampf" else ()
    return np.ascontiguousarray(operation(*map(handle, arrays), *more).data)


def external(name: str, *arrays: np.ndarray) -> np.ndarray:
    builder = interpreter.interpreter_builder
    return builder.create_extern_elementwise("", "", f"__nv_{name}f", list(map(handle, arrays)), tl.float32, True).data


def numbers(count: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    scale = generator.choice([0.1, 1, 10], N)
    return [np.abs(generator.standard_normal(N) * scale).astype(np.float32) for _ in range(count)]


def places(arrays: list[np.ndarray]):
    """Arrays in other places and blocks of other sizes, and which elements they hold."""
    at = np.arange(N)
    for size in (1, 2, 4, 8, 16, 32, 128, N // 2):
        for first in (0, 1, 3, 7):
            for start in range(first, min(N, first + 16 * size) - size + 1, size):
                yield [x[start : start + size].copy() for x in arrays], at[start : start + size]
    second = [np.repeat(x, 2)[::2] for x in arrays]  # every second element of memory
    yield second, at
    yield [x.reshape(32, -1).T for x in arrays], at.reshape(32, -1).T
    yield [np.broadcast_to(x[:64, None], (64, 16)) for x in arrays], np.broadcast_to(at[:64, None], (64, 16))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


@pytest.mark.parametrize("name", [*ONE, *TWO, *OTHERS])
def test_an_elementwise_operation_is_the_same_everywhere(name):
    arrays = numbers(1 if name in ONE else 2 if name in TWO else 3)
    whole = made_by(name, *arrays)
    for parts, at in places(arrays):
        assert same(made_by(name, *parts), whole[at])


def test_libdevice_is_the_same_everywhere():
    for name, function in libdevice._FLOAT.items():
        count = function.nin if isinstance(function, np.ufunc) else len(inspect.signature(function).parameters)
        arrays = numbers(count)
        whole = external(name, *arrays)
        for parts, at in itertools.islice(places(arrays), 0, None, 9):
            assert same(external(name, *parts), whole[at]), name


def reduced(x: np.ndarray, axis: int, combine=tl.standard._sum_combine) -> np.ndarray:
    block = tl.tensor(handle(x), tl.block_type(tl.float32, list(x.shape)))
    return interpreter.ReduceOps(axis, combine, False).apply(block).handle.data


def scanned(x: np.ndarray, axis: int) -> np.ndarray:
    block = tl.tensor(handle(x), tl.block_type(tl.float32, list(x.shape)))
    return interpreter.ScanOps(axis, tl.standard._sum_combine, False).apply(block).handle.data.copy()


CHOSEN = ([0], [63], [3, 2], range(16), range(5, 21), range(63, -1, -1), [*range(64)] * 2)


@pytest.mark.parametrize("columns", [1, 2, 8, 64, 256])
@pytest.mark.parametrize("combine", [tl.standard._sum_combine, tl.standard._elementwise_max], ids=["sum", "max"])
def test_a_row_is_reduced_in_one_order(columns, combine):
    """Along either axis, whatever the layout, and whichever rows are beside it."""
    x = np.random.default_rng(1).standard_normal((64, columns)).astype(np.float32)
    whole = reduced(x, 1, combine)
    for rows in map(list, CHOSEN):
        assert same(reduced(x[rows], 1, combine), whole[rows])
        assert same(reduced(np.asfortranarray(x[rows]), 1, combine), whole[rows])
        assert same(reduced(x[rows].T.copy(), 0, combine), whole[rows])
        assert same(reduced(x[rows].T, 0, combine), whole[rows])


@pytest.mark.parametrize("columns", [1, 2, 8, 64, 256])
def test_a_row_is_scanned_in_one_order(columns):
    x = np.random.default_rng(1).standard_normal((64, columns)).astype(np.float32)
    whole = scanned(x, 1)
    for rows in map(list, CHOSEN):
        assert same(scanned(x[rows], 1), whole[rows])
        assert same(scanned(x[rows].T.copy(), 0).T, whole[rows])


def factors(dtype: tl.dtype) -> list[np.ndarray]:
    generator = np.random.default_rng(2)
    arrays = [generator.standard_normal((64, 64)).astype(np.float32) for _ in range(2)]
    if dtype == tl.bfloat16:
        return [arithmetic.to_bf16(x) for x in arrays]
    return [x.astype({tl.float16: np.float16, tl.float64: np.float64}.get(dtype, np.float32)) for x in arrays]


def product(x: np.ndarray, y: np.ndarray, dtype: tl.dtype, precision: str) -> np.ndarray:
    total = tl.float64 if dtype == tl.float64 else tl.float32
    shape = (*x.shape[:-1], y.shape[-1])
    zero = handle(np.zeros(shape, np.float64 if dtype == tl.float64 else np.float32), total)
    how = getattr(interpreter._ir.INPUT_PRECISION, precision)
    return interpreter.interpreter_builder.create_dot(handle(x, dtype), handle(y, dtype), zero, how, 0).data


@pytest.mark.parametrize(
    ("dtype", "precision"),
    [
        *((dtype, "IEEE") for dtype in (tl.float64, tl.float32, tl.float16, tl.bfloat16)),
        *((tl.float32, precision) for precision in ("TF32", "TF32x3")),
    ],
    ids=str,
)
def test_a_product_is_summed_in_one_order(dtype, precision):
    """Rows and columns elsewhere, in tiles of other sizes down to one, and among other programs; in K's order."""
    x, y = factors(dtype)
    whole = product(x, y, dtype, precision)
    rows = range(16), range(5, 21), range(63, -1, -1), [*range(64)] * 2, [7] * 16, [7], [7] * 5
    columns = range(16), range(3, 35), range(63, -1, -1), [5] * 16, [5], [5] * 3
    for m, n, programs in itertools.product(map(list, rows), map(list, columns), (1, 3)):
        one, other = np.ascontiguousarray(x[m]), np.ascontiguousarray(y[:, n])
        if programs == 1:
            made = product(one, other, dtype, precision)
        else:
            made = product(np.stack([one] * 3), np.stack([other] * 3), dtype, precision)[1]
        assert same(made, whole[np.ix_(m, n)]), (m, n, programs)
    if precision == "IEEE":
        wide = [arithmetic.from_bf16(a) if dtype == tl.bfloat16 else a for a in (x, y)]
        total = np.zeros((64, 64))
        for k in range(64):
            total += wide[0][:, k, None].astype(np.float64) * wide[1][None, k]
        assert same(whole, total if dtype == tl.float64 else total.astype(np.float32))


def cancelling(generator: np.random.Generator, k: int) -> list[np.ndarray]:
    """Factors of three programs; in a row of each, large terms leave what their order makes of them."""
    x, y = (generator.standard_normal((3, *shape)).astype(np.float32) for shape in ((64, k), (k, 32)))
    x[:, 5, k // 2 :], y[:, k // 2 :, :4] = -1e9, 1
    x[:, 5, : k // 2], y[:, : k // 2, :4] = generator.permutation(x[:, 5, k // 2 :] * -1 + np.float32(128)), 1
    x[:, 5] *= generator.uniform(0.5, 2, k).astype(np.float32)
    return [x, y]


@pytest.mark.parametrize("ends", ["none", "zeros", "tiny", "huge", "infinite"])
def test_a_rounded_product_has_the_bits_of_the_sum_in_order(ends):
    generator = np.random.default_rng(4)
    for k in (16, 64, 96):
        x, y = cancelling(generator, k)
        if ends == "zeros":
            x[:, :2], y[:, :, 7] = -0.0, 0
        elif ends == "infinite":
            x[0, 1, 3], x[1, 1, 3], y[2, 0, 0] = np.inf, np.nan, -np.inf
        else:
            x *= np.float32({"none": 1, "tiny": 1e-38, "huge": 1e30}[ends])
            y *= np.float32({"none": 1, "tiny": 1e-5, "huge": 1e8}[ends])
        for one, other in ((x, y), (x[:1], y), (x, y[:1]), (x[0], y[0])):
            with np.errstate(all="ignore"):
                expected = products.product(one, other).astype(np.float32)
                made = products.product_float32(one, other)
            assert same(made, expected)


def test_a_scaled_product_is_summed_in_one_order():
    generator = np.random.default_rng(3)
    x, y = (generator.integers(0, 120, (64, 64), np.uint8) for _ in range(2))
    scale = handle(generator.integers(120, 130, (64, 2), np.uint8), tl.uint8)

    def scaled(m: list[int], n: list[int]) -> np.ndarray:
        zero = handle(np.zeros((len(m), len(n)), np.float32))
        one, other = handle(x[m], tl.float8e5), handle(np.ascontiguousarray(y[:, n]), tl.float8e5)
        left, right = (handle(scale.data[rows], tl.uint8) for rows in (m, n))
        builder = interpreter.interpreter_builder
        return builder.create_dot_scaled(one, left, None, other, right, None, False, True, True, zero).data

    everything = [*range(64)]
    whole = scaled(everything, everything)
    for m, n in itertools.product(([*range(16)], [7], [*range(5, 21)]), ([*range(3, 35)], [5], [5] * 3)):
        assert same(scaled(m, n), whole[np.ix_(m, n)])


def test_every_operation_that_computes_floats_is_asked():
    methods = {name.removeprefix("create_") for name in dir(interpreter.interpreter_builder) if name[:7] == "create_"}
    computed = {*ONE, *TWO, *OTHERS, *MOVED, *CONVERTED, *ELSEWHERE}
    compares_or_integers = {name for name in methods if name.startswith(("fcmp", "icmp"))}
    integers = set(
        """add sub mul sdiv udiv srem urem and or xor shl lshr ashr minsi minui maxsi maxui iabs umulhi
        """.split()
    )
    assert methods - computed - compares_or_integers - integers == set()
