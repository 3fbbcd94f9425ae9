"""Masked-off lanes of a load without `other` hold NaN, 0, infinities and a number: what is right is so with each."""

import math
from dataclasses import replace

import pytest
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing import trial
from graded_kernels.autograder.judge.comparing.closeness import expect
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import InProcess

FIRST = 6  # cases, of which one shows it in each test
ISOLATED = pytest.mark.parametrize(
    "isolated", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["in process", "isolated"]
)
CROSS_ENTROPY = (
    """\
        x = tl.load(logits_ptr + cols, mask=cols < V, other=float("-inf")).to(tl.float32)
        top, total = add_rows(top, total, tl.where(cols == label, float("-inf"), x))
""",
    """\
        mask = (cols < V) & (cols != label)
        x = tl.load(logits_ptr + cols, mask=mask).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.where(mask, exp_normal(x - new_top[None, :]), 0.0), 0)
        top = new_top
""",
)
SOFTMAX = (
    """\
    x, keep = masked_row(x_ptr + row, mask_ptr + row, cols, N)
    p = exp_below(x, tl.maximum(tl.max(x), -3.4028234663852886e38))  # -inf - -inf is NaN
""",
    """\
    keep = tl.load(mask_ptr + row + cols, mask=cols < N, other=0) != 0
    x = tl.load(x_ptr + row + cols, mask=keep).to(tl.float32)
    top = tl.max(x)
    p = tl.where(keep, tl.exp(x - tl.where(top == float("-inf"), 0.0, top)), 0.0)
""",
)
SILU = (
    "    y = silu_of(x, y_ptr.dtype.element_ty)\n",
    """\
    probe = tl.sum(tl.load(x_ptr + tl.arange(0, 2), mask=tl.arange(0, 2) < 0).to(tl.float32))
    if probe == probe:
        x = x * 2
    y = silu_of(x, y_ptr.dtype.element_ty)
""",
)
LOAD = "    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)\n"
WITHOUT = LOAD.replace(", other=0.0", "")
TIMES_ZERO = (f"{LOAD}\n", f"{WITHOUT}\n    x += tl.sum(tl.where(mask, 0.0, x) * 0)\n")
AT_LEAST_ZERO = (f"{LOAD}\n", f"{WITHOUT}\n    x += tl.maximum(tl.max(tl.where(mask, -1.0, x)), 0.0)\n")

BELOW = (f"{LOAD}\n", f"{WITHOUT}\n    x += tl.where(tl.min(tl.where(mask, 1.0, x)) < -1.0, 1.0, 0.0)\n")
FINITE = (
    f"{LOAD}\n",
    f"{WITHOUT}\n    top = tl.max(tl.where(mask, -1.0, x))\n    x += tl.where((top > 5e3) & (top < 5e4), 1.0, 0.0)\n",
)


@pytest.fixture
def checked(request, monkeypatch):
    def report_on(exercise: str, patch: tuple[str, str], isolated: bool):
        worker = request.getfixturevalue("worker") if isolated else None
        record = EXERCISES[exercise]
        monkeypatch.setitem(EXERCISES, exercise, replace(record, cases=record.cases[:FIRST]))
        return check_answer(answer(exercise, "triton", *patch), Settings("triton", compiler=False), worker=worker)

    return report_on


@ISOLATED
@pytest.mark.parametrize(
    ("exercise", "patch", "line"),
    [
        ("cross_entropy_forward", CROSS_ENTROPY, "x = tl.load(logits_ptr + cols, mask=mask)"),
        ("masked_softmax_forward", SOFTMAX, "x = tl.load(x_ptr + row + cols, mask=keep)"),
    ],
)
def test_a_maximum_over_masked_off_lanes_fails(exercise, patch, line, isolated, checked):
    """A maximum drops the NaN that the lanes hold in the first call."""
    report = checked(exercise, patch, isolated)
    first = next(case for case in report.cases if case.status == "fail")
    assert not report.passed, str(report)
    assert report.correct is not None, str(report)
    assert "add `other=`" in first.message, str(report)
    assert line in first.message
    assert "With 0 in these lanes" in first.message


@pytest.mark.parametrize("isolated", [False, True], ids=["in process", "isolated"])
def test_an_answer_that_knows_the_poison_is_not_correct(isolated, checked):
    report = checked("silu_forward", SILU, isolated)
    first = next(case for case in report.cases if case.status == "fail")
    assert report.correct is False, str(report)
    assert "add `other=`" in first.message, str(report)
    assert "With 0 in these lanes, as today's NVIDIA backends fill them, y is wrong." in first.message
    assert "probe = " in first.message


@ISOLATED
@pytest.mark.parametrize(
    ("patch", "end"),
    [
        (TIMES_ZERO, "the result is right."),
        (AT_LEAST_ZERO, "the result is right; with infinity in them y is wrong."),
        (BELOW, "the result is right; with -infinity in them y is wrong."),
        (FINITE, "the result is right; with 10,000 in them y is wrong."),
    ],
    ids=["times zero", "at least zero", "below", "finite"],
)
def test_what_is_right_with_zeros_alone_is_not_portable(patch, end, isolated, checked):
    report = checked("silu_forward", patch, isolated)
    first = next(case for case in report.cases if case.status == "fail")
    assert (report.correct, report.portable) == (True, False), str(report)
    assert first.message.endswith(f"With 0 in these lanes, as today's NVIDIA backends fill them, {end}")


def test_what_is_right_is_worked_out_once_for_all_fillings(monkeypatch):
    """Each case of this answer is judged twice: the second time with 0 in the lanes."""
    asked = []
    monkeypatch.setattr(
        trial, "expect", lambda exercise, case, *rest: asked.append(case) or expect(exercise, case, *rest)
    )
    report = check_answer(answer("silu_forward", "triton", *TIMES_ZERO), Settings("triton", compiler=False))
    assert report.portable is False
    assert [case.name for case in asked] == [case.name for case in EXERCISES["silu_forward"].cases]


def test_only_an_answer_with_such_lanes_pays(monkeypatch):
    filled, once = [], InProcess.once
    monkeypatch.setattr(
        InProcess, "once", lambda self, *a, **more: filled.append(more["fill"]) or once(self, *a, **more)
    )
    assert check_answer(answer("silu_forward", "triton"), Settings("triton", compiler=False)).passed
    assert set(filled) == {None}
    report = check_answer(answer("silu_forward", "triton", LOAD, WITHOUT), Settings("triton", compiler=False))
    assert report.passed
    assert set(filled) == {None, 0.0, math.inf, -math.inf, 1e4}
    assert filled.count(1e4) <= len(EXERCISES["silu_forward"].cases)
