"""What a learner is told: the line, the error in a line of its own, and what to do about it; nothing that misleads."""

import importlib
import inspect
import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError
from graded_kernels.autograder.gpu.emulator.float8 import from_floats, to_float32
from triton.language.extra import libdevice


@triton.jit
def mistake_kernel(x_ptr, y_ptr, n, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if KIND == "block of 100":
        x = tl.zeros([100], tl.float32) + tl.arange(0, 100)
    elif KIND == "runtime size":
        x = tl.arange(0, n)
    elif KIND == "append":
        parts = []
        parts.append(x)
    elif KIND == "numpy":
        x = np.tanh(x)
    elif KIND == "torch":
        x = torch.sigmoid(x)
    elif KIND == "math":
        x = math.exp(x)
    elif KIND == "index":
        x = x_ptr[n]
    elif KIND == "assign":
        y_ptr[n] = x
    elif KIND == "offsets":
        x = tl.load(i)
    elif KIND == "pointer":
        x = x_ptr * 2
    elif KIND == "half":
        x = tl.exp(x.to(tl.float16))
    elif KIND == "half libdevice":
        x = libdevice.tanh(x.to(tl.bfloat16))
    elif KIND == "unbound":
        for _ in range(n):
            total += x  # noqa: F821, F841  the mistake
    elif KIND == "tanh":
        x = tl.tanh(x)
    elif KIND == "array":
        x = tl.join(x, x).handle.data
    elif KIND == "float":
        x = x.float()
    elif KIND == "power":
        x = x**3
    elif KIND == "product":
        x = tl.join(x, x) @ tl.join(x, x)
    elif KIND == "mean":
        x = x - tl.mean(x)
    elif KIND == "dtype called":
        x = tl.float32(x)
    elif KIND == "dtype's name":
        x = x.to("float32")
    elif KIND == "torch's dtype":
        x = x.to(torch.float32)
    elif KIND == "shape":
        x = x + tl.zeros(N, tl.float32)
    elif KIND == "no dtype":
        x = x + tl.zeros([N])
    elif KIND == "tile stored in a row":
        x = x[:, None] + x[None, :]
    elif KIND == "row for a column":
        x = x[:, None] + tl.arange(0, 2)[None, :] + x
    elif KIND == "another length":
        x = x + tl.arange(0, 2 * N)
    elif KIND == "one address":
        tl.store(y_ptr, x)
    elif KIND == "vectors":
        x = tl.dot(x, x)
    elif KIND == "dim":
        x = tl.sum(x, dim=0)
    elif KIND == "two values":
        x = x + tl.max(tl.max(x, 0), tl.sum(x, 0))
    elif KIND == "abs":
        x = abs(x)
    elif KIND == "store's value":
        done = tl.store(y_ptr + i, x)
        x = done + x
    elif KIND == "store's value printed":
        done = tl.store(y_ptr + i, x)
        print(done)
    tl.store(y_ptr + i, x)


ADVICE = {
    "block of 100": r"Take `triton\.next_power_of_2\(n\)` and mask",
    "runtime size": r"declare the parameter `BLOCK: tl\.constexpr`",
    "append": "Triton reads a list as a tuple of fixed length",
    "numpy": "numpy does not run on a GPU: use the functions of `tl`",
    "torch": "PyTorch does not run in a kernel: write `tl.sigmoid`",
    "math": "Python's math takes single numbers: write `tl.exp`",
    "float": r"Write `x\.to\(tl\.float32\)`",
    "power": r"write `x \* x \* x`",
    "product": r"write `tl\.dot\(a, b\)`",
    "mean": r"Write `tl\.sum\(x\) / N`",
    "dtype called": r"as in `x\.to\(tl\.float32\)`",
    "dtype's name": r"as in `x\.to\(tl\.float32\)`",
    "torch's dtype": r"as in `x\.to\(tl\.float32\)`",
    "shape": r"`tl\.zeros\(\[BLOCK\], dtype=tl\.float32\)`",
    "no dtype": r"`tl\.zeros\(\[BLOCK\], dtype=tl\.float32\)`",
    "tile stored in a row": r"`rows\[:, None\] \* stride \+ cols\[None, :\]`, or reduce",
    "row for a column": r"write `block\[:, None\]`",
    "another length": r"offsets of the same `tl\.arange`",
    "one address": r"reduce it first: `tl\.sum\(block\)`",
    "vectors": r"write `tl\.sum\(a \* b\)`",
    "dim": r"names it `axis`",
    "two values": r"Of two values take `tl\.maximum\(a, b\)`",
    "abs": r"Write `tl\.abs\(x\)`",
    "index": r"reached with `tl\.load\(ptr \+ offset\)`",
    "assign": r"reached with `tl\.load\(ptr \+ offset\)`",
    "offsets": r"pointer plus offsets, as in `x_ptr \+ offsets`",
    "pointer": r"reaches the kernel as a pointer: load from it with `tl\.load`",
    "half": r"convert first, as in `x\.to\(tl\.float32\)`",
    "half libdevice": r"convert first, as in `x\.to\(tl\.float32\)`",
    "unbound": r"Give it a value before the loop",
    "store's value": r"`done` is what `tl\.store` returned, and it returns nothing",
    "store's value printed": r"`done` is what `tl\.store` returned, and it returns nothing",
    "tanh": r"then `libdevice\.tanh\(x\)`",
    "array": r"TypeError: cannot convert \[\[1\. .* \.\.\.$",
}


@pytest.mark.parametrize("kind", ADVICE)
def test_a_common_mistake_is_told_with_its_line_and_its_cure(kind):
    with Emulator() as emulator, pytest.raises(EmulatorError, match=ADVICE[kind]) as caught:
        mistake_kernel[(1,)](torch.ones(64), torch.zeros(64), 3, KIND=kind, N=64)
    (finding,) = emulator.findings
    assert finding.kind == ("unsupported" if kind == "abs" else "kernel-error")
    assert finding.file == __file__
    assert finding.line
    assert f"line {finding.line}, `{finding.source}`" in str(caught.value)
    assert "\n" not in finding.message
    assert len(finding.message) < 600


@triton.jit
def masked_kernel(x_ptr, y_ptr, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if WRONG:
        x = x * 0 + tl.sum(x)
    tl.store(y_ptr + i, x, mask=i < n)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_masked_load_without_other_is_named(wrong, dtype):
    """Whether it matters or not: `tl.max` drops the NaN that would give it away."""
    with Emulator() as emulator:
        masked_kernel[(1,)](torch.ones(50, dtype=dtype), torch.zeros(50, dtype=dtype), 50, WRONG=wrong, BLOCK=64)
    (hint,) = emulator.hints
    assert (hint.kind, hint.tensor) == ("masked-load", "x_ptr")
    assert "mask=i < n" in hint.source
    assert "add `other=`" in hint.message


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_lanes_without_other_hold_what_the_caller_asks_for(dtype):
    def total(fill, n=50):
        x, y = torch.ones(n, dtype=dtype), torch.zeros(n, dtype=dtype)
        with Emulator(fill=fill) as emulator:
            masked_kernel[(1,)](x, y, n, WRONG=True, BLOCK=64)
        return y[0].item(), emulator.undefined

    assert total(0) == (50, True)
    assert total(3) == (50 + 14 * 3, True)
    poisoned, undefined = total(None)
    assert poisoned != 50
    assert undefined
    assert total(None, n=64) == (64, False), "every lane is on: nothing is undefined"


@triton.jit
def try_kernel(x_ptr, y_ptr):
    try:
        x = tl.load(x_ptr)
    except Exception:
        x = 0.0
    tl.store(y_ptr, x)


def test_a_refused_statement_of_several_lines_is_shown_where_it_begins():
    with Emulator() as emulator, pytest.raises(EmulatorError, match="`try:`: Try is Python that Triton cannot compile"):
        try_kernel[(1,)](torch.ones(1), torch.zeros(1))
    assert emulator.findings[0].line == try_kernel.fn.__code__.co_firstlineno + 2


def test_a_kernel_without_source_is_refused_as_the_compiler_refuses_it():
    names = {"tl": tl, "__name__": "nowhere"}
    exec("def hidden_kernel(y_ptr):\n    tl.store(y_ptr, 1.0)\n", names)
    with Emulator(), pytest.raises(EmulatorError, match="from its source, and finds none for `hidden_kernel`"):
        triton.jit(names["hidden_kernel"])[(1,)](torch.zeros(1))


def test_the_interpreters_names_do_not_enter_the_learners_module(tmp_path, monkeypatch):
    text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef one(y_ptr):\n    tl.store(y_ptr, 1.0)\n"
    (tmp_path / "learners_own.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("learners_own")
    before = set(vars(module))
    with Emulator():
        module.one[(1,)](torch.zeros(1))
    assert set(vars(module)) == before


@triton.jit
def static_kernel(y_ptr, N: tl.constexpr):
    tl.static_print("compiled for", N)
    tl.store(y_ptr + tl.program_id(0), 1.0)


def test_what_a_compiler_prints_is_printed_once(capsys):
    with Emulator():
        static_kernel[(8,)](torch.zeros(8), N=8)
    assert capsys.readouterr().out == "compiled for 8\n"


@triton.jit
def float8_of_amd_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.float32))


def test_a_float8_that_the_emulator_leaves_to_the_interpreter_is_noted():
    y = torch.zeros(16)
    with Emulator() as emulator:
        float8_of_amd_kernel[(1,)](torch.full((16,), 0.75).to(torch.float8_e4m3fnuz), y, N=16)
    assert "float8" in emulator.looser and (y == 0.75).all()


@pytest.mark.parametrize("ours, theirs", [(tl.float8e4nv, torch.float8_e4m3fn), (tl.float8e5, torch.float8_e5m2)])
def test_float8_is_exact_one_way_and_to_nearest_even_the_other(ours, theirs):
    words = torch.arange(256, dtype=torch.uint8)
    wide = words.view(theirs).float()
    assert np.array_equal(to_float32(words.numpy(), ours), wide.numpy(), equal_nan=True)
    largest = torch.finfo(theirs).max
    halves = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.float16).float()
    inside = halves[halves.abs() <= largest]
    assert np.array_equal(from_floats(inside.numpy(), ours), inside.to(theirs).view(torch.uint8).numpy())
    beyond = np.array([2 * largest, -2 * largest, math.inf, -math.inf, math.nan], dtype=np.float32)
    saturated = to_float32(from_floats(beyond, ours), ours)
    assert np.array_equal(saturated, np.array([1, -1, 1, -1, math.nan]) * largest, equal_nan=True)


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


