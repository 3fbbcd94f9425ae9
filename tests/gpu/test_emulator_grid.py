"""All programs of a launch together, and one at a time: the same findings, hints, bytes and bits."""

import tracemalloc
from collections.abc import Iterable

import diverging
import faultless
import planted
import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from faultless import public
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError
from graded_kernels.autograder.gpu.emulator.grid import passes, storage
from triton.runtime import interpreter
from turns import in_turn

SHUFFLES = pytest.mark.parametrize("shuffle", [None, 1], ids=["in order", "shuffled"])


def ordered_or_shuffled(name: str, programs: Iterable) -> pytest.MarkDecorator:
    """Each program in order or shuffled."""
    return pytest.mark.parametrize(
        (name, "shuffle"),
        in_turn(programs, (None, 1)),
        ids=lambda value: getattr(value, "name", getattr(value, "__name__", None)),
    )


@ordered_or_shuffled("bug", planted.bugs())
def test_planted_bugs(bug, shuffle):
    assert_same(bug.run, shuffle)


# Of the faultless programs those that need an order, or may.
ALONE = {
    "arithmetic_on_addresses": "an address that is not an argument plus an offset",
    "pointers_chosen_lane_by_lane": "an address that is not an argument plus an offset",
    "every_program_may_raise_the_same_flag": "several programs store to one place",
    "a_store_that_changes_nothing_may_be_read": "several programs store to one place",
}


@ordered_or_shuffled("program", faultless.programs())
def test_faultless_kernels(program, shuffle):
    assert_same(program, shuffle)


@pytest.mark.parametrize("program", faultless.programs(), ids=lambda program: program.__name__)
def test_no_launch_is_slow_without_need(program):
    """One program at a time takes ten to a hundred times as long, and finds the same, so nothing else shows it."""
    with Emulator() as emulator:
        program()
    assert [why for _, why in emulator.fallbacks] == [ALONE[name] for name in [program.__name__] if name in ALONE]


def test_an_error_of_our_own_is_no_reason_to_run_one_program_at_a_time(monkeypatch):
    """A name that is missing in a pass made every product in TF32 slow, and nothing said so."""
    monkeypatch.delattr(passes._Watcher, "notice")
    with Emulator() as emulator, pytest.raises(Exception, match="notice") as raised:
        public.a_product_in_tf32()
    assert not isinstance(raised.value, EmulatorError)
    assert isinstance(raised.value.__cause__, AttributeError)
    assert not emulator.findings


@triton.jit
def misusing_kernel(y_ptr):
    tl.store(y_ptr + tl.program_id(0), tl.gather(tl.arange(0, 4), 1, 0))


def test_an_error_of_the_kernels_in_our_code_is_the_kernels():
    with Emulator(), pytest.raises(EmulatorError, match="misusing_kernel"):
        misusing_kernel[(4,)](torch.zeros(4))


@ordered_or_shuffled("name", diverging.PROGRAMS)
def test_programs_that_part(name, shuffle):
    program, reason = diverging.PROGRAMS[name]
    fallbacks = assert_same(program, shuffle)
    assert [why for _, why in fallbacks if not reason or reason not in why] == []
    assert bool(fallbacks) == bool(reason)


@triton.jit
def count_then_leave_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """The programs part after an atomic, for good."""
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y_ptr + x, 1)
    if tl.sum(x) % 2 == 0:
        return
    tl.atomic_add(y_ptr, 100)


def test_many_atomics_are_done_before_the_launch_ends(monkeypatch):
    """Programs cannot part any more then."""

    def program():
        y = torch.zeros(5, dtype=torch.int32)
        count_then_leave_kernel[(64,)](torch.arange(64 * 16).reshape(64, 16) ** 2 % 5, y, BLOCK=16)
        return y

    assert assert_same(program) == []
    monkeypatch.setattr(storage, "_MOST_DUE", 500)
    fallbacks = assert_same(program)
    assert [reason for _, reason in fallbacks] == ["programs part after so many atomics that some are done"]


