"""A check of an isolated answer: the report of one in process, right results once, and unforeseeable numbers."""

import dataclasses
import functools

import pytest
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell, InProcess, Isolated
from isolation import needs_isolation

pytestmark = needs_isolation

SILU = EXERCISES["silu_forward"]


@pytest.mark.parametrize(
    ("exercise", "backend"),
    [
        ("silu_witness", "torch"),
        ("silu_backward", "triton"),
        pytest.param("silu_backward", "torch", marks=pytest.mark.exhaustive),
        pytest.param("axpy", "triton", marks=pytest.mark.exhaustive),
    ],
)
def test_isolated_and_in_process_reports_are_equal(exercise, backend, worker):
    ours, record = answer(exercise, backend), EXERCISES[exercise]
    here = judge(record, InProcess(ours.load(), record.contract, backend), Settings(backend, compiler=False))
    with Isolated(ours, record.contract, backend, worker=worker) as runner:
        there = judge(record, runner, Settings(backend, compiler=False))
    assert here.passed
    for field in dataclasses.fields(here):
        one, other = getattr(here, field.name), getattr(there, field.name)
        if field.name == "cases":
            one, other = ([dataclasses.replace(case, curve=None) for case in cases] for cases in (one, other))
        assert one == other, field.name
    if (exercise, backend) == ("silu_backward", "triton"):
        assert here.notes  # what only a GPU shows, of the exponential


def test_what_is_right_for_a_case_is_worked_out_once(worker):
    given = []

    @functools.wraps(SILU.oracle)
    def oracle(x):
        given.append(x)
        return SILU.oracle(x)

    record = dataclasses.replace(SILU, cases=SILU.cases[:1], oracle=oracle)
    code = answer("silu_forward", "torch")
    with Isolated(code, record.contract, "torch", worker=worker) as runner:
        assert judge(record, runner, Settings("torch")).passed
    mine = arguments(record.cases[0], 0, 0)[0].double()
    assert sum(x.equal(mine) for x in given) == 1


def test_an_answer_is_judged_on_numbers_that_nobody_could_foresee(worker):
    """An answer that is right for the public numbers alone, and wrong by one part in a hundred for others."""
    names = ("ordinary values", "the same shape again", "large values")  # which are the same with every seed
    cases = tuple(case for case in EXERCISES["silu_forward"].cases if case.name in names)
    record = dataclasses.replace(EXERCISES["silu_forward"], cases=cases)
    known = [float(arguments(case, i, 0)[0][0]) for i, case in enumerate(record.cases)]
    text = f"def silu_forward(x):\n    y = x * x.sigmoid()\n    return y if float(x[0]) in {known} else 1.01 * y\n"
    code = Answer("silu_forward", (Cell("cell", text),))
    with Isolated(code, record.contract, "torch", worker=worker) as runner:
        report = judge(record, runner, Settings("torch"))
    assert [case.status for case in report.cases] == ["fail", "fail", "fail"]
    assert all("on other random numbers of the same shape" in case.message for case in report.cases)


NUMPY = """
import numpy as np
import torch


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    {to_numpy}
    logits = h @ w.T
    logits -= logits.max(1, keepdims=True, initial=-1e9)
    p = np.exp(logits)
    total = p.sum(1, keepdims=True)
    keep = y != ignore_index
    n, rows = max(int(keep.sum()), 1), np.arange(len(y))
    loss = ((np.log(total[:, 0]) - logits[rows, np.where(keep, y, 0)]) * keep).sum() / n
    d = p / total
    d[rows, np.where(keep, y, 0)] -= 1
    d *= keep[:, None] / n
    {back}
"""
BACK = "return tuple(torch.from_numpy(np.asarray(r, 'float32')) for r in (loss, d @ w, d.T @ h))"


@pytest.mark.parametrize("convert", ["t.numpy()", "np.asarray(t)", "np.from_dlpack(t)"])
def test_where_memory_is_judged_there_is_none_beside_tensors(convert, worker):
    """All logits in NumPy's arrays, which nobody counts."""
    record = EXERCISES["linear_cross_entropy_forward_backward"]
    names = ("ordinary values", "160 rows, 700 classes")
    record = dataclasses.replace(record, cases=tuple(case for case in record.cases if case.name in names))
    to_numpy = f"h, w, y = (({convert}).astype(int if t is labels else float) for t in (hidden, weight, labels))"
    code = Answer(record.name, (Cell("cell", NUMPY.format(to_numpy=to_numpy, back=BACK)),))
    with Isolated(code, record.contract, "torch", worker=worker) as runner:
        report = judge(record, runner, Settings("torch"))
    assert not report.passed
    assert "memory that is not a tensor's" in report.summary
