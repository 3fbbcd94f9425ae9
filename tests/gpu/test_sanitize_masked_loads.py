"""Masked loads without `other` under `sanitize`: each class of launches is tried, whatever ran before it."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Observed, execution
from graded_kernels.autograder.gpu.sanitize import masked_loads, skipped
from graded_kernels.autograder.gpu.sanitize.sanitizer import Sanitizer
from graded_kernels.autograder.gpu.sanitize.watching import watched


@triton.jit
def largest_of_many(x, y, n, BLOCK: tl.constexpr):
    """Right up to 64 elements."""
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if n <= 64:
        v = tl.where(i < n, v, -float("inf"))
    tl.store(y, tl.max(v, 0))


@triton.jit
def product_with_zero(x, y, n, BLOCK: tl.constexpr):
    """As a gradient with `other=0` on one factor alone."""
    i = tl.arange(0, BLOCK)
    weight = tl.load(y + i, mask=i < n, other=0.0)
    total = tl.sum(weight * tl.load(x + i, mask=i < n))
    tl.store(y + i, weight * total, mask=i < n)


@triton.jit
def saturated(x, y, n, BLOCK: tl.constexpr):
    """Only NaN shows it: the sigmoid of infinity is 1, and 1 times 0 is 0."""
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(tl.where(i < n, 1.0, 0.0) * tl.sigmoid(v)))


@triton.jit
def undefined_anyway(x, y, n, ALSO: tl.constexpr, BLOCK: tl.constexpr):
    """A softmax over nothing: NaN whatever the lanes hold, of another sign where they hold NaN."""
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, mask=i < n))
    nothing = tl.min(tl.zeros([BLOCK], tl.float32) - float("inf"))
    tl.store(y, total + (nothing - nothing))
    if ALSO:
        tl.store(y + 1, total)


@triton.jit
def guarded(x, y, n, BLOCK: tl.constexpr):
    """Only a finite number shows it."""
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(tl.where(tl.abs(v) < 1e30, v, 0.0)))


@triton.jit
def sum_and_largest(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    summed = tl.load(x + i, mask=i < n)
    compared = tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(summed))
    tl.store(y + 1, tl.max(compared, 0))


@triton.jit
def beyond_and_summed(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i), mask=i < n)
    tl.store(y, tl.sum(tl.load(x + i, mask=i < n)))


@triton.jit
def matmul(a, b, c, K, OTHER: tl.constexpr, B: tl.constexpr):
    m, k = tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        on = start + k < K
        left = tl.load(a + m[:, None] * K + start + k[None, :], mask=on[None, :], other=OTHER)
        right = tl.load(b + (start + k[:, None]) * B + m[None, :], mask=on[:, None], other=0.0)
        acc += tl.dot(left, right, input_precision="ieee")
    tl.store(c + m[:, None] * B + m[None, :], acc)


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * n + tl.arange(0, BLOCK)
    on = tl.arange(0, BLOCK) < n
    v = tl.load(x + i, mask=on)
    e = tl.where(on, tl.exp(v - tl.max(tl.where(on, v, -float("inf")))), 0.0)
    tl.store(y + i, e / tl.sum(e), mask=on)


@triton.jit
def last_row_sum(x, y, n, BLOCK: tl.constexpr):
    """Every row has masked-off lanes; those of the last reach its result."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n)
    if row < tl.num_programs(0) - 1:
        v = tl.where(i < n, v, 0.0)
    tl.store(y + row, tl.sum(v))


@triton.jit
def counted(lengths, y, n, BLOCK: tl.constexpr):
    """How often a loop runs is what a masked-off lane holds, and nothing comes of it."""
    p = tl.program_id(0)
    total = 0.0
    for _ in range(tl.load(lengths + p, mask=p < n)):
        total += 1.0
    tl.store(y + p, total, mask=p < n)


@triton.jit
def of_a_block_pointer(x, y, n, SUMMED: tl.constexpr, BLOCK: tl.constexpr):
    """Outside of its shape nothing is defined: it is summed, or stored where nobody sees it."""
    at = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    v = tl.load(at, boundary_check=(0,))
    if SUMMED:
        tl.store(y, tl.sum(v))
    else:
        tl.store(tl.make_block_ptr(y, (n,), (1,), (0,), (BLOCK,), (0,)), v * 2, boundary_check=(0,))


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def tried(monkeypatch):
    """The programs of each launch that runs again."""
    ran, original = [], masked_loads.MaskedLoads._try
    monkeypatch.setattr(masked_loads.MaskedLoads, "_try", lambda self, t: ran.append(t.programs) or original(self, t))
    return ran


def events_of(program):
    events = []
    with watched(events.append, shim=False):
        program()
    return events


def found_in(program):
    return [event["finding"] for event in events_of(program) if "finding" in event]


@pytest.mark.parametrize("sizes", [(3, 7, 15, 31, 63, 100), (100, 3)])
def test_the_sixth_launch_is_tried_like_the_first(sizes):
    def program():
        for n in sizes:
            y = torch.empty(1)
            largest_of_many[(1,)](-randn(n).abs() - 1, y, n, BLOCK=128)
            assert y.item() == (0 if n > 64 else (-randn(n).abs() - 1).max())

    (finding,) = found_in(program)
    assert finding["kind"] == "masked-load"
    assert "v = tl.load" in finding["source"]


def test_equal_launches_are_tried_once_and_tell_every_part(tried):
    with watched((events := []).append, shim=False) as watch:
        for part in range(3):
            for n in (100, 100, 101, 127, 5):
                largest_of_many[(1,)](randn(n) - 9, torch.empty(1), n, BLOCK=128)
            assert len(tried) == 2, part
            watch.sanitizer.next()
    assert sum("finding" in event for event in events) == 3
    assert sum("again" in event for event in events) == 9
    assert sum("launch" in event for event in events) == 15


