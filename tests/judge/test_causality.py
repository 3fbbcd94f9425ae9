"""`neighbours(..., causal=DIM)`: whether what comes behind a position changes its result."""

import json

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder import CompareError, compare, neighbours
from graded_kernels.autograder.judge.batches.time_axis import cuts
from graded_kernels.kernels import attention
from sequence_kernels import decayed, sequence
from torch.nn.functional import scaled_dot_product_attention


def unwrapped(found):
    return " ".join(str(found).split())


def test_a_reference_row_in_the_middle_of_a_chunk_changes_the_past():
    found = neighbours(decayed(8), sequence(16), batch=range(4), causal=0)
    assert found
    (half,) = (change for change in found.causality.found if change.kept == 8)
    assert (half.positions, half.called) == (8, "the first 8 positions, then other numbers")
    assert 0 < half.ulp < 1e3
    assert found.causality.reason[0].startswith("They part here: scan sum of 16 numbers, once (line ")
    assert "c = tl.cumsum(" in found.causality.reason[1]
    assert "result depends on what comes behind it, in 5 of 11 other sequences" in unwrapped(found)


def test_a_reference_row_at_the_start_of_a_chunk_does_not():
    for length in (16, 50):
        found = neighbours(decayed(0), sequence(length), batch=range(4), causal=0)
        assert not found
        assert "a position's result has the same bits whatever comes behind it (1" in unwrapped(found)
        assert "result is not finite before NaN from position" in unwrapped(found), "a product of a masked block"


