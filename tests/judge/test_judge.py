"""Verdicts at the edges of their rules, on records and outcomes that are made for one rule each."""

from dataclasses import replace

import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Finding
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import MEMORY, TRAFFIC, Case, Large, Tolerance
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Examined, Facts, Outcome, ProbeInput, Trouble

SILU, GELU = EXERCISES["silu_forward"], EXERCISES["gelu_forward"]


class Gives:
    """A runner whose every call ends with the right result of silu, or with what is given."""

    def __init__(self, limits_memory=False, **outcome):
        self.facts, self.outcome, self.limits = Facts(limits_memory=limits_memory), outcome, []

    def examine(self, call):
        self.limits.append(call.memory)
        (x,) = call.args
        outputs = ((x.double() * x.double().sigmoid()).to(x.dtype),)
        return Examined(call, Outcome(**{"outputs": outputs} | self.outcome))


@pytest.mark.parametrize(
    "outcome, status",
    [
        ({"peak": 1000}, "pass"),
        ({"peak": 1001}, "fail"),
        ({"outputs": (), "trouble": Trouble("raised", "no")}, "not-run"),
    ],
    ids=["as much as is allowed", "a byte more", "no result"],
)
def test_memory_is_measured_where_there_is_a_result(outcome, status):
    record = replace(SILU, cases=SILU.cases[:1], most_bytes=lambda x: 1000)
    report = judge(record, Gives(**outcome), Settings("torch"))
    assert {case.name: case.status for case in report.cases}[MEMORY] == status


def test_a_curve_shows_the_first_wild_bug_beside_the_answer():
    first = GELU.wild[0]
    assert GELU.wild[-1].who != first.who
    report = judge(GELU, Unwatched(GELU.peer), Settings("torch"))
    case = next(case for case in report.cases if case.curve)
    assert case.curve.wild_name == first.who
    assert case.curve.wild.shape == case.curve.x.shape
    assert case.curve.wild.max() > case.curve.ulp.max()


ZEROS = {"outputs": (torch.zeros(8),)}


@pytest.mark.parametrize(
    "limits, outcome, asked", [(True, {}, [None, 1 << 20]), (False, {}, [None]), (True, ZEROS, [None])]
)
def test_a_large_call_is_for_right_answers_whose_memory_can_be_limited(limits, outcome, asked):
    def inputs(generator):
        return (torch.rand(8, generator=generator),)

    large = Large(inputs, times=2, rows=(0,), dimension=0, shares=(1.0,))
    record = replace(SILU, cases=(Case("one", inputs, ""),), most_bytes=lambda x: 1 << 20, large=large)
    runner = Gives(limits, **outcome)
    report = judge(record, runner, Settings("torch"))
    assert report.passed == (not outcome), str(report)
    assert runner.limits == asked


@pytest.mark.parametrize("x, status", [(2.0, "fail"), (-2.0, "fail"), (2.0000002, "pass")])
def test_a_case_judges_what_is_as_large_as_its_limit(x, status):
    case = Case("within 2", lambda generator: (torch.tensor([x]),), "", within=2.0)
    report = judge(replace(SILU, cases=(case,)), Gives(outputs=(torch.tensor([7.0]),)), Settings("torch"))
    assert [one.status for one in report.cases] == [status]


@pytest.mark.parametrize("convention, status", [("", "fail"), ("empty row", "pass")])
def test_pytorchs_convention_is_taken_in_a_case_that_rests_on_one_alone(convention, status):
    case = Case("one", lambda generator: (torch.ones(4),), "", convention=convention)
    record = replace(SILU, cases=(case,), peer=lambda x: torch.full_like(x, 7.0))
    report = judge(record, Gives(outputs=(torch.full((4,), 7.0),)), Settings("torch", conventions="pytorch"))
    assert [one.status for one in report.cases] == [status]


@pytest.mark.parametrize("factor, near", [(1.009, 1.0), (1.011, 0.0), (float("nan"), 0.0)])
def test_a_result_is_near_within_a_hundredth(factor, near):
    record = replace(SILU, cases=(Case("one", lambda generator: (torch.ones(4),), ""),))
    right = torch.ones(4) * torch.ones(4).sigmoid()
    assert judge(record, Gives(outputs=(right * factor,)), Settings("torch")).cases[0].near == near


