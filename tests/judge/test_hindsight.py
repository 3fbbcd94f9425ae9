"""What a report says once all cases are known: which hint, which suspicion, which form, which case first."""

from dataclasses import replace

import pytest
import torch
from answers import our_answer
from graded_kernels.autograder.judge import check
from graded_kernels.autograder.judge.checking.determinism import SUSPICION
from graded_kernels.autograder.judge.checking.hindsight import in_hindsight
from graded_kernels.autograder.judge.records.category import Category
from graded_kernels.autograder.judge.report.worst_element import expected
from graded_kernels.autograder.judge.results.case_result import CaseResult, Failure
from graded_kernels.autograder.judge.results.causes import causes


def spread_with_n(rewards, eps=1e-6):
    """The advantage with n for n - 1: a mistake that is named."""
    mean = rewards.nanmean(1, keepdim=True)
    scored, d = ~rewards.isnan(), (rewards - mean).nan_to_num(0)
    n = scored.sum(1, keepdim=True)
    std = ((d * d).sum(1, keepdim=True) / n.clamp(min=1)).sqrt()
    low = rewards.nan_to_num(torch.inf).amin(1, keepdim=True) if rewards.shape[1] else rewards
    high = rewards.nan_to_num(-torch.inf).amax(1, keepdim=True) if rewards.shape[1] else rewards
    return torch.where(scored & (n > 1) & (high > low), d / (std + eps), 0.0)


def test_no_suspicion_where_an_answer_is_wrong_for_a_common_reason():
    shown = str(check("group_advantage", spread_with_n, backend="torch"))
    assert "a standard deviation with n" in shown
    assert SUSPICION.strip() not in " ".join(shown.split())


def failing(name, code, message, **more):
    return CaseResult(name, "fail", False, message, "", code=code, **more)


def test_a_suspicion_is_said_where_nothing_else_fails():
    alone = failing("a", "foreseen", f"y is wrong.{SUSPICION}")
    assert in_hindsight([alone], {}, {}, {}, named=False) == [alone]
    told, _ = in_hindsight([alone, failing("b", "values", "y is wrong.")], {}, {}, {}, named=False)
    assert told.message == "y is wrong."


def test_the_hint_of_an_instructors_case_is_left_out_beside_another():
    passed, own = replace(failing("a", "", ""), status="pass"), failing("b", "values", "y is wrong.")
    hidden = replace(failing("c", "values", "y is wrong.", hidden=True), hint="Look at c.")
    assert in_hindsight([passed, hidden], {}, {}, {}, named=False)[1].hint == "Look at c."
    assert in_hindsight([passed, own, hidden], {}, {}, {}, named=False)[2].hint == ""
    distinction = replace(own, bonus=True)
    assert in_hindsight([distinction, hidden], {}, {}, {}, named=False)[1].hint == "Look at c."


def test_where_a_bug_is_named_no_hint_leads_elsewhere():
    every = torch.full
    answer = lambda tokens: every(tokens.shape, 1 / tokens.shape[1]) * (tokens.sum() > 0)  # noqa: E731
    report = check("accumulation_weights", answer, backend="torch")
    assert report.fingerprint
    first = report.causes[0].cases[0]
    assert not first.hint and "as if" not in first.message, first.message


def test_the_form_that_costs_is_named():
    """y is float32 where x is bfloat16 and weight float32, and in the first case it is wrong, too."""

    def norm(x, weight, eps=1e-6):
        rstd = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
        y = x.float() * rstd * weight.float() * (1.5 if len(x) > 6 else 1)
        return y if weight.dtype == torch.float32 else y.to(x.dtype), rstd[:, 0]

    report = check("rms_norm_forward", norm, backend="torch")
    assert "y should be bfloat16, but is float32" in " ".join(str(report).split())


def test_a_form_beside_wrong_values_is_said_in_the_first_case():
    first, other = failing("a", "values", "y is wrong."), failing("b", "values", "y is wrong.", form="dtype")
    told, _ = in_hindsight([first, other], {}, {"b": "y should be bfloat16, but is float32."}, {}, named=False)
    assert told.message == "y is wrong."  # b's own message says it
    failure = check("silu_forward", lambda x: 2 * x, backend="torch").causes[0].cases[0].failure
    other = replace(other, failure=failure)
    told, _ = in_hindsight([first, other], {}, {"b": "y should be bfloat16, but is float32."}, {}, named=False)
    assert told.message == "y is wrong. y should be bfloat16, but is float32, in “b”."


def test_a_dtype_comes_before_layouts_where_half_precision_fails():
    report = check("silu_forward", lambda x: x.float().sigmoid().to(x.dtype) * x, backend="torch")
    cases = [case for cause in report.causes for case in cause.cases]
    assert all(case.half for case in cases)
    assert cases[0].category == "dtypes", [case.name for case in cases]


def test_half_precision_comes_before_its_strides():
    half = {"half": True, "category": Category.DTYPES}
    strided = failing("every second column", "values", "y is wrong.", strided=True, **half)
    (cause,) = causes([strided, failing("every float16 value", "values", "y is wrong.", **half)], "")
    assert [case.name for case in cause.cases] == ["every float16 value", "every second column"]
    by_name = {case.name: case.strided for case in check("silu_forward", lambda x: x + 1, backend="torch").cases}
    assert (by_name["every float16 value"], by_name["every second column"]) == (False, True)


def test_small_inputs_are_shown_whole():
    report = check(
        "mismatches", lambda actual, expected, tolerance: 1 + int((actual != expected).sum()), backend="torch"
    )
    shown = [case.inputs for case in report.cases]
    assert any("float32 (5,) = [" in one for one in shown), shown


@pytest.mark.parametrize(("got", "shown"), [(1.0, "0.0"), (0.0, "-0.0")])
def test_a_zero_has_a_sign_where_it_counts(got, shown):
    assert expected(Failure("y", (0,), got, -0.0, 1.0, 1, 1, {})) == shown


def test_a_factor_of_single_numbers_is_said_where_several_cases_have_it():
    """A loss is one number in each case, and no case alone shows that it has the other sign."""
    right = our_answer("policy_loss_forward", "torch")
    report = check("policy_loss_forward", lambda *args, **more: -right(*args, **more), backend="torch")
    first = next(case for case in report.cases if case.fails)
    assert "loss has the other sign, here and wherever plain values are wrong." in first.message
    assert first.hint == ""
    report = check("policy_loss_forward", lambda *args, **more: right(*args, **more) + 1, backend="torch")
    assert not any("wherever plain values" in case.message for case in report.cases)


def test_a_factor_of_one_case_alone_is_not_said():
    """One number is always right up to a factor, and the case's hint says more."""
    right = our_answer("policy_loss_forward", "torch")

    def answer(logp, *args, **more):
        return right(logp, *args, **more) + 0.3 * (logp.shape[1] == 8193)

    report = check("policy_loss_forward", answer, backend="torch")
    first = next(case for case in report.cases if case.fails)
    assert "wherever plain values" not in first.message
    assert "8192" in first.hint