@pytest.mark.parametrize(("kernel", "value"), [(product_with_zero, "NaN"), (saturated, "NaN"), (guarded, "10,000")])
def test_each_value_shows_what_the_others_hide(kernel, value):
    y = torch.ones(128)
    (finding,) = found_in(lambda: kernel[(1,)](randn(100), y, 100, BLOCK=128))
    assert finding["kind"] == "masked-load"
    assert f"With {value} in them element offset 0 of `y` becomes" in finding["message"]
    assert f"instead of {y[0].item():.5f}"[:-2] in finding["message"]


def test_what_is_outside_of_a_block_pointer_matters_where_a_result_uses_it():
    def program(summed):
        of_a_block_pointer[(1,)](randn(100), torch.empty(100)[:], 100, SUMMED=summed, BLOCK=128)

    assert found_in(lambda: program(False)) == []
    (finding,) = found_in(lambda: program(True))
    assert finding["kind"] == "masked-load"
    assert "no `padding_option`" in finding["message"] and "Add `padding_option=" in finding["message"], finding


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2])
def test_nan_instead_of_nan_is_no_difference(dtype):
    memory = torch.zeros(4).to(dtype)
    y = memory[1:3]
    assert found_in(lambda: undefined_anyway[(1,)](randn(100), y, 100, ALSO=False, BLOCK=128)) == []
    assert y[0].float().isnan()
    (finding,) = found_in(lambda: undefined_anyway[(1,)](randn(100), y, 100, ALSO=True, BLOCK=128))
    assert "With NaN in them element offset 1 of `y` becomes nan instead of" in finding["message"]


@pytest.mark.parametrize("dtype, number", [(torch.int8, "127"), (torch.int32, "10,000")])
def test_no_integer_is_called_nan(dtype, number):
    x, y = torch.ones(100, dtype=dtype), torch.zeros(1, dtype=dtype)
    (finding,) = found_in(lambda: largest_of_many[(1,)](x, y, 100, BLOCK=128))
    assert (
        f"With {number} in them element offset 0 of `y` becomes {number.replace(',', '')} instead" in finding["message"]
    )


def test_loads_that_different_values_show_are_found_together():
    found = found_in(lambda: sum_and_largest[(1,)](randn(100).abs() + 1, torch.zeros(2), 100, BLOCK=128))
    assert [(one["source"].split()[0], one["tensor"]) for one in found] == [("summed", ""), ("compared", "")]
    assert "With NaN in them element offset 0" in found[0]["message"]
    assert "With infinity in them element offset 1" in found[1]["message"]


def test_a_load_that_one_value_shows_is_not_looked_for_again(monkeypatch):
    """Runs: zeros; everywhere, and each alone with NaN; then everywhere and the one that matters, or does not yet."""
    reasons, original = [], execution.run
    monkeypatch.setattr(execution, "run", lambda *arguments: reasons.append(original(*arguments)) or reasons[-1])
    x = randn(100).abs() + 1
    found = found_in(lambda: sum_and_largest[(1,)](x, torch.zeros(2), 100, BLOCK=128))
    assert len(found) == 2
    assert reasons == [""] * (1 + 1 + 3 + 2 + 2 + 2)  # none against running all programs at once


def test_a_launch_with_a_known_access_out_of_bounds_is_tried():
    sanitizer = Sanitizer((events := []).append, known=lambda finding: finding["kind"] == "out-of-bounds")
    with Observed(sanitizer, fill=0.0):
        beyond_and_summed[(1,)](randn(100), torch.zeros(100), 100, BLOCK=128)
    assert [event["finding"]["kind"] for event in events if "finding" in event] == ["out-of-bounds", "masked-load"]


def test_a_product_whose_other_factor_is_zero():
    c = torch.empty(16, 16)
    a, b = randn(16, 24), randn(24, 16)
    (finding,) = found_in(lambda: matmul[(1,)](a, b, c, 24, OTHER=None, B=16))
    assert "left = tl.load" in finding["source"]
    assert torch.allclose(c, a @ b, atol=1e-5)
    assert found_in(lambda: matmul[(1,)](a, b, c, 24, OTHER=0.0, B=16)) == []


def test_what_a_where_hides_is_right():
    y = torch.empty(9, 100)
    assert found_in(lambda: softmax[(9,)](randn(9, 100), y, 100, BLOCK=128)) == []
    assert torch.allclose(y, randn(9, 100).softmax(1))
    y = torch.empty(3)
    assert found_in(lambda: counted[(4,)](torch.tensor([1, 2, 3]), y, 3, BLOCK=16)) == []
    assert y.tolist() == [1, 2, 3]


def test_of_many_programs_some_run_again(tried):
    y = torch.empty(1000)
    (finding,) = found_in(lambda: last_row_sum[(1000,)](randn(1000, 9), y, 9, BLOCK=16))
    assert "element offset 999 of `y`" in finding["message"]
    assert torch.allclose(y, randn(1000, 9).sum(1), atol=1e-5)
    (programs,) = tried
    assert programs.size == 64
    assert {0, 999} <= set(programs.tolist())


def test_what_is_not_tried_is_said(monkeypatch):
    monkeypatch.setattr(masked_loads, "_MOST", 0)
    told = skipped.Skipped()
    for event in events_of(lambda: [softmax[(9,)](randn(9, 100), torch.empty(9, 100), 100, BLOCK=128) for _ in "ab"]):
        if "skipped" in event:
            told.add(**event["skipped"])
    assert str(told).startswith("Dependence on masked-off lanes not tried in 2 launches of `softmax`: it stores more")
    assert [one["times"] for one in told.data()] == [2]
