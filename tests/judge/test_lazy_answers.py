"""What an answer gets that computes nothing of the kind, or repeats a bug that shipped: never more than its worth."""

import pytest
import torch
from answers import our_answer
from broken import applied, echo, ones, zeros
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.records.record import Exercise, WildBug
from turns import in_turn, one_in

RECORDS = [one for one in EXERCISES.values() if isinstance(one, Exercise)]
SHIPPED = [(one, bug) for one in RECORDS for bug in one.wild if isinstance(bug, WildBug)]
IN_TORCH = [one for one in RECORDS if "torch" in one.backends]


def token_mean(loss, labels, ignore_index=-100, num_items=None):
    return loss.sum() * 0


def layer_norm_with_a_mean_of_0(x, weight, bias, eps=1e-5):
    v = x.float()
    rstd = (v.square().mean(1) + eps).rsqrt()
    y = v * rstd[:, None] * weight.float() + bias.float()
    return y.to(x.dtype), torch.zeros_like(rstd), rstd


LAZY = {
    "relu": ("gelu_forward", lambda x, approximate="none": x.relu(), 0),
    "half of x": ("silu_forward", lambda x: x / 2, 0),
    "the sigmoid alone": ("silu_forward", lambda x: torch.sigmoid(x.float()).to(x.dtype), 0),
    "x": ("rotary_forward", lambda x, *more, **named: x.clone(), 0),
    "the largest": ("gumbel_argmax", lambda logits, *more: logits.argmax(-1), 40),
    "0, attached": ("token_mean", token_mean, 0),
    "a mean of 0": ("layer_norm_forward", layer_norm_with_a_mean_of_0, 40),
}


@pytest.mark.parametrize(("exercise", "answer", "most"), LAZY.values(), ids=LAZY)
def test_a_lazy_answer_gets_what_it_is_worth(exercise, answer, most):
    report = check(exercise, answer, backend="torch")
    assert 100 * report.score <= most, report.costs


@pytest.mark.exhaustive
@pytest.mark.parametrize(("record", "lazy"), in_turn(IN_TORCH, (zeros, ones, echo)))
def test_a_constant_and_the_input_are_worth_nothing(record, lazy):
    """Or 40, where the last row of the table says so: right up to a factor, or in some of the outputs."""
    report = check(record.name, applied(lazy, our_answer(record.name, "torch"), record), backend="torch")
    assert report.score <= 0.4, report.costs


@pytest.mark.parametrize(("record", "bug"), one_in(12, SHIPPED, lambda row: row[1].function.__name__))
def test_a_bug_that_shipped_leaves_half_at_most(record, bug):
    report = check(record.name, lambda *args: bug.function(*args), backend="torch")
    assert report.score <= 0.5, report.costs