@pytest.mark.parametrize("shuffle", [None, 1], ids=["in order", "shuffled"])
def test_sums_of_floats_wait_for_their_order(shuffle, monkeypatch):
    """Done in the middle of a loop they would have other bits than one program after the other."""
    program = diverging.PROGRAMS["own rows"][0]
    monkeypatch.setattr(storage, "_MOST_DUE", 500)
    assert assert_same(program, shuffle) == []
    monkeypatch.setattr(storage, "_MOST_SUMS", 500)
    assert [reason for _, reason in assert_same(program, shuffle)] == [
        "more sums of floats than can wait for their order"
    ]


@triton.jit
def own_descriptors_kernel(x_ptr, y_ptr, lengths_ptr, N: tl.constexpr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    """Each program has a matrix of rows of its own, as sequences of a batch have, the last one of other strides."""
    p, length = tl.program_id(0), tl.load(lengths_ptr + tl.program_id(0))
    stride = tl.where(p == tl.num_programs(0) - 1, 2 * N, N)
    x = tl.make_tensor_descriptor(x_ptr + p * 16 * N + SHIFT, [length, N], [stride, 1], [BLOCK, N])
    y = tl.make_tensor_descriptor(y_ptr + p * 16 * N, [length, N], [N, 1], [BLOCK, N])
    for row in range(0, length, BLOCK):
        y.store([row, 0], x.load([row, 0]) + p)


@pytest.mark.parametrize("shift", [0, 4, 1])
def test_programs_have_descriptors_of_their_own(shift):
    lengths = torch.tensor([16, 3, 0, 9, 16, 16], dtype=torch.int32)
    x = torch.arange(7.0 * 16 * 8).reshape(7, 16, 8)

    def program():
        y = torch.zeros(6, 16, 8)
        own_descriptors_kernel[(6,)](x, y, lengths, N=8, SHIFT=shift, BLOCK=4)
        return y

    fallbacks = assert_same(program)
    assert [reason for _, reason in fallbacks] == ["a descriptor that is refused"] * (shift == 1)
    if not shift:
        right = torch.zeros(6, 16, 8)
        for p, length in enumerate(lengths.tolist()):
            right[p, :length] = (x[p] if p < 5 else x[5:].reshape(32, 8)[::2])[:length] + p
        with Emulator():
            assert program().equal(right)


@triton.jit
def wide_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    e = tl.exp(-x)
    tl.store(y_ptr + at, x / (1 + e) + tl.exp(x * x + 1) * (x - 3) + e, mask=at < n)


def test_a_launch_stays_within_its_budget():
    n = 1 << 18
    x, y = torch.zeros(n), torch.zeros(n)
    budgets = {"alone": 0, "small": 1 << 20, "large": 32 << 20}
    most = {}
    for name, budget in budgets.items():
        emulator = Emulator()
        emulator.together, emulator.memory = bool(budget), budget
        tracemalloc.start()
        with emulator:
            wide_kernel[(n // 1024,)](x, y, n, BLOCK=1024)
        most[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not emulator.fallbacks
    for name in ("small", "large"):  # besides the budget: y's words, and whether they were written, to undo the launch
        assert most[name] < most["alone"] + budgets[name] + (4 + 1) * n, f"{name}: {most}"
    assert most["small"] < most["large"]


@triton.jit
def printing_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.static_print("N is", N)
    tl.store(y_ptr + tl.program_id(0), tl.load(x_ptr + tl.program_id(0) * 2))


def test_what_a_compiler_prints_is_printed_once(capfd):
    x, y = torch.zeros(8), torch.zeros(4)
    with Emulator() as emulator:
        printing_kernel[(4,)](x, y, N=4)
    assert capfd.readouterr().out == "N is 4\n"
    assert not emulator.fallbacks
    with Emulator() as emulator, pytest.raises(EmulatorError, match="out of bounds"):
        printing_kernel[(4,)](x[:4], y, N=4)
    assert capfd.readouterr().out == "N is 4\n"
    assert emulator.fallbacks


@triton.jit
def device_printing_kernel(x_ptr):
    print("program", tl.program_id(0))
    tl.device_print("x", tl.load(x_ptr + tl.program_id(0)))


def test_what_programs_print_comes_by_program(capfd):
    printed = []
    for together in (True, False):
        with Emulator() as emulator:
            emulator.together = together
            device_printing_kernel[(3,)](torch.tensor([1.0, 2.0, 3.0]))
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[0].count("program") == 3


@triton.jit
def failing_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(y_ptr + at) + 1)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


def test_a_launch_that_falls_back_leaves_no_trace_of_its_passes():
    """Program 2 of 4 reads out of bounds: programs 0 and 1 have stored, 2 has stored once, 3 never ran."""
    x, y = torch.arange(20.0), torch.full((32,), -5.0)
    with Emulator() as emulator, pytest.raises(EmulatorError, match=r"program \(2, 0, 0\)"):
        failing_kernel[(4,)](x, y, 20, BLOCK=8)
    assert y.tolist() == [*range(16), *[-4.0] * 8, *[-5.0] * 8]
    assert emulator.fallbacks == [("failing_kernel", "a load outside x_ptr")]


@triton.jit
def rows_of_its_own_kernel(x_ptr, y_ptr, total_ptr, rows, ROWS: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Each program has rows of its own, side by side or a step apart, the last ones fewer."""
    first, last = tl.program_id(0) * ROWS, min((tl.program_id(0) + 1) * ROWS, rows)
    if STEP > 1:
        first, last = tl.program_id(0), rows
    for row in range(first, last, STEP):
        at = row * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at) + row)
    total = 0
    for back in range(last, first, -STEP):
        total += back
    tl.store(total_ptr + tl.program_id(0), total)


@triton.jit
def rounds_of_its_own_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for column in range(p):
        total += tl.load(x_ptr + column * BLOCK + tl.arange(0, BLOCK))
    tl.store(y_ptr + p * BLOCK + tl.arange(0, BLOCK), total)


def test_a_range_of_one_bound_begins_at_0_in_each_program():
    x, y = torch.arange(1.0, 81.0).reshape(5, 16), torch.full((6, 16), -1.0)
    with Emulator() as emulator:
        rounds_of_its_own_kernel[(6,)](x, y, BLOCK=16)
    assert emulator.fallbacks == []
    assert y.equal(torch.cat((torch.zeros(1, 16), x.cumsum(0))))


@pytest.mark.parametrize("step", [1, 40])
def test_programs_that_loop_over_rows_of_their_own_go_together(step, monkeypatch):
    """Neither the number of rounds nor where they begin parts them."""
    passed, original = [], passes.Programs
    monkeypatch.setattr(passes, "Programs", lambda *about: passed.append(original(*about)) or passed[-1])
    rows = 317
    x = torch.randn(rows, 16, generator=torch.Generator().manual_seed(0))

    def program():
        y, totals = torch.zeros(rows, 16), torch.zeros(40, dtype=torch.int32)
        rows_of_its_own_kernel[(40,)](x, y, totals, rows, ROWS=8, STEP=step, BLOCK=16)
        return y, totals

    with Emulator():
        y, totals = program()
    assert len(passed) == 1
    assert y.equal(x + torch.arange(rows)[:, None])
    bounds = [(p, rows) if step > 1 else (8 * p, min(8 * (p + 1), rows)) for p in range(40)]
    assert totals.tolist() == [sum(range(last, first, -step)) for first, last in bounds]
    assert assert_same(program) == []


def test_the_launch_is_let_go_of():
    """Tensors die with their last name, not when Python next looks for cycles: peak memory is part of a grade."""
    with Emulator():
        x, y = torch.zeros(1024), torch.zeros(1024)
        before = [t.untyped_storage().data_ptr() for t in (x, y)]
        references = [t.untyped_storage()._weak_ref() for t in (x, y)]
        wide_kernel[(1,)](x, y, 1024, BLOCK=1024)
        del x, y
        assert before
        assert all(torch.UntypedStorage._expired(reference) for reference in references)
        for reference in references:
            torch.UntypedStorage._free_weak_ref(reference)


@triton.jit
def addresses_kernel(index_ptr, x_ptr, y_ptr, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """Loads whose lanes ask for one address several times, in every form that lanes have."""
    p = tl.program_id(0)
    at = tl.load(index_ptr + p * BLOCK + tl.arange(0, BLOCK))
    if FORM == 0:
        x = tl.load(x_ptr + at)
    elif FORM == 1:
        x = tl.load(x_ptr + p + tl.arange(0, BLOCK) // 3)
    elif FORM == 2:
        x = tl.load(x_ptr + at, mask=tl.arange(0, BLOCK) < n, other=0.0)
    else:
        x = tl.load(x_ptr + at, mask=at % 3 != p % 3, other=0.0)
    tl.store(y_ptr + p * BLOCK + tl.arange(0, BLOCK), x)


@pytest.mark.parametrize("form", range(4))
def test_distinct_addresses_are_counted_by_program(form):
    index = torch.randint(0, 20, (30, 16), generator=torch.Generator().manual_seed(1))

    def program():
        y = torch.zeros(30, 16)
        addresses_kernel[(30,)](index, torch.arange(64.0), y, 11, FORM=form, BLOCK=16)

    assert assert_same(program) == []


@triton.jit
def mixed_kernel(x_ptr, y_ptr, rows, wide, BLOCK: tl.constexpr):
    """Operands of two ranks, two integer types, pointers, bits, numbers on both sides, and `-0.0`."""
    own = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    lines = own * rows + tl.arange(0, 4)
    at = lines.to(tl.int64)[:, None] * wide + cols[None, :]
    inside = ((lines < 6)[:, None] & (cols < wide)[None, :]) | (at == 0)
    x = tl.load(x_ptr + at, mask=inside, other=-1.0)
    weight = 1 - 0.5 * x + own * cols / 2 + (x > own)
    weight = weight * x[None, :, :, None].reshape(4, BLOCK) + (-0.0)
    tl.store(y_ptr + (at + (own - own)), weight / (cols + 1.5), mask=inside & (at >= 0))


def mixed():
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    y = torch.empty(8, 5)
    mixed_kernel[(2,)](x, y, 4, 5, BLOCK=8)
    return y[:6]


@SHUFFLES
def test_operands_of_two_shapes_and_types(shuffle):
    assert assert_same(mixed, shuffle) == []


@triton.jit
def indexed_kernel(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK).to(tl.int64)[:, None] * stride + tl.arange(0, BLOCK)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at), mask=(tl.arange(0, BLOCK) < 8)[:, None] & (at >= 0))


def test_addresses_and_masks_take_the_short_way(monkeypatch):
    """Nearly all operations of a kernel on matrices are these: Triton's language layer is asked for none of them."""
    asked = []
    for name in ("binary_op_type_checking_impl", "expand_dims"):
        slow = getattr(type(interpreter.interpreter_semantic), name)
        monkeypatch.setattr(
            type(interpreter.interpreter_semantic), name, lambda *a, s=slow, n=name, **k: asked.append(n) or s(*a, **k)
        )
    x, y = torch.randn(16, 16), torch.zeros(16, 16)
    with Emulator() as emulator:
        indexed_kernel[(1,)](x, y, 16, BLOCK=16)
    assert not emulator.fallbacks
    assert y[:8].equal(x[:8])
    assert not y[8:].any()
    assert asked == []
