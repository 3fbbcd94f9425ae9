"""Offsets in 32 bits are noted, whatever they are made of, and integers that wrap around are named."""

import dataclasses
import re

import pytest
import torch
import triton
import triton.language as tl
from answers import PAIRS, answer
from both_ways import assert_same
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError
from graded_kernels.autograder.judge import Exercise
from graded_kernels.autograder.runner import InProcess, far_apart

WIDE = ".to(tl.int64)"
NAMES = [name for name, backend in PAIRS if backend == "triton" and isinstance(EXERCISES[name], Exercise)]
MUTANTS = [(name, number) for name in NAMES for number in range(answer(name, "triton").cells[-1].source.count(WIDE))]
# An index of the last dimension, or one that is added to 64 bits before it is multiplied.
RIGHT = {
    ("attention_forward", "rows = rows"),
    ("attention_backward", "at = (pair * M + rows[:, None]) * D + cols[None, :]"),
    ("attention_backward", "at = (pair * N + keys[:, None]) * D + cols[None, :]"),
}


def mutant(name: str, number: int):
    """Our answer without its ``number``-th conversion to 64 bits, and the line that had it."""
    whole = answer(name, "triton")
    source = whole.cells[-1].source
    at = [match.start() for match in re.finditer(re.escape(WIDE), source)][number]
    changed = source[:at] + source[at + len(WIDE) :]
    line = changed.splitlines()[changed[:at].count("\n")].strip()
    cell = dataclasses.replace(whole.cells[-1], source=changed)
    return dataclasses.replace(whole, cells=(*whole.cells[:-1], cell)), line


def noted(name: str, one) -> bool:
    """Whether any case's call has the note on offsets."""
    record = EXERCISES[name]
    runner = InProcess(one.load(), record.contract, "triton")
    drawn = (case.inputs(torch.Generator().manual_seed(number)) for number, case in enumerate(record.cases))
    return any("offsets" in runner.once(args).looser for args in drawn)


# Elements, programs of two axes, and an answer one of whose conversions RIGHT excuses.
FEW = {"matmul", "attention_forward", "softcap_backward"}


def few(name: str, *more) -> object:
    return pytest.param(name, *more, marks=() if name in FEW else pytest.mark.exhaustive)


@pytest.mark.parametrize("name", [few(name) for name in NAMES])
def test_offsets_of_our_answers_have_64_bits(name):
    assert not noted(name, answer(name, "triton"))


@pytest.mark.parametrize(("name", "number"), [few(*mutant) for mutant in MUTANTS])
def test_an_offset_of_32_bits_is_noted(name, number):
    one, line = mutant(name, number)
    why = (
        f"`{line}` is as right in 32 bits: leave {WIDE} out, or name it in RIGHT of tests/gpu/test_emulator_offsets.py"
    )
    assert noted(name, one) == ((name, line) not in RIGHT), why


@triton.jit
def first_of(program, BLOCK: tl.constexpr):
    return program * BLOCK


@triton.jit
def offsets_kernel(x_ptr, y_ptr, index_ptr, n, stride, WAY: tl.constexpr, BLOCK: tl.constexpr):
    program, i = tl.program_id(0), tl.arange(0, BLOCK)
    if WAY == "cast back":
        at = program.to(tl.int64).to(tl.int32) * BLOCK + i
    elif WAY == "widened too late":
        at = (program * BLOCK).to(tl.int64) + i
    elif WAY == "narrowed too early":
        at = (program.to(tl.int64) * BLOCK).to(tl.int32) + i
    elif WAY == "shifted":
        at = (program << 4) + i
    elif WAY == "combined":
        at = (program * tl.num_programs(1) + tl.program_id(1)) * BLOCK + i
    elif WAY == "by a helper":
        at = first_of(program, BLOCK) + i
    elif WAY == "advanced":
        x_ptr += program * BLOCK
        y_ptr += program * BLOCK
        at = i
    elif WAY == "columns apart":
        x_ptr += program.to(tl.int64) * BLOCK * 2
        y_ptr += program.to(tl.int64) * BLOCK * 2
        at = i * stride
    elif WAY == "row loaded":
        at = tl.load(index_ptr + program) * n + i
    elif WAY == "in a loop":
        for tile in range(program, program + 1):
            at = tile * BLOCK + i
            tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < 64, other=0.0), mask=at < 64)
        at = program.to(tl.int64) * BLOCK + i
    elif WAY == "in 64 bits":
        at = program.to(tl.int64) * BLOCK + i
    elif WAY == "a counter of elements":
        at = program.to(tl.int64) * BLOCK + i
        for start in range(0, n, BLOCK):
            tl.store(y_ptr + at + (start - start), tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)
    elif WAY == "the second axis":
        at = program.to(tl.int64) * BLOCK + tl.program_id(1) * BLOCK + i
    else:  # a column, whose number is small
        at = program.to(tl.int64) * n + i
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < 64, other=0.0), mask=at < 64)


NARROW = (
    "cast back", "widened too late", "narrowed too early", "shifted", "combined", "by a helper", "advanced",
    "columns apart", "row loaded", "in a loop",
)  # fmt: skip
ENOUGH = ("in 64 bits", "a counter of elements", "the second axis", "column")


@pytest.mark.parametrize("way", NARROW + ENOUGH)
def test_what_an_offset_is_made_of(way):
    def program():
        x, y, index = torch.arange(128.0), torch.empty(128), torch.arange(4, dtype=torch.int32)
        offsets_kernel[(4, 1)](x, y, index, 16, 2, WAY=way, BLOCK=16)

    with Emulator() as emulator:
        program()
    assert emulator.looser == (("offsets",) if way in NARROW else ())
    assert emulator.findings == ()
    assert_same(program)


@triton.jit
def far_kernel(x_ptr, y_ptr, stride, WAY: tl.constexpr):
    """Row p of x, whose rows lie 2^30 elements apart, by an offset in 32 bits."""
    p = tl.program_id(0)
    if WAY == "multiplication":
        at = p * stride
    elif WAY == "addition":
        at = tl.zeros((), tl.int32)
        for _ in range(p):
            at += stride
    elif WAY == "subtraction":
        at = tl.zeros((), tl.int32)
        for _ in range(p):
            at -= -stride
    elif WAY == "shift":
        at = p << 30
    else:
        at = (p.to(tl.int64) * stride).to(tl.int32)
    tl.store(y_ptr + p, tl.load(x_ptr + at))


@pytest.mark.parametrize("way", ["multiplication", "addition", "subtraction", "shift", "conversion"])
def test_an_offset_that_wraps_around_is_named_with_its_line(way):
    x = far_apart(torch.arange(12.0).reshape(3, 4))

    def program():
        far_kernel[(3,)](x, torch.empty(3), x.stride(0), WAY=way)

    with Emulator() as emulator, pytest.raises(EmulatorError, match="out of bounds .* wrapped around at 2\\^31"):
        program()
    (hint,) = emulator.hints
    assert f"A 32-bit {way} wrapped around, line {hint.line}, `at" in hint.message
    assert "2,147,483,648 became -2,147,483,648" in hint.message
    assert_same(program)


@triton.jit
def fraction_kernel(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(y_ptr + columns, tl.load(x_ptr + columns).to(tl.int32) + tl.load(n_ptr + columns).to(tl.float32))


def test_a_conversion_that_rounds_is_not_an_integer_that_wraps():
    with Emulator() as emulator:
        fraction_kernel[(1,)](torch.full((16,), 2.5), torch.full((16,), 2**24 + 1), torch.zeros(16), BLOCK=16)
    assert emulator.hints == ()
