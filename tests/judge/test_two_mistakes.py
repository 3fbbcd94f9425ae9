"""Planted mistakes in the whole check, as a learner's answer is: each fails where it should, and of two in one answer
either can be mended without that points fall.
"""

import functools
import itertools
import math

import pytest
from broken import Mutant, mutants
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from wrong_answers import Wrong

SOME, ALL = 3, 10_000  # pairs of one answer's mistakes: all of them take half an hour


def judged(exercise: str, backend: str, *mistakes: Mutant):
    """The report on our answer with these mistakes; None where they change the same place."""
    wrong = Wrong("", exercise, backend, 0, patches=tuple((one.old, one.new) for one in mistakes))
    try:
        return check_answer(wrong.answer, Settings(backend, compiler=False))
    except AssertionError:  # one has taken the place of the other
        return None


def is_better(one, other) -> bool:
    """Whether each case of a report comes out no worse than in the other: one mistake may hide another."""
    pairs = zip(one.cases, other.cases, strict=True) if len(one.cases) == len(other.cases) else ()
    known = [(a, b) for a, b in pairs if not a.bonus]
    return bool(known) and all(
        a.status == "pass" or (a.status == b.status and a.flaw == b.flaw and (a.near or 0) >= (b.near or 0))
        for a, b in known
    )


def assert_no_less(mended, both) -> None:
    assert mended.score >= both.score - 1e-9 or not is_better(mended, both), (mended, both)


def test_a_bug_that_shipped_gets_no_less_than_the_same_beside_another():
    """With the other it has no name."""
    mistakes = {one.why: one for one in mutants()["token_mean", "torch"]}
    shipped, other = mistakes["ignores num_items"], mistakes["hides NaN"]
    mended, both = judged("token_mean", "torch", shipped), judged("token_mean", "torch", shipped, other)
    assert is_better(mended, both)
    assert (bool(mended.source), bool(both.source)) == (True, False)
    assert_no_less(mended, both)


@pytest.mark.parametrize(
    "most", [pytest.param(SOME, marks=pytest.mark.exhaustive), pytest.param(ALL, marks=pytest.mark.release)]
)
@pytest.mark.parametrize(("exercise", "backend"), mutants())
def test_of_two_mistakes_one_mended_takes_nothing_off(exercise, backend, most):
    rows = mutants()[exercise, backend]
    pairs = [*itertools.combinations(rows, 2)]

    @functools.cache
    def alone(mistake: Mutant):
        report = judged(exercise, backend, mistake)
        failed = {one.name for one in report.cases if not one.bonus and one.status in ("fail", "error")}
        assert not report.passed, f"accepted although it {mistake.why}"
        assert mistake.dies_in in failed, str(report)
        return report

    for pair in pairs[:: max(1, math.ceil(len(pairs) / most))] or [rows]:
        both = judged(exercise, backend, *pair)
        for one in pair:
            mended = alone(one)
            if both is not None:
                assert_no_less(mended, both)
