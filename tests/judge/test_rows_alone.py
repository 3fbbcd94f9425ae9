"""A case that asks for each row alone: a row's bits, whatever rows are beside it."""

import contextlib
import dataclasses

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking import rows_alone
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell, Worker
from graded_kernels.kernels.wild import neighbours as wild

ALONE = "each row alone"
LONG_ROW = "a long row alone"
SHARED = ("split_k_sum", "norm_of_rows")  # whose programs have to share a long row
FOLLOWS = ("BLOCK_K=BLOCK_K", "BLOCK_K=64 if M <= 8 else 32")


@pytest.fixture
def only(monkeypatch):
    """``only(name, *cases)``: for this test, the exercise has the first case and these."""

    def restrict(name, *cases):
        record = EXERCISES[name]
        kept = (record.cases[0], *(case for case in record.cases if case.name in cases))
        monkeypatch.setitem(EXERCISES, name, dataclasses.replace(record, cases=kept))

    return restrict


def failing(report):
    return {case.name: case for case in report.cases if case.status == "fail"}


def test_a_block_that_follows_the_rows_costs_the_point():
    report = check_answer(answer("row_dot", "triton", *FOLLOWS), Settings("triton", compiler=False))
    (found,) = failing(report).values()
    assert (found.name, found.code, found.place) == (ALONE, "neighbours", "c")
    assert report.score == 0.5
    assert "Row 0 alone: " in found.message
    assert " of 32 elements of c have other bits than among 300 rows" in found.message
    assert "They part: there `tl.dot` adds K in 4 blocks of 64 (line 17), here `tl.dot` adds K in 7 blocks of 32" in (
        found.message
    )


PARTS = ("parts = triton.cdiv(N, PART)", "PART = 1024 if M < 256 else 256\n    parts = triton.cdiv(N, PART)")


@pytest.mark.parametrize("isolated", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_parts_that_follow_the_rows_are_seen_where_the_bits_are_the_same(only, isolated):
    """The sums of the emulator hide another order of these numbers; what is computed from what tells it."""
    only("norm_of_rows", ALONE)
    wrong, settings = answer("norm_of_rows", "triton", *PARTS), Settings("triton", compiler=False)
    with Worker() if isolated else contextlib.nullcontext() as worker:
        report = check_answer(wrong, settings, worker=worker)
    (found,) = failing(report).values()
    assert (found.name, found.code, found.place) == (ALONE, "neighbours", "y")
    assert "are computed otherwise than in the batch of 300, though with these numbers" in found.message
    assert "They part: there reduction sum of 2 numbers, once" in found.message


def test_what_the_case_does_not_ask_is_no_fault(only):
    only("row_dot", "a row times a matrix", "less than a tile")
    assert check_answer(answer("row_dot", "triton", *FOLLOWS), Settings("triton", compiler=False)).passed


def norm(x, weight, eps=1e-6):
    return wild.norm_by_threads(x.float(), weight.float(), eps).to(x.dtype)


@pytest.mark.parametrize(("name", "function"), [("split_k_sum", wild.decode_sum), ("norm_of_rows", norm)])
def test_what_shipped_is_seen_by_that_case_alone(only, monkeypatch, name, function):
    """On numbers for which two orders differ; a record of Triton alone is asked of PyTorch here."""
    only(name, ALONE)
    monkeypatch.setitem(EXERCISES, name, dataclasses.replace(EXERCISES[name], backends=("torch",), refused=frozenset()))
    found = failing(check(name, function, backend="torch"))
    assert [*found] == [ALONE]
    assert found[ALONE].code == "neighbours"


def test_a_batch_on_which_it_fails_is_told(only):
    only("split_k_sum", ALONE)

    def sums(x):
        if len(x) == 1:
            raise ValueError("one row")
        return (x @ torch.ones(x.shape[1], 1)).squeeze(1)

    record = dataclasses.replace(EXERCISES["split_k_sum"], refused=frozenset())
    found = failing(check(record, sums, backend="torch"))
    assert found[ALONE].message.startswith("Called on row 0 alone of its 300, it fails: `split_k_sum` fails in line ")


def test_an_isolated_answer_is_called_on_other_batches_too(worker):
    """Also on a probe input of each of them: it has as many rows as they."""
    right, follows = (answer("row_dot", "triton", *change) for change in ((), FOLLOWS))
    assert check_answer(right, Settings("triton", compiler=False), worker=worker).passed
    found = failing(check_answer(follows, Settings("triton", compiler=False), worker=worker))
    assert set(found) == {ALONE}
    assert "They part: there `tl.dot` adds K in 4 blocks of 64 (line " in found[ALONE].message
    assert "), here `tl.dot` adds K in 7 blocks of 32 (line " in found[ALONE].message


BY_ATOMICS = """
import torch, triton, triton.language as tl

@triton.jit
def parts_kernel(x_ptr, sums_ptr, K, x_row, x_col, PART: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    k = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + k * x_col, mask=k < K, other=0.0).to(tl.float32)
    {last}

def split_k_sum(x):
    M, K = x.shape
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    part = {part}
    if M:
        parts_kernel[(M, max(triton.cdiv(K, part), 1))](x, sums, K, *x.stride(), PART=part)
    return sums
"""
WAYS = {
    ALONE: {"part": "512", "last": "tl.atomic_add(sums_ptr + row, tl.sum(x))"},
    LONG_ROW: {
        "part": "max(triton.next_power_of_2(K), 1)",
        "last": "tl.store(sums_ptr + row, tl.sum(x).to(sums_ptr.dtype.element_ty))",
    },
}


@pytest.mark.parametrize(("case", "said"), [(ALONE, rows_alone.BY_ATOMICS), (LONG_ROW, rows_alone.ONE_PROGRAM)])
@pytest.mark.parametrize("isolated", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_sums_in_nobodys_order_and_one_program_for_a_long_row_are_refused(only, case, said, isolated):
    only("split_k_sum", case)
    text = BY_ATOMICS.format(**WAYS[case])
    wrong = Answer("split_k_sum", (Cell("cell", text),))
    with Worker() if isolated else contextlib.nullcontext() as worker:
        report = check_answer(wrong, Settings("triton", compiler=False), worker=worker)
    (found,) = failing(report).values()
    assert (found.name, found.message, found.category) == (case, said, "point"), report


def test_our_parts_are_what_is_asked(only):
    for name in SHARED:
        only(name, LONG_ROW)
        assert check_answer(answer(name, "triton"), Settings("triton", compiler=False)).passed
