"""The emulator's interface: what it records, what it raises, and what it says of itself."""

from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import CANNOT_SHOW, Emulator, EmulatorError
from graded_kernels.autograder.gpu.emulator.findings import current_place, place_of


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


@triton.jit
def unmasked_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def test_traffic_counts_the_lanes_that_are_on():
    x, y = torch.arange(100.0), torch.zeros(100)
    with Emulator() as emulator:
        double_kernel[(2,)](x, y, 100, BLOCK=64)
        double_kernel[(1,)](x, y, 10, BLOCK=64)
    assert emulator.traffic == {"x_ptr": {"loaded": 440, "stored": 0}, "y_ptr": {"loaded": 0, "stored": 440}}


def test_a_launch_is_recorded_as_triton_specialises_it():
    x = torch.zeros(3, 40, dtype=torch.bfloat16)[:, 1:33]
    with Emulator() as emulator:
        double_kernel[(1,)](x, torch.zeros(100), 32, BLOCK=32, num_warps=8)
    (launch,) = emulator.launches
    assert launch.name == "double_kernel"
    assert launch.grid == (1, 1, 1)
    assert launch.options == (("num_warps", 8),)
    assert launch.kernel is double_kernel.fn
    x_ptr, y_ptr, n, block = launch.arguments
    assert (x_ptr.kind, x_ptr.type, x_ptr.dtype) == ("tensor", "*bf16", "bfloat16")
    assert (x_ptr.shape, x_ptr.stride, x_ptr.divisible) == ((3, 32), (40, 1), False)
    assert y_ptr.divisible
    assert (n.kind, n.type, n.value, n.divisible) == ("scalar", "i32", 32, True)
    assert (block.kind, block.type, block.value) == ("constexpr", "constexpr", 32)


def test_the_bad_access_is_never_performed():
    memory = torch.full((128,), 7.0)
    y = memory[:100]
    with Emulator() as emulator, pytest.raises(EmulatorError) as caught:
        unmasked_kernel[(2,)](torch.arange(128.0), y, BLOCK=64)
    assert memory[100:].tolist() == [7.0] * 28
    assert emulator.findings == (caught.value.finding,)


def test_a_finding_points_at_the_element_and_the_line():
    with Emulator() as emulator, pytest.raises(EmulatorError):
        unmasked_kernel[(2,)](torch.arange(100.0), torch.zeros(128), BLOCK=64)
    (finding,) = emulator.findings
    assert (finding.kind, finding.kernel, finding.tensor) == ("out-of-bounds", "unmasked_kernel", "x_ptr")
    assert (finding.offset, finding.program) == (100, (1, 0, 0))
    assert finding.source == "tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))"
    assert finding.file == __file__
    first = unmasked_kernel.fn.__code__.co_firstlineno
    assert finding.line == first + 3


@triton.jit
def careless_helper(x_ptr, offsets):
    return tl.load(x_ptr + offsets)


@triton.jit
def calling_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, careless_helper(x_ptr, offsets))


def test_a_finding_in_a_helper_points_at_the_helpers_line():
    with Emulator() as emulator, pytest.raises(EmulatorError):
        calling_kernel[(1,)](torch.zeros(3), torch.zeros(4), BLOCK=4)
    assert emulator.findings[0].source == "return tl.load(x_ptr + offsets)"
    assert emulator.findings[0].kernel == "calling_kernel"


def test_a_neighbour_in_memory_is_not_the_tensor():
    """x is followed by y in one allocation: an overrun of x lands in y, which the launch was given too."""
    both = torch.zeros(128)
    with Emulator() as emulator, pytest.raises(EmulatorError, match="loads x_ptr out of bounds"):
        unmasked_kernel[(2,)](both[:64], both[64:], BLOCK=64)
    assert emulator.findings[0].offset == 64


def test_an_exception_in_the_kernel_says_where_and_keeps_its_cause():
    with Emulator() as emulator, pytest.raises(EmulatorError) as caught:
        double_kernel[(1,)](torch.zeros(4), None, 4, BLOCK=4)
    assert emulator.findings[0].kind == "kernel-error"
    assert emulator.findings[0].source.startswith("tl.store(y_ptr")
    assert caught.value.__cause__ is not None