@pytest.mark.parametrize("times, near", [(63, 1.0), (65, 0.0)])
def test_next_to_zero_a_result_is_near_within_64_times_its_tolerance(times, near):
    tolerance = replace(SILU.tolerance, floor=lambda x: (2.0**-20,))
    record = replace(SILU, tolerance=tolerance, cases=(Case("zeros", lambda generator: (torch.zeros(4),), ""),))
    assert judge(record, Gives(outputs=(torch.full((4,), times * 2.0**-20),)), Settings("torch")).cases[0].near == near


def test_distinctions_alone_pass_nothing():
    record = replace(SILU, cases=(Case("one", lambda generator: (torch.ones(4),), "", bonus=True),))
    report = judge(record, Gives(), Settings("torch"))
    assert [case.status for case in report.cases] == ["pass"]
    assert not report.passed


def test_an_element_whose_tolerance_is_not_a_number_is_judged():
    """The floor of an element may be NaN, where its inputs are."""
    tolerance = replace(SILU.tolerance, floor=lambda x: (x * torch.nan,))
    record = replace(SILU, tolerance=tolerance, cases=(Case("one", lambda generator: (torch.ones(4),), ""),))
    assert judge(record, Gives(), Settings("torch")).cases[0].status == "pass"
    assert judge(record, Gives(outputs=(torch.full((4,), 7.0),)), Settings("torch")).cases[0].status == "fail"


RIGHT, MOST, EVERY = (1.0, 1.0, 1.0, 1.0), (7.0, 7.0, 7.0, 1.0), 16


@pytest.mark.parametrize(
    "at_first, then, draws, valid, status",
    [
        (RIGHT, RIGHT, 1, True, "pass"),
        (MOST, MOST, EVERY, True, "fail"),
        (MOST, MOST, EVERY - 1, True, "pass"),
        ((7.0, 7.0, 1.0, 1.0), MOST, 1, True, "pass"),
        ((1 + 5 * 2.0**-23,) * 4, MOST, EVERY, True, "fail"),
        ((1 + 4 * 2.0**-23,) * 4, MOST, 1, True, "pass"),
        (None, None, EVERY, True, "fail"),
        (MOST, MOST, EVERY, False, "pass"),
    ],
    ids=["right", "most", "not in all", "half", "off", "within 4 times the tolerance", "fails", "no valid input"],
)
@pytest.mark.parametrize("late", [False, True])
def test_most_is_wrong_on_decoys_where_a_result_ignores_inputs(at_first, then, draws, valid, status, late):
    """The tolerance is one ulp. draws: probe inputs on which the answer is wrong, before it is right. late: whether the
    first is met by the second call.
    """
    ones, met = torch.ones(4), []

    def came(values):
        trouble = Trouble("raised", "") if values is None else None
        return Outcome(outputs=() if trouble else (torch.tensor(values),), trouble=trouble)

    class Foreseeing(Gives):
        def examine(self, call):
            met.append(call)
            if len(met) > 1:
                return Examined(call, came(then if len(met) <= draws else RIGHT))
            examined = Examined(call, Outcome(outputs=(ones,)))
            examined.again = Outcome(outputs=(ones,))
            (examined.again if late else examined.first).probe_input = ProbeInput((ones,), valid), came(at_first)
            return examined

    case = Case("one", lambda generator: (ones,), "")
    record = replace(SILU, oracle=lambda x: torch.ones_like(x), peer=None, tolerance=Tolerance(1.0, 1.0, ""))
    assert [one.status for one in judge(replace(record, cases=(case,)), Foreseeing(), Settings("torch")).cases] == [
        status
    ]
    assert len(met) <= EVERY


@pytest.mark.parametrize(("values", "status", "estimates"), [(RIGHT, "pass", 1), ((2.0,) * 4, "pass", 2)])
def test_an_estimate_serves_a_decoy_and_convicts_nobody(values, status, estimates):
    """Nothing is allowed for the case's own numbers, 1; for the probe input's, 2, much is."""
    ones, asked = torch.ones(4), []

    def floor(x):
        asked.append(x)
        return (x.double() - 1,)

    class Met(Gives):
        def examine(self, call):
            examined = Examined(call, Outcome(outputs=(ones,), probe_input=(ProbeInput((2 * ones,), True), given)))
            examined.again = Outcome(outputs=(ones,))
            return examined

    given = Outcome(outputs=(torch.tensor(values),))
    case = Case("one", lambda generator: (ones,), "")
    tolerance = Tolerance(1.0, 1.0, "", floor, floor, estimated=True)
    record = replace(SILU, oracle=lambda x: torch.ones_like(x), peer=None, tolerance=tolerance, cases=(case,))
    assert [one.status for one in judge(record, Met(), Settings("torch")).cases] == [status]
    assert len(asked) == estimates


