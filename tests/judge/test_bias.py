"""The mean error of half-precision results: what truncation takes from each, and no element shows."""

from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder import Case, Exercise, Output, Tolerance, check, elementwise, normal
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.validation import RecordError, validate
from graded_kernels.autograder.runner import Answer, Cell

EPS = 2.0**-23


def added(x, update):
    return x + 0.3 * update


def moved(rounded, up):
    """The next number of the dtype, away from 0 or towards it."""
    return (rounded.view(torch.int16) + torch.where(up, 1, -1).to(torch.int16)).view(rounded.dtype)


def nearest(v, dtype):
    return v.to(dtype)


def truncated(v, dtype):
    rounded = v.to(dtype)
    return torch.where(rounded.float().abs() > v.abs(), moved(rounded, torch.tensor(False)), rounded)


def away(v, dtype):
    rounded = v.to(dtype)
    return torch.where(rounded.float().abs() < v.abs(), moved(rounded, torch.tensor(True)), rounded)


def floored(v, dtype):
    return torch.where(v > 0, truncated(v, dtype), away(v, dtype))


def stochastic(v, dtype):
    below, above = truncated(v, dtype), away(v, dtype)
    share = (v - below.float()) / (above.float() - below.float())
    odds = torch.rand(v.shape, generator=torch.Generator().manual_seed(v.numel() + 500))  # no seed of a case
    return torch.where((odds < share) & share.isfinite(), above, below)


ROUNDINGS = {one.__name__: one for one in (nearest, truncated, away, floored, stochastic)}


def answer(rounding):
    def function(x, update):
        v = x.float() + 0.3 * update.float()
        return (
            v if x.dtype == torch.float32 else torch.where(v.isfinite(), ROUNDINGS[rounding](v, x.dtype), v.to(x.dtype))
        )

    return function


def plain(dtype, count=3000) -> Case:
    def inputs(generator):
        return normal(generator, (count,), dtype, 3.0), normal(generator, (count,), dtype)

    return Case(f"{count} numbers of {dtype}", inputs, "Add in float32, and round once.")


def record(*cases, **more) -> Exercise:
    floor = Tolerance(1, 8, "a product and a sum are rounded", lambda x, y: (EPS * (x.abs() + y.abs()).nan_to_num(),))
    given = {"cases": cases, "tolerance": floor, "unbiased": True} | more
    return Exercise(
        **{"name": "added", "summary": "x + 0.3 update", "oracle": added, "outputs": (Output("y"),), "hint": ""} | given
    )


PLAIN = record(plain(torch.float16), plain(torch.bfloat16))
SWEPT = elementwise(("x", "update"), "x", lambda: torch.ones(3))
# Away from the largest float16 a number is rounded up to infinity, which is another failure.
FAMILY = record(*(replace(one, within=one.within and 1e4) for one in SWEPT))


def bias(report):
    return next(case for case in report.cases if case.name == "bias")


@pytest.mark.parametrize("of", [PLAIN, FAMILY], ids=["plain", "family"])
@pytest.mark.parametrize(
    ("rounding", "lean"),
    [
        ("truncated", "0.5 ulp closer to 0 than they should be; rounding leaves at most 0."),
        ("away", "0.5 ulp farther from 0 than they should be"),
        ("floored", "0.5 ulp lower than they should be"),
    ],
)
def test_a_rounding_to_one_side_is_told(of, rounding, lean):
    report = check(of, answer(rounding), backend="torch")
    assert {case.name: case.status for case in report.cases if case.status != "pass"} == {"bias": "fail"}
    assert not report.passed
    assert lean in bias(report).message, bias(report).message
    assert bias(report).message.endswith(".")
    assert "Round to nearest" in str(report)