def test_the_same_fault_is_told_once():
    @triton.jit
    def race_kernel(y_ptr):
        tl.store(y_ptr, tl.program_id(0))

    with Emulator() as emulator:
        race_kernel[(50,)](torch.zeros(1, dtype=torch.int32))
    assert [f.kind for f in emulator.findings] == ["store-conflict"]


def test_the_grid_is_a_tuple_of_integers():
    with Emulator() as emulator, pytest.raises(EmulatorError, match=r"must be a tuple of integers"):
        double_kernel[(100 / 64,)](torch.zeros(100), torch.zeros(100), 100, BLOCK=64)
    assert emulator.findings[0].kind == "grid"
    assert emulator.launches == ()


def test_a_shuffled_grid_runs_every_program_once_in_another_order():
    @triton.jit
    def order_kernel(count_ptr, order_ptr):
        turn = tl.atomic_add(count_ptr, 1)
        tl.store(order_ptr + turn, tl.program_id(0) * 6 + tl.program_id(1) * 3 + tl.program_id(2))

    def order(shuffle):
        turns = torch.zeros(24, dtype=torch.int32)
        with Emulator(shuffle=shuffle):
            order_kernel[(4, 2, 3)](torch.zeros(1, dtype=torch.int32), turns)
        return turns.tolist()

    assert order(None) == list(range(24))
    assert sorted(order(1)) == list(range(24))
    assert order(1) != list(range(24))
    assert order(1) == order(1) != order(2)


TRIED = []


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, pre_hook=lambda args: TRIED.append(args["BLOCK"])) for b in (16, 32, 64, 128)],
    key=["n"],
)
@triton.jit
def tuned_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, offsets < n), offsets < n)


def test_an_autotuner_takes_each_configuration_for_some_sizes():
    def blocks(sizes, shuffle=None):
        TRIED.clear()
        for size in sizes:
            x, y = torch.arange(float(size)), torch.zeros(size)
            with Emulator(shuffle=shuffle) as emulator:
                tuned_kernel[lambda meta, n=size: (triton.cdiv(n, meta["BLOCK"]),)](x, y, size)
            assert y.equal(x)
            assert [h.kind for h in emulator.hints if h.kind != "masked-load"] == ["configuration"][: TRIED[-1] != 16]
        return TRIED.copy()

    assert {*blocks(range(100, 120))} == {16, 32, 64, 128}
    assert blocks(range(100, 120), shuffle=3) == blocks(range(100, 120))


@triton.jit
def side_kernel(y_ptr, SIDE: tl.constexpr, OTHER: tl.constexpr):
    tl.store(y_ptr, SIDE)


def test_what_one_autotuner_draws_says_nothing_of_another():
    """Two draws in a row, from an even one on, name each configuration once."""
    tuners = [
        triton.autotune([triton.Config({"SIDE": side, "OTHER": other}) for side in (1, 2)], key=[])(side_kernel)
        for other in range(2)
    ]
    drawn = []
    for choice in range(24):
        sides = torch.zeros(2)
        with Emulator(choice=choice):
            for number, tuner in enumerate(tuners):
                tuner[(1,)](sides[number:])
        drawn.append(tuple(sides.tolist()))
    assert {*drawn} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    for first, second in zip(drawn[::2], drawn[1::2], strict=True):
        assert all(sorted(sides) == [1, 2] for sides in zip(first, second, strict=True))


def test_float_arguments_are_float32_as_on_a_device():
    @triton.jit
    def scalar_kernel(y_ptr, value):
        tl.store(y_ptr, value.to(tl.float64))

    y = torch.zeros(1, dtype=torch.float64)
    with Emulator():
        scalar_kernel[(1,)](y, 0.1)
    assert y.item() == torch.tensor(0.1).double().item() != 0.1


@triton.jit
def chained_kernel(y_ptr, n, N: tl.constexpr, NEVER: tl.constexpr):
    i = tl.arange(0, N)
    if NEVER:
        parts = {"not": "compiled"}  # noqa: F841  behind a constant
    tl.store(y_ptr + i, tl.where(2 <= i < n, 1.0, 0.0))