def test_memory_is_not_measured_in_a_distinction():
    small, large = (Case(f"{n}", lambda generator, n=n: (torch.ones(n),), "", bonus=n == 8) for n in (4, 8))
    record = replace(SILU, cases=(small, large), most_bytes=lambda x: x.numel() * 4)
    report = judge(record, Gives(peak=20), Settings("torch"))
    assert {case.name: case.status for case in report.cases}[MEMORY] == "fail"


def test_a_fault_of_the_first_call_is_told_before_one_of_a_further_call():
    ones = torch.ones(4)
    probe_input = ProbeInput((ones,), True), Outcome(trouble=Trouble("raised", "No."))
    case = Case("one", lambda generator: (ones,), "")

    class Table(Gives):
        def examine(self, call):
            return super().examine(call) if call.args[0] is ones else Examined(call, probe_input[1])

    for fault, more in (("other random numbers", {}), ("changed its input x", {"mutated": ("x",)})):
        report = judge(replace(SILU, cases=(case,)), Table(probe_input=probe_input, **more), Settings("torch"))
        assert fault in report.cases[0].message


@pytest.mark.parametrize("ulp, status", [(64, "pass"), (65, "fail")])
def test_in_a_large_call_longer_sums_may_lose_as_many_times_more(ulp, status):
    """Four times the tolerance of one ulp, with sums 16 times as long."""

    class Loses(Gives):
        def examine(self, call):
            (x,) = call.args
            return Examined(call, Outcome(outputs=(x + (ulp * 2.0**-23 if call.memory else 0),)))

    def inputs(generator):
        return (torch.ones(8),)

    large = Large(inputs, times=2, rows=(0,), dimension=0, shares=(1.0,), terms=16)
    record = replace(SILU, oracle=lambda x: x, peer=None, tolerance=Tolerance(1.0, 1.0, ""), large=large)
    record = replace(record, cases=(Case("one", inputs, ""),), most_bytes=lambda x: 1 << 20)
    report = judge(record, Loses(limits_memory=True), Settings("torch"))
    assert {case.name: case.status for case in report.cases}[MEMORY] == status


def test_in_a_large_call_a_mean_over_more_rows_has_a_share_of_each():
    class Means(Gives):
        def examine(self, call):
            (x,) = call.args
            return Examined(call, Outcome(outputs=(x / 2 if call.memory else x,)))

    def inputs(generator):
        return (torch.ones(8),)

    large = Large(inputs, times=2, rows=(0,), dimension=0, shares=(0.5,))
    record = replace(SILU, oracle=lambda x: x, peer=None, tolerance=Tolerance(1.0, 1.0, ""), large=large)
    record = replace(record, cases=(Case("one", inputs, ""),), most_bytes=lambda x: 1 << 20)
    report = judge(record, Means(limits_memory=True), Settings("torch"))
    assert {case.name: case.status for case in report.cases}[MEMORY] == "pass"


@pytest.mark.parametrize(
    "loaded, stored, status",
    [(100, 50, "pass"), (100, 51, "fail"), (8, 16, "pass"), (7, 16, "fail")],
    ids=["as much as is allowed", "a byte more", "half of the inputs", "a byte less"],
)
def test_traffic_is_held_to_its_bound_and_to_half_of_the_inputs(loaded, stored, status):
    """The input and the output have 16 bytes each."""
    case = Case("one", lambda generator: (torch.ones(4),), "")
    record = replace(SILU, cases=(case,), least_bytes=lambda x: 100, traffic=1.5)
    runner = Gives(traffic={"x_ptr": {"loaded": loaded, "stored": 0}, "y_ptr": {"loaded": 0, "stored": stored}})
    report = judge(record, runner, Settings("triton", compiler=False))
    assert {case.name: case.status for case in report.cases}[TRAFFIC] == status


@pytest.mark.parametrize(
    "again, says",
    [
        (lambda y: Outcome(outputs=(y.view(torch.int32),)), "different bits"),
        (lambda y: Outcome(outputs=(y,), findings=(Finding("race-read", "Two programs race."),)), "Two programs race."),
    ],
    ids=["the same bits of another dtype", "a finding"],
)
def test_the_second_call_is_held_to_the_first(again, says):
    class Changing(Gives):
        def examine(self, call):
            examined = super().examine(call)
            examined.again = again(*examined.first.outputs)
            return examined

    record = replace(SILU, cases=(Case("one", lambda generator: (torch.ones(4),), ""),))
    assert says in judge(record, Changing(), Settings("torch")).cases[0].message