@pytest.mark.parametrize(
    ("programs", "step", "advice"),
    [
        (2, 32, "Check that the grid covers the whole tensor"),
        (4, 0, "The programs stored 128 elements, enough for all of it, but some to the same places"),
        (4, 1, "The programs stored 128 elements, enough for all of it, but some to the same places"),
    ],
    ids=["grid too small", "no program_id", "program_id without BLOCK"],
)
@pytest.mark.parametrize("n", [100, 128])
def test_what_was_never_written_is_told_from_what_was_written_over(programs, step, advice, n):
    with Emulator() as emulator:
        y = emulator.poison_(torch.empty(n))
        copy_kernel[(programs,)](torch.randn(n), y, n, STEP=step, BLOCK=32)
        assert advice in emulator.unwritten(y, "y").message


@triton.jit
def rows_kernel(x_ptr, labels_ptr, y_ptr, N, x_row, x_col, KIND: tl.constexpr, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_row + columns * x_col, mask=columns < N, other=0.0)
    if KIND == "label as a column":
        x += tl.load(x_ptr + tl.load(labels_ptr + row))
    if KIND == "early return":
        if tl.load(labels_ptr + row) < 0:
            return
    tl.store(y_ptr + row * N + columns, x, mask=columns < N)


def run_rows(kind, rows=9, programs=9, strides=(50, 1)):
    x, labels = torch.randn(rows, 50), torch.tensor([-100, 0, 1, -100, -100, 2, 3, 0, -100])
    y = torch.empty(rows, 50)
    with Emulator() as emulator:
        emulator.poison_(y)
        rows_kernel[(programs,)](x, labels, y, 50, *strides, KIND=kind, BLOCK=64)
        return emulator.unwritten(y, "y").message


