"""Hints and the mistakes that learners make: some for every subject of a family of cases, each read first in the case
it is for.
"""

import collections
from dataclasses import replace

import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import check
from graded_kernels.autograder.judge.checking import check as checking
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.solutions import silu as solution
from mistakes import MISTAKES, read_first

RECORDS = {name: record for name, record in EXERCISES.items() if not isinstance(record, Witness)}
CASES = [case for record in RECORDS.values() for case in record.cases if not case.bonus]
AGAIN = "the same shape again"
SUBJECTS = {(case.family, case.subject) for case in CASES if case.family}
ENOUGH = 3


def test_every_case_of_a_family_has_a_subject():
    assert [case.name for case in CASES if bool(case.family) != bool(case.subject)] == []


# Results that are kept have one hint for all families.
@pytest.mark.parametrize(("family", "subject"), sorted((pair for pair in SUBJECTS if pair[1] != "again"), key=str))
def test_every_subject_of_a_family_has_three_mistakes(family, subject):
    found = [case.name for case in read_first() if (case.family, case.subject) == (family, subject)]
    assert len(found) >= ENOUGH, found


@pytest.mark.parametrize("name", RECORDS)
def test_every_exercise_sees_a_shape_again(name):
    """Where none did, a kept result failed in a later case of its shape, whose hint is about something else."""
    assert RECORDS[name].cases[1].name == AGAIN


def test_three_mistakes_keep_a_result():
    assert collections.Counter(case.name for case in read_first())[AGAIN] >= ENOUGH


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.exercise}-{one.backend}: {one.why}")
def test_a_mistake_is_read_where_it_should_be(mistake):
    report = check_answer(mistake.answer, Settings(mistake.backend, compiler=False))
    assert not report.passed
    assert report.causes[0].cases[0].name == mistake.case, str(report)


def test_hints_come_after_as_many_failed_checks_as_asked(monkeypatch):
    """Counted for each exercise; a check that passes is none."""
    monkeypatch.setattr(checking, "_failed", collections.Counter())
    record = replace(RECORDS["silu_forward"], cases=RECORDS["silu_forward"].cases[:2], about=())

    def hint(answer) -> str:
        return check(record, answer, backend="torch", hints_after=2).cases[0].hint

    right = hint(solution.silu_forward)
    assert [hint(torch.neg), hint(solution.silu_forward), hint(torch.neg)] == [
        "Hints come after 2 failed checks of this exercise; this is number 1.",
        right,
        "Hints come after 2 failed checks of this exercise; this is number 2.",
    ]
    assert hint(torch.neg) == check(record, torch.neg, backend="torch").cases[0].hint != ""


@pytest.mark.parametrize(("backend", "shown"), [("torch", False), ("triton", True)])
def test_what_a_hint_says_of_triton_is_for_triton_answers(backend, shown):
    cases = RECORDS["masked_softmax_forward"].cases
    about = next(case for case in cases if "(In Triton, tl.max drops NaN.)" in case.hint)
    record = replace(RECORDS["masked_softmax_forward"], cases=(cases[0], about))
    report = judge(record, Unwatched(lambda x, mask: x.new_zeros(x.shape)), Settings(backend, compiler=False))
    hint = report.cases[1].hint
    assert hint.startswith("A NaN that counts")
    assert hint.endswith("whatever else the row holds." + " (In Triton, tl.max drops NaN.)" * shown)
