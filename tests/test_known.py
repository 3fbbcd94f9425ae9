"""Cases' arguments, and what is right for them, that a process keeps from one check to the next."""

from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.exercises.record import Case
from graded_kernels.autograder.judge import known
from graded_kernels.autograder.judge.compare import expect
from graded_kernels.autograder.judge.known import arguments, expected_of
from graded_kernels.solutions import layer_norm

RECORD = EXERCISES["silu_backward"]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(known, "_kept", type(known._kept)())
    monkeypatch.setattr(known, "_keys", {})


def counted(monkeypatch) -> list:
    calls = []
    monkeypatch.setattr(known, "expect", lambda *given: calls.append(given) or expect(*given))
    return calls


def test_another_check_of_the_exercise_works_nothing_out_again(monkeypatch):
    calls = counted(monkeypatch)
    for _ in range(2):  # as both answers, and every learner's, have records with the same parts
        record = RECORD.with_cases(())
        found = [(arguments(case, i, 7), case) for i, case in enumerate(record.cases)]
        expected = [expected_of(record, case, args, "course") for args, case in found]
    big = [args for args, _ in found if any(a.untyped_storage().nbytes() > known.LARGE for a in args)]
    assert 0 < len(big) < 3
    assert len(calls) == len(found) + len(big)
    fresh = expect(record, found[2][1], found[2][0])
    assert all(a.equal(b) for a, b in zip(fresh.allowed, expected[2].allowed, strict=True))


def test_what_decides_is_no_other(monkeypatch):
    calls, (first, second) = counted(monkeypatch), RECORD.cases[:2]
    args = arguments(first, 0, 7)
    assert args is arguments(first, 0, 7)
    assert not any(args[0].equal(other[0]) for other in (arguments(first, 0, 8), arguments(first, 1, 7)))
    assert args is not arguments(second, 0, 7)
    bound = replace(RECORD, tolerance=replace(RECORD.tolerance, single=2 * RECORD.tolerance.single))
    other = replace(RECORD, oracle=lambda dy, x: dy * x)
    asked = [(RECORD, "course"), (bound, "course"), (other, "course"), (RECORD, "pytorch")]
    for record, conventions in asked * 2:
        expected_of(record, first, args, conventions)
    expected_of(RECORD, replace(first, within=1.0), args, "course")
    expected_of(RECORD, first, (*args[:1], args[1].clone()), "course")
    assert len(calls) == 4 + 1 + 1
    assert calls[1][0] is bound


def test_what_was_asked_for_longest_ago_is_forgotten(monkeypatch):
    monkeypatch.setattr(known, "MOST", 8 * (4 + 3 * 8) * 1000)
    cases = [Case(f"case {i}", lambda generator: (torch.randn(1000, generator=generator),), "") for i in range(20)]
    record = EXERCISES["silu_forward"]
    for case in cases:
        arguments(cases[0], 0, 7)
        expected_of(record, case, arguments(case, 0, 7), "course")
    assert [one.case for one in known._kept.values()] == [*cases[-7:-1], cases[0], cases[-1]]
    assert len(known._keys) == 8


def test_a_case_may_give_the_same_arguments_for_every_seed(monkeypatch):
    monkeypatch.setattr(known, "MOST", 3000)
    record, fixed = EXERCISES["silu_forward"], (torch.linspace(-3, 3, 10),)
    same = Case("the same numbers", lambda generator: fixed, "")
    large = Case("others", lambda generator: (torch.randn(500, generator=generator),), "")
    for case, seed in [(same, 1), (same, 2), (large, 1), (large, 2), (same, 1)]:
        args = arguments(case, 0, seed)
        expected = expected_of(record, case, args, "course")
        assert expected.values[0].equal(expect(record, case, args).values[0])


def test_arguments_of_answers_that_fail_take_no_more_room(monkeypatch):
    monkeypatch.setattr(known, "MOST", 5 * 4 * 1000)
    case = Case("random", lambda generator: (torch.randn(1000, generator=generator),), "")
    for seed in range(20):
        arguments(case, 0, seed)
    assert [seed for _, _, seed in known._kept] == [*range(15, 20)]
    assert len(known._keys) == 5


def test_a_record_that_rests_on_what_changed_meanwhile_is_read_as_it_is():
    """As in a notebook, where the line above is corrected and the check repeated."""
    power, scale, largest = 3, 1.0, []
    case = Case("random", lambda generator: (scale * torch.randn(10, generator=generator),), "")
    record = replace(
        EXERCISES["silu_forward"], name="power", oracle=lambda x: x**power, cases=(case,), wild=(), about=()
    )

    def square(x):
        largest.append(x.abs().max())
        return x * x

    assert not check(record, square, backend="torch")
    power, scale = 2, 1000.0
    assert check(record, square, backend="torch")
    assert largest[0] < 10 < largest[-1]


def test_what_an_answer_set_for_the_whole_process_is_gone_with_it():
    try:
        torch.set_default_dtype(torch.float64)
        assert not check("layer_norm_forward", layer_norm.layer_norm_forward, backend="torch").passed
    finally:
        torch.set_default_dtype(torch.float32)
    assert check("layer_norm_forward", layer_norm.layer_norm_forward, backend="torch").passed
