"""Hints and the mistakes that learners make: some for every kind of case, each read first in the case it is for."""

import collections

import pytest
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.exercises import EXERCISES
from graded_kernels.autograder.exercises.record import Witness
from mistakes import MISTAKES, family, kind, read_first

CASES = {
    (family(name), kind(case.name))
    for name, record in EXERCISES.items()
    if not isinstance(record, Witness)
    for case in record.cases
    if not case.bonus
}
# Every value of a half format holds NaN and infinity, and comes first; results that are kept have one hint for all.
ELSEWHERE = {("elementwise", "NaN and infinity")} | {(name, "the same shape again") for name, _ in CASES}


def test_every_case_is_of_a_kind():
    assert "" not in {of for _, of in CASES}


@pytest.mark.parametrize(("of", "what"), sorted(CASES - ELSEWHERE))
def test_every_kind_of_case_has_three_mistakes(of, what):
    found = [name for name, case in read_first() if (family(name), kind(case)) == (of, what)]
    assert len(found) >= 3, found


@pytest.mark.parametrize("name", [name for name, record in EXERCISES.items() if not isinstance(record, Witness)])
def test_every_exercise_sees_a_shape_again(name):
    """Where none did, a kept result failed in a later case of its shape, whose hint is about something else."""
    second = EXERCISES[name].cases[1]
    assert kind(second.name) == "the same shape again"


def test_three_mistakes_keep_a_result():
    assert collections.Counter(kind(case) for _, case in read_first())["the same shape again"] >= 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.exercise}-{one.backend}: {one.why}")
def test_a_mistake_is_read_where_it_should_be(mistake):
    report = check_answer(mistake.answer, mistake.backend, compiler=False)
    assert not report.passed
    assert report.causes[0].cases[0].name == mistake.case, str(report)