@pytest.mark.parametrize("seeds", [5, pytest.param(100, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_a_right_rounding_passes_at_every_seed(rounding, seeds):
    for seed in range(seeds):
        report = check(PLAIN, answer(rounding), backend="torch", seed=seed)
        assert report.passed, report
    assert check(FAMILY, answer(rounding), backend="torch").passed


def test_the_output_and_the_format_that_lean_are_named():
    def two(x, update):
        v = x.float() + 0.3 * update.float()
        rounding = truncated if x.dtype == torch.bfloat16 else nearest
        return v.to(x.dtype), rounding(-v, x.dtype)

    both = record(
        *PLAIN.cases, oracle=lambda x, y: (added(x, y), -added(x, y)), outputs=(Output("plus"), Output("minus"))
    )
    both = replace(both, tolerance=Tolerance(1, 8, "as above", lambda x, y: both_floors(x, y)))
    message = bias(check(both, two, backend="torch")).message
    assert "rounded results of minus in bfloat16 are on average 0.5 ulp closer to 0" in message


def both_floors(x, y):
    return (EPS * (x.abs() + y.abs()),) * 2


def test_it_costs_the_dtypes_or_the_point_and_nothing_else():
    for about, category in ((), "dtypes"), (("bias",), "point"):
        report = check(replace(FAMILY, about=about), answer("truncated"), backend="torch")
        assert [line.name for line in report.costs] == [category]
    assert "bias" not in [
        case.name for case in check(replace(FAMILY, unbiased=False), answer("truncated"), "torch").cases
    ]


def test_a_result_that_float32_may_round_to_either_side_says_nothing():
    """Its floor explains any rounding, so that none is left to judge."""
    loose = replace(PLAIN, tolerance=Tolerance(1, 8, "loose", lambda x, y: (0.01 * x.abs(),)))
    report = check(loose, answer("truncated"), backend="torch")
    assert (report.passed, bias(report).status) == (True, "not-run")
    assert "It is measured on 256 half-precision results that are rounded, and fewer are right." == bias(report).message


def test_a_case_that_follows_pytorchs_convention_is_left_out():
    """Its values are right by a convention, and their distance from the oracle's is no rounding."""
    unlike = replace(plain(torch.float16, 400), name="a convention", convention="infinity")
    of = replace(PLAIN, cases=(*PLAIN.cases, unlike), peer=lambda x, update: answer("nearest")(x, update) + 1)
    report = check(
        of, lambda x, update: answer("nearest")(x, update) + (len(x) == 400), backend="torch", conventions="pytorch"
    )
    assert report.passed, report


@pytest.mark.parametrize(("rounding", "status"), [("truncated", "fail"), ("nearest", "pass")])
def test_what_an_answer_writes_is_judged_too(rounding, status):
    def step(x, update):
        x.copy_(answer(rounding)(x, update))

    report = check(replace(PLAIN, outputs=(), writes=("x",)), step, backend="torch")
    assert bias(report).status == status, report


def test_what_is_wrong_is_told_of_its_case_alone():
    report = check(PLAIN, lambda x, update: added(x.float(), update.float()).to(x.dtype) + 1, backend="torch")
    assert [case.status for case in report.cases] == ["fail", "fail", "not-run"]


def test_a_wrong_case_is_shown_before_the_bias_of_the_others():
    """Which is of half precision, too, and no case in float32."""
    report = check(PLAIN, lambda x, update: answer("truncated")(x, update) + (x.dtype == torch.bfloat16), "torch")
    assert [cause.cases[0].name for cause in report.causes] == ["3000 numbers of torch.bfloat16", "bias"]


def test_a_record_is_about_its_bias_only_where_it_is_judged():
    validate(replace(PLAIN, about=("bias",)))
    with pytest.raises(RecordError, match="it is about 'bias', which is judged where unbiased=True"):
        validate(replace(PLAIN, about=("bias",), unbiased=False))


def test_a_record_without_half_precision_has_no_bias_to_judge():
    with pytest.raises(RecordError, match="no case has a result in float16 or bfloat16"):
        validate(record(plain(torch.float32)))


TRUNCATING = """
import torch

def added(x, update):
    v = x.float() + 0.3 * update.float()
    rounded = v.to(x.dtype)
    over = rounded.float().abs() > v.abs()
    return (rounded.view(torch.int16) - over.to(torch.int16)).view(x.dtype)
"""


@pytest.mark.exhaustive
def test_it_is_judged_across_processes(worker):
    for code, status in ((TRUNCATING, "fail"), (TRUNCATING.replace("- over", "+ 0 * over"), "pass")):
        report = check_answer(Answer("added", (Cell("cell", code),)), Settings("torch"), worker=worker, record=PLAIN)
        assert bias(report).status == status, report
        assert report.passed == (status == "pass")