def test_no_draw_decides():
    """Rounded down, the results have the same bits: only histories tell."""
    assert not neighbours(decayed(0, coarse=True), sequence(16), batch=range(4), causal=0)
    found = neighbours(decayed(8, coarse=True), sequence(16), batch=range(4), causal=0)
    assert found
    assert "computed otherwise than in the example, though with these numbers the bits are the same" in unwrapped(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_causal_functions_are_not_accused(dtype):
    def example():
        return tuple(torch.randn(1, 2, 40, 16).to(dtype) for _ in range(3))

    def pytorch(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    def ours(q, k, v):
        return attention(q, k, v, causal=True)

    for function in (pytorch, ours):
        found = neighbours(function, example, batch=("q", "k", "v"), causal=2)
        assert not found, found
        assert found.causality.gradients == ("q", "k", "v")
        assert found.left_out == {"rows": "the batch has one"}


def test_what_is_not_causal_is_told_with_both_questions():
    found = neighbours(lambda x: x - x.mean(1, keepdim=True), (torch.randn(4, 30, 3),), causal=1)
    assert found
    assert not found.found
    text = unwrapped(found)
    assert "rows of x: a row's result has the same bits" in text
    assert "positions of x along dimension 1: a position's result depends on what comes behind it" in text
    change = found.causality.found[0]
    assert (change.kept, change.positions, change.index) == (1, 1, (0, 0, 0))


def only_when_huge(x):
    return x / 2 if (x.abs() > 1e30).any() else x


def refuses_nan(x):
    assert x.isfinite().all(), "x is not finite"
    return x.cumsum(0)


def two_results(x):
    return x.cumsum(0), x.sum(0)


def test_each_future_shows_what_no_other_need_show():
    x = torch.randn(20, 3)
    found = neighbours(only_when_huge, (x,), causal=0)
    assert {change.called for change in found.causality.found} == {
        "the first 1 position, then huge numbers",
        "the first 12 positions, then huge numbers",
    }
    assert not neighbours(lambda x: x + 0 * x.flip(0), (x,), causal=0), "0 times NaN is said and decides nothing"
    refused = neighbours(refuses_nan, (x,), causal=0)
    assert not refused
    assert refused.causality.left_out["the first 1 position, then NaN"] == (
        "the call raises AssertionError: x is not finite"
    )
    last = neighbours(two_results, (x,), causal=0)
    assert not last
    assert [*last.causality.left_out] == ["result_1"]


def test_integers_and_constants_are_changed_too():
    tokens = torch.randint(50, (20,))
    assert not neighbours(lambda tokens: tokens.cumsum(0), (tokens,), causal=0)
    assert neighbours(lambda tokens: tokens.cumsum(0) % tokens[-1], (tokens + 1,), causal=0)
    assert neighbours(lambda g: g * g.sum(), (torch.full((20,), -0.5),), causal=0)


class Squares(torch.autograd.Function):
    """Running sums of squares; ``of`` is what the gradient is scaled by, there and back."""

    of = staticmethod(torch.ones_like)

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square().cumsum(0)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        scale = Squares.of(x)
        return 2 * x * ((dy * scale).flip(0).cumsum(0).flip(0) / scale)


def test_gradients_depend_on_later_upstream_and_on_no_later_input(monkeypatch):
    x = torch.randn(20, 3)
    right = neighbours(Squares, (x,), causal=0)
    assert not right
    assert right.causality.gradients == ("x",)
    monkeypatch.setattr(Squares, "of", staticmethod(lambda x: x[-1:].exp()))
    wrong = neighbours(Squares, (x,), causal=0)
    assert wrong
    assert {change.output for change in wrong.causality.found} == {f"gradient of {right.causality.gradients[0]}"}


@triton.jit
def counted_kernel(x, sums, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(sums + tl.program_id(0) + 0 * i, tl.load(x + tl.program_id(0) * BLOCK + i))


def test_sums_by_atomics_are_nobodys_order_along_time_too():
    def call(x):
        sums = torch.zeros(len(x))
        counted_kernel[(len(x),)](x, sums, x.shape[1])
        return sums

    found = neighbours(call, (torch.randn(5, 4),), causal=0)
    assert found
    assert not found.causality
    assert "result is a sum in nobody's order: 4 atomic additions" in unwrapped(found)


@pytest.mark.parametrize(
    ("arguments", "dim", "says"),
    [
        ((torch.ones(3, 2),), -1, "the dimension of time is counted from 0, not -1"),
        ((torch.ones(3, 2),), 2, "no argument that is named has a dimension 2"),
        ((torch.ones(3, 1),), 1, "the example has 1 position: give it two or more"),
        ((torch.ones(3, 2, 4), torch.ones(3, 5)), 1, "2 positions in x0, 5 positions in x1"),
        ((torch.ones(3, 2),), 1, "has no result of positions: dimension 1 of none is 2"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(arguments, dim, says):
    with pytest.raises(CompareError) as error:
        neighbours(lambda *args: args[0].sum(1), arguments, range(len(arguments)), causal=dim)
    assert says in str(error.value)


def test_positions_that_are_kept_lie_on_edges_and_off_them():
    for length in range(2, 300):
        kept = cuts(length)
        assert kept == tuple(sorted(set(kept)))
        assert {1, length - 1} <= set(kept) <= set(range(1, length))
    assert cuts(100) == (1, 32, 33, 48, 64, 65, 99)


MINE = """
import torch
def past(x): return x.cumsum(1)
def future(x): return x.cumsum(1) + 0 * x + (x.sum(1, keepdim=True) - x.sum(1, keepdim=True).round()) * 1e-6
def example(): return torch.randn(3, 20)
"""


def test_from_the_shell(tmp_path, monkeypatch, called):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    asked = ("--arguments", "mine.py:example", "--batch", "x", "--causal", "1", "--json")
    ended = called("neighbours", "mine.py:future", *asked)
    assert ended.returncode == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["passed"], found["found"], found["causality"]["dim"]) == (False, [], 1)
    assert found["causality"]["found"][0]["called"] == "the first 1 position, then other numbers"


def test_compare_asks_it_beside_the_values():
    def reference(x):
        return x.cumsum(0)

    def candidate(x):
        return x.sum(0, keepdim=True) - x.flip(0).cumsum(0).flip(0) + x

    few = {"any_method": True, "without": ["NaN", "infinity"], "gradients": False}
    report = compare(reference, candidate, (torch.randn(20, 3),), neighbours=("x",), causal=0, **few)
    assert report.neighbours.causality
    assert not report.passed
    with pytest.raises(CompareError, match="name the arguments that have the dimension of --causal"):
        compare(reference, candidate, (torch.randn(20, 3),), causal=0, **few)
