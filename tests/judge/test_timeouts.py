"""A time-out is said once and as what it is: not as too much memory or traffic, and the report says what decided it."""

import json

import pytest
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import MEMORY, TRAFFIC
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Examined, Facts, InProcess, Outcome, Trouble

LATE = Trouble("timeout", "The call took more than 20 s of processor time, which is the most allowed.")


class OutOfTime:
    """An answer whose calls with the arguments of a case, from the given call with them on, take too long."""

    facts = Facts()

    def __init__(self, function, record, backend, case: int, call: int = 1, trouble: Trouble = LATE):
        self.runner = InProcess(function, record.contract, backend)
        self.case, self.call_number, self.trouble, self.seen = case, call, trouble, 0

    def examine(self, call):
        self.seen += 1
        late = Outcome(trouble=self.trouble) if self.seen == self.case else None
        if late and self.call_number == 1:
            return Examined(call, late)
        return LateAgain(call, self.runner.examine(call), late)


class LateAgain(Examined):
    """What was examined, but for the outcome of the second call."""

    def __init__(self, call, examined, late: Outcome | None):
        super().__init__(call, examined.first)
        self.examined, self.late = examined, late

    def _second(self, fill):
        return self.late or self.examined.again


def report_of(exercise: str, backend: str, case: int, **how):
    record = EXERCISES[exercise]
    return judge(
        record,
        OutOfTime(answer(exercise, backend).load(), record, backend, case, **how),
        Settings(backend, compiler=False),
    )


@pytest.mark.parametrize(
    ("exercise", "backend", "name"),
    [
        ("linear_cross_entropy_forward_backward", "torch", MEMORY),
        ("silu_forward", "triton", TRAFFIC),
        pytest.param("rms_norm_forward", "triton", TRAFFIC, marks=pytest.mark.exhaustive),
    ],
)
def test_what_the_designated_case_did_not_measure_is_not_run(exercise, backend, name):
    cases = EXERCISES[exercise].cases
    designated = {
        "linear_cross_entropy_forward_backward": "160 rows, 700 classes",
        "silu_forward": "every float16 value",
    }
    at = [case.name for case in cases].index(designated.get(exercise, "4096 columns")) + 1
    for number in {2, at}:
        report = report_of(exercise, backend, number)
        (cost,) = (case for case in report.cases if case.name == name)
        assert cost.status == "not-run"
        assert f"“{cases[at - 1].name}”" in cost.message
        assert [case.name for case in report.cases if case.status in ("fail", "error")] == [cases[number - 1].name]
        assert report.traffic is None
        assert not report.passed
    (cost,) = (case for case in report_of(exercise, backend, at + 1).cases if case.name == name)
    assert cost.status == "pass"


@pytest.mark.parametrize("call", [1, 2])
def test_a_report_says_that_a_time_out_decided_it(call):
    report = report_of("silu_backward", "torch", 3, call=call)
    late = report.cases[2]
    assert late.status == "error"
    assert LATE.message in late.message
    assert {case.status for case in report.cases[3:]} == {"not-run"}  # none of them is waited for
    assert json.loads(json.dumps(report.to_dict()))["timed_out"] is True


def test_a_report_on_anything_else_does_not():
    for trouble in (Trouble("crashed", "SIGSEGV"), Trouble("memory", "2 GB")):
        report = report_of("silu_backward", "torch", 3, trouble=trouble)
        assert not report.passed
        assert report.to_dict()["timed_out"] is False


def test_a_time_out_in_a_distinction_goes_on():
    names = [case.bonus for case in EXERCISES["silu_forward"].cases]
    report = report_of("silu_forward", "torch", names.index(True) + 1)
    assert report.passed
    assert report.timed_out
