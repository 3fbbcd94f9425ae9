"""What an answer gets that computes nothing of the kind, or repeats a bug that shipped: never more than its worth."""

import pytest
import torch
from answers import Unwatched, our_answer
from broken import applied, echo, ones, zeros
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import Exercise, WildBug
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.results.scoring import BUT_FOR, OTHERS
from turns import in_turn, one_in

RECORDS = [one for one in EXERCISES.values() if isinstance(one, Exercise)]
SHIPPED = [(one, bug) for one in RECORDS for bug in one.wild if isinstance(bug, WildBug)]
LAST_ROW = (OTHERS, BUT_FOR.split("{")[0])  # of the table, which leaves 40
NEARLY_RIGHT = {("stochastic_round", echo)}  # x, where either of its two neighbours in bfloat16 is asked for


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


def report_on(lazy, record):
    """The report on our answer made lazy; on the record's mathematics where the exercise has no answer in PyTorch."""
    if "torch" in record.backends:
        return check(record.name, applied(lazy, our_answer(record.name, "torch"), record), backend="torch")

    def results(*args):
        values = tuple(v.to(d) for v, d in zip(record.exact(args), record.dtypes(args), strict=True))
        return values if len(values) > 1 else values[0]

    return judge(record, Unwatched(lazy(results)), Settings("torch"))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("record", "lazy"), in_turn(RECORDS, (zeros, ones, echo)))
def test_a_constant_and_the_input_are_worth_nothing(record, lazy):
    """Or 40, where the last row of the table says so: right up to a factor, or in some of the outputs; or where all
    values are right within 1 %.
    """
    report = report_on(lazy, record)
    notes = [line.note for line in report.costs if line.note.startswith(LAST_ROW)]
    some = notes or (record.name, lazy) in NEARLY_RIGHT
    assert 100 * report.score <= (40 if some else 0), report.costs


@pytest.mark.parametrize(("record", "bug"), one_in(12, SHIPPED, lambda row: row[1].function.__name__))
def test_a_bug_that_shipped_leaves_half_at_most(record, bug):
    report = check(record.name, lambda *args: bug.function(*args), backend="torch")
    assert report.score <= 0.5, report.costs