def test_a_chained_comparison_is_right_or_refused():
    y = torch.zeros(8)
    try:
        with Emulator() as emulator:
            chained_kernel[(1,)](y, 5, N=8, NEVER=False)
        assert y.tolist() == [0, 0, 1, 1, 1, 0, 0, 0]
    except EmulatorError as error:
        assert triton.__version__ < "3.9"
        assert "write `(a <= x) & (x < b)`" in str(error)
        assert emulator.findings[0].kind == "unsupported"


def test_each_limit_of_the_emulator_is_explained():
    @triton.jit
    def loose_kernel(x_ptr, y_ptr):
        x = tl.load(x_ptr)
        tl.atomic_add(y_ptr, tl.exp(x) + tl.exp2(x) + tl.sqrt(x) + tl.rsqrt(x) + 1 / x)

    with Emulator() as emulator:
        loose_kernel[(1,)](torch.ones(1), torch.zeros(1))
    assert set(emulator.looser) == {"exp", "exp2", "sqrt", "rsqrt", "/", "atomic", "atomic sum"}
    assert set(emulator.looser) <= {name for name, _ in CANNOT_SHOW}


def _looser(kernel) -> set[str]:
    x, y = torch.arange(6.0), torch.zeros(6)
    with Emulator() as emulator:
        kernel[(2,)](x, y, 3, BLOCK=4)
    assert y.tolist() == x.tolist()
    return set(emulator.looser)


def test_an_offset_of_32_bits_from_the_programs_number_is_noted():
    @triton.jit
    def named(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        program = tl.program_id(0)
        offsets = program * n + tl.arange(0, BLOCK)
        mask = tl.arange(0, BLOCK) < n
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

    @triton.jit
    def moved(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        x_ptr += tl.program_id(0) * n
        cols = tl.arange(0, BLOCK)
        at = y_ptr + tl.program_id(0).to(tl.int64) * n + cols
        tl.store(at, tl.load(x_ptr + cols, mask=cols < n, other=0.0), mask=cols < n)

    @triton.jit
    def wide(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        start = tl.program_id(0) * n  # no part of an offset
        cols = tl.arange(0, BLOCK)
        mask = (cols < n) & (start + cols < 6)
        tl.store(y_ptr + row * n + cols, tl.load(x_ptr + row * n + cols, mask=mask, other=0.0), mask=mask)

    assert (_looser(named), _looser(moved), _looser(wide)) == ({"offsets"}, {"offsets"}, set())


def test_python_operators_between_blocks_are_noted():
    @triton.jit
    def blocks(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        cols = tl.arange(0, BLOCK)
        mask = (cols >= 0) and (cols < n)
        row = tl.program_id(0).to(tl.int64) * n
        tl.store(y_ptr + row + cols, tl.load(x_ptr + row + cols, mask=mask, other=0.0), mask=mask)

    @triton.jit
    def scalars(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        cols = tl.arange(0, BLOCK)
        row = tl.program_id(0).to(tl.int64) * n
        if n > 0 and BLOCK > 0:
            x = tl.load(x_ptr + row + cols, mask=cols < n, other=0.0)
            tl.store(y_ptr + row + cols, x, mask=cols < n)

    @triton.jit
    def library(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        """`tl.argmax` has an ``or`` of its own, between scalars for the compiler."""
        cols = tl.arange(0, BLOCK)
        row = tl.program_id(0).to(tl.int64) * n
        x = tl.load(x_ptr + row + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row + cols, x + 0 * tl.argmax(x, 0), mask=cols < n)

    assert (_looser(blocks), _looser(scalars), _looser(library)) == ({"logical"}, set(), set())


def test_a_library_whose_name_begins_like_pytorchs_is_not_pytorch():
    """torchao has kernels of its own, and a finding in one has their line."""
    file, found = f"{Path(torch.__file__).parent}ao/kernels.py", {"current_place": current_place}
    with pytest.raises(ZeroDivisionError) as raised:
        exec(compile("place = current_place()\n1 / 0", file, "exec"), found)
    assert (found["place"].file, place_of(raised.value).line) == (file, 2)