def test_programs_that_return_before_they_store_are_named():
    said = run_rows("early return")
    assert "200 elements of y (450 in all) were never written" in said
    lines, first = inspect.getsourcelines(rows_kernel.fn)
    line = first + [text.strip() for text in lines].index("return")
    assert said.endswith(
        "Nothing comes from programs (0, 0, 0), (3, 0, 0), (4, 0, 0) and (8, 0, 0) of `rows_kernel`. "
        f"A program that ends at the `return` in line {line} has to store before."
    )


@triton.jit
def tile_kernel(x_ptr, y_ptr, M, N, KIND: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    at = rows[:, None] * N + cols[None, :]
    if KIND == "rows, of one dimension":
        mask = rows < M
    elif KIND == "columns, of one dimension":
        mask = cols < N
    elif KIND == "columns":
        mask = cols[None, :] < N
    elif KIND == "rows":
        mask = rows[:, None] < M
    else:
        mask = (rows[:, None] < M) & (cols[None, :] < N + 1)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask, other=0.0), mask=mask)


@pytest.mark.parametrize("side", ["load", "store"])
@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("rows, of one dimension", "mask is the same in each row of the block, as one of a single dimension is"),
        ("columns, of one dimension", "mask is the same in each row of the block, as one of a single dimension is"),
        ("columns", "mask is the same in each row of the block"),
        ("rows", "mask is the same in each column of the block. Compare"),
        ("", "mask lets this lane through"),
    ],
)
def test_a_mask_that_leaves_a_dimension_out_is_told(kind, advice, side):
    large, small = torch.zeros(64, 64), torch.zeros(6, 5)
    with Emulator(), pytest.raises(EmulatorError) as caught:
        tile_kernel[(1,)](*((small, large) if side == "load" else (large, small)), 6, 5, KIND=kind, BLOCK=8)
    assert f"The {side}'s {advice}" in str(caught.value)
    assert ("`(rows < M)[:, None] & (cols < N)[None, :]`" in str(caught.value)) == bool(kind)


@pytest.mark.parametrize(
    ("launch", "advice"),
    [
        ({"kind": "label as a column"}, "An index in it is negative: take it for an offset only where it is valid."),
        ({"kind": "", "programs": 50}, "The grid has 50 programs, one for each column, and x_ptr has 9 rows."),
        ({"kind": "", "strides": (1, 50)}, "compare each index with the size of its dimension, and multiply it by"),
    ],
    ids=lambda value: value.get("kind", "") if isinstance(value, dict) else "",
)
def test_an_access_outside_is_told_with_what_led_there(launch, advice):
    with pytest.raises(EmulatorError) as caught:
        run_rows(**launch)
    assert advice in str(caught.value)
    assert "The load has no mask" not in str(caught.value)


@triton.jit
def descriptor_kernel(x_ptr, y_ptr, rows, stride, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, BLOCK], [stride, 1], [8, BLOCK])
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.sum(x.load([0, 0]), 0))


def test_the_strides_of_a_descriptor_that_is_refused_are_told():
    with Emulator(), pytest.raises(EmulatorError, match="16-byte aligned; the strides are 1,022 and 2 bytes"):
        descriptor_kernel[(1,)](torch.zeros(8, 511).half(), torch.zeros(16).half(), 8, 511, BLOCK=16)
