"""How wrong values are related to the right ones: each relation is seen, and none that is not there."""

import inspect
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from answers import Unwatched, answer
from graded_kernels.autograder import check
from graded_kernels.autograder.judge.checking.case_verdict import judge_case
from graded_kernels.autograder.judge.checking.explained import explained
from graded_kernels.autograder.judge.checking.redaction import redacted
from graded_kernels.autograder.judge.comparing.trial import Trial, arguments
from graded_kernels.autograder.judge.explaining.changed_inputs import changed
from graded_kernels.autograder.judge.explaining.changed_step import STEPS, changed_steps
from graded_kernels.autograder.judge.records.record import Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.autograder.runner import InProcess


def judged(name, function, case="ordinary values", earlier=None):
    """The judgement on one case. name: of the exercise, or its record. function: takes the case's arguments, and then
    what is right for them.
    """
    record = EXERCISES[name] if isinstance(name, str) else name
    number = next(n for n, one in enumerate(record.cases) if one.name == case)
    args = arguments(record.cases[number], number, 0)
    right = tuple(value.to(dtype) for value, dtype in zip(record.exact(args), record.dtypes(args), strict=True))
    runner = Unwatched(lambda *given: function(*given, *right))
    trial = Trial.of(record, record.cases[number], args, runner, Settings("torch"))
    return explained(trial, judge_case(trial), earlier or {})


def message(*args, **how):
    return judged(*args, **how).result.message


def unbiased(x, weight, bias, y, mean, rstd):
    off = (127 / 128) ** 0.5
    return (y - bias) * off + bias, mean, rstd * off


def unbiased_in_y(x, weight, bias, y, mean, rstd):
    return unbiased(x, weight, bias, y, mean, rstd)[0], mean, rstd


def of_other_rows(x, weight, bias, y, mean, rstd):
    return (y - bias) * (rstd.flip(0) / rstd)[:, None] + bias, mean, rstd


def columns(x, weight, y, rstd):
    return y / weight, rstd


def first_dloss(dloss, logits, labels, lse, dlogits):
    hot = torch.nn.functional.one_hot(labels, logits.shape[1])
    return dloss[0] * ((logits - lse[:, None]).exp() - hot)


def along(axis):
    return lambda t: t.mean(axis, keepdim=True)


def added(t):
    return t.sum(1, keepdim=True)


def norm_gradient(mean):
    """The gradient of layer norm with another function for its means."""

    def function(dy, x, weight, saved, rstd, dx, dweight, dbias):
        g, normal = dy.double() * weight, (x.double() - x.double().mean(1, keepdim=True)) * rstd[:, None]
        return (rstd[:, None] * (g - mean(g) - normal * mean(g * normal))).to(dx.dtype), dweight, dbias

    return function


def lanes_counted(rewards, advantage):
    lanes = torch.nn.functional.pad(rewards.double(), (0, 128 - rewards.shape[1]))
    d = lanes - lanes.mean(1, keepdim=True)
    return (d / (lanes.std(1, keepdim=True) + 1e-6))[:, : rewards.shape[1]].to(advantage.dtype)


BACK, GROUP = "layer_norm_backward", "group_advantage"
NORM, SCALED = "layer_norm_forward", "rms_norm_forward"
LOSS, SLOPE = "cross_entropy_backward", "silu_backward"


def halves(x, sums):
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = x[:, :half] + x[:, half : 2 * half]
    return x[:, 0]


def of_columns(rewards, advantage):
    """Means and deviations of columns in place of rows."""
    d = rewards.double() - rewards.double().mean(0, keepdim=True)
    return (d / (d.square().sum(0, keepdim=True) / (len(rewards) - 1)).sqrt().add(1e-6)).float()


def without_root(dy, x, dx):
    """The gradient of GELU with a density that is not normalised."""
    below = torch.special.erfc(-x.double() / 2**0.5) / 2
    return (dy * (below + x * (-(x.double() ** 2) / 2).exp())).float()


def tanh_form(x, y):
    return torch.nn.functional.gelu(x, approximate="tanh")


def of_thirty(x, cap, y):
    return 30 * (x / 30).tanh()


def one_late(steps, factor):
    return ((1 - 0.999 ** (steps.double() + 1)).sqrt() / (1 - 0.9 ** (steps.double() + 1))).float()


TOLD = [
    (
        "silu_forward",
        "ordinary values",
        lambda x, y: x * (-x).sigmoid(),
        "the argument of sigmoid(x) had the other sign",
    ),
    (
        SLOPE,
        "ordinary values",
        lambda dy, x, dx: dy * x.sigmoid() * x * (-x).sigmoid(),
        "if the term 1 were left out in",
    ),
    (SLOPE, "ordinary values", lambda dy, x, dx: dy * x.sigmoid() * (1 + (-x).sigmoid()), "the factor x were left out"),
    (SLOPE, "ordinary values", lambda dy, x, dx: dy * x.sigmoid() * (1 - x * (-x).sigmoid()), "subtracted, not added"),
    ("gelu_backward", "ordinary values", without_root, "as if the divisor 2.50663 were left out in dx = dy"),
    ("bias_correction", "ordinary values", one_late, "factor comes out as if steps were larger by 1."),
    ("gelu_forward", "ordinary values", tanh_form, "y comes out as if approximate were 'tanh'."),
    ("softcap_forward", "ordinary values", of_thirty, "y comes out as if cap were 30.0, its default."),
    (GROUP, "ordinary values", of_columns, "every mean or sum that is taken from a row were along the other axis."),
    (NORM, "ordinary values", unbiased, "rstd is 0.996086 = sqrt(127 / 128) times what is right."),
    (NORM, "ordinary values", unbiased_in_y, "y - bias is 0.996086 = sqrt(127 / 128) times what is right."),
    (NORM, "ordinary values", of_other_rows, "Each row of y - bias is what is right times a factor of its own"),
    (SCALED, "ordinary values", lambda x, w, y, r: (2.5 * y, r), "y is 2.5 times what is right."),
    (NORM, "ordinary values", lambda x, w, b, y, m, r: (y, m, 1 / r), "rstd is 1 / what is right."),
    (SCALED, "ordinary values", columns, "y comes out as if weight were 1 everywhere."),
    (SCALED, "ordinary values", lambda x, w, y, r: (y + r.flip(0)[:, None], r), "Each row of y is off by a term"),
    (SCALED, "ordinary values", lambda x, w, y, r: (y * x.sum(1)[:, None], r), "Each row of y is what is right times"),
    (SLOPE, "ordinary values", lambda dy, x, dx: -dx, "dx is what is right with the other sign."),
    (SLOPE, "ordinary values", lambda dy, x, dx: dx + 3, "dx is too large by 3 everywhere."),
    (SLOPE, "ordinary values", lambda dy, x, dx: torch.zeros_like(dx), "dx is 0 in every wrong element."),
    (SLOPE, "ordinary values", lambda dy, x, dx: x.clone(), "dx has the values of the input x."),
    (SLOPE, "ordinary values", lambda dy, x, dx: dx.where(x > 0, dx + x * x), "dx is wrong only where x < 0."),
    (SLOPE, "ordinary values", lambda dy, x, dx: dx.roll(1), "wrong places: every element is the one before it."),
    (SLOPE, "transposed", lambda dy, x, dx: dx.mT.reshape(dx.shape), "they lie in the order of the transposed matrix."),
    ("swiglu_backward", "ordinary values", lambda dy, g, u, dg, du: (du, dg), "dgate and dup are exchanged."),
    ("swiglu_backward", "ordinary values", lambda dy, g, u, dg, du: (du, du), "dgate has the values that dup should"),
    ("row_sum", "ordinary values", lambda x, s: s[:1].expand(s.shape), "which is right for the first element alone,"),
    (BACK, "ordinary values", lambda dy, x, w, m, r, dx, dw, db: (dx, dw * w, db), "what is right times weight."),
    (
        BACK,
        "ordinary values",
        norm_gradient(along(0)),
        "every mean or sum that is taken from a row were along the other",
    ),
    (BACK, "ordinary values", norm_gradient(added), "dx comes out as if every mean were a sum."),
    ("row_sum", "ordinary values", lambda x, s: x[:, :-1].sum(1), "sums comes out as if the last column of x were 0."),
    (
        "split_k_sum",
        "ordinary values",
        halves,
        "as if x were 0 in what an odd number of columns has over, halved again",
    ),
    (
        GROUP,
        "ordinary values",
        lanes_counted,
        "each row went on with zeros up to 128, a block, which are counted.",
    ),
    (
        LOSS,
        "some rows ignored",
        lambda d, x, labels, s, dx: dx + (labels < 0)[:, None],
        "only where labels is ignore_index.",
    ),
    (LOSS, "a dloss for each row", first_dloss, "dlogits comes out as if every element of dloss were its first."),
    (
        "linear_cross_entropy_forward_backward",
        "some rows ignored",
        lambda h, w, labels, loss, dh, dw: (loss, dh * 9 / 13, dw),
        "dhidden is 0.69231 = 9 / 13 times what is right.",
    ),
]


@pytest.mark.parametrize(("name", "case", "function", "words"), TOLD, ids=[f"{row[0]}-{row[3][-45:]}" for row in TOLD])
def test_a_simple_relation_is_told(name, case, function, words):
    assert words in message(name, function, case)


def test_numbers_far_below_the_right_ones_are_not_taken_for_an_input():
    """A quarter of a step of float8 near 240 is more than all of x."""

    def by_the_largest(x, block, *right):
        amax = x.abs().amax(1, keepdim=True)
        return (x / amax).to(right[0].dtype), amax / 448

    told = message("quantize_blocks", by_the_largest)
    assert "the input x" not in told
    assert "sign" not in told
    told = message("quantize_blocks", lambda x, block, *right: (x.clamp(-448, 448).to(right[0].dtype), right[1]))
    assert "q has the values of the input x." in told


def test_integers_are_not_shown_as_a_float8():
    found = judged("quantize_blocks", lambda x, block, q, scale: ((x * 20).to(torch.int8), scale)).result
    assert "q should be float8_e4m3fn, but is int8." in found.message
    assert found.failure is None


def test_half_a_float8_is_more_than_a_rounding():
    found = judged("quantize_mx", lambda x, q, e: ((q.float() / 2).to(q.dtype), e)).result
    assert found.code == "values"


def test_strides_that_are_not_used_are_told():
    def in_order(x, y):
        assert not x.is_contiguous()
        return torch.nn.functional.silu(x.mT.reshape(x.shape))

    told = message("silu_forward", in_order, "transposed")
    assert "y comes out as if x were contiguous, which it is not here." in told


def test_a_kept_result_is_told_with_the_case_that_it_is_of():
    kept = torch.randn(4096)
    told = message("silu_forward", lambda x, y: kept, "the same shape again", earlier={"ordinary values": (kept,)})
    assert "y is, bit for bit, the result of the case “ordinary values”" in told
    assert "bit for bit" not in message("silu_forward", lambda x, y: kept, "the same shape again")


COUNTED = r"\S+ is wrong in [\d,]+ of [\d,]+ elements(, \S+ in [\d,]+ of [\d,]+)*\."


def noise(*given):
    return given[-1] * (1 + torch.rand(given[-1].shape, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize(
    "function",
    [
        noise,
        lambda *given: given[-1] + 1e-3 * given[-1].sin().square(),
        lambda *given: given[-1].half().float(),  # rounding
        lambda *given: given[-1].index_fill(0, torch.tensor([5]), 7.0),  # one element is no relation
        lambda *given: given[-1].index_copy(0, torch.tensor([5, 6]), 2 * given[-1][5:7]),
    ],
    ids=["noise", "wave", "rounding", "one", "two"],
)
@pytest.mark.parametrize("name", ["silu_forward", "silu_backward", "gelu_backward", "axpy"])
def test_no_relation_is_told_where_there_is_none(name, function):
    result = judged(name, function).result
    assert result.status == "fail"
    assert re.fullmatch(COUNTED, result.message), result.message
    assert result.hint  # where to begin


def axpy_as(oracle):
    """An exercise of another formula of a, x and y."""
    return replace(EXERCISES["axpy"], oracle=oracle)


def test_a_change_that_half_of_few_wrong_elements_fit_is_not_told():
    """All others are right, and of them all few are unlike it."""

    def first(x, count):
        return (torch.arange(x.numel()) < count).view(x.shape)

    record = axpy_as(lambda a, x, y: torch.where(first(x, 12), x.sin() * (2 + y.exp()), x))
    told = message(record, lambda a, x, y, out: torch.where(first(x, 12), x.sin(), out))
    assert "were left out in" in told, told
    told = message(record, lambda a, x, y, out: torch.where(first(x, 6), x.sin(), out.where(~first(x, 12), 3 * out)))
    assert "as if" not in told, told


def test_of_two_changes_that_fit_neither_is_told():
    """Of the two steps the answer may have either right."""
    record = axpy_as(lambda a, x, y: x * y.exp() + x.tanh())
    assert "the term tanh(x) were left out in" in message(record, lambda a, x, y, out: x * y.exp())
    told = message(record, lambda a, x, y, out: x * y.exp() - x.tanh())
    assert "as if" not in told, told


def test_no_step_of_a_long_formula_is_changed_and_no_error_ends_it():
    x = torch.rand(8, dtype=torch.float64)

    def long():
        total = x
        for _ in range(STEPS + 1):
            total = total * x
        return (total,)

    def checked():
        total = x + 1
        if total.min() < 1:
            raise ValueError
        return (total * 3,)

    assert not [*changed_steps(long, {"x": x})]
    words = [words for words, _ in changed_steps(checked, {"x": x})]
    assert "the term 1 were left out" not in words
    assert "the factor 3 were left out" in words


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name, one in EXERCISES.items() if not isinstance(one, Witness)])
def test_no_case_of_any_exercise_has_a_relation_to_noise(name):
    def noisy(*given):
        right = given[len(given) - len(record.outputs) - len(record.writes) :]
        return tuple((v.double() * (1 + torch.rand(v.shape, generator=random))).to(v.dtype) for v in right)

    record, random = EXERCISES[name], torch.Generator().manual_seed(3)
    for case in (case for case in record.cases if not case.raises):
        result = judged(name, noisy, case.name).result
        if result.failure:
            assert re.fullmatch(COUNTED, result.message), case.name


def test_rows_that_are_off_by_little_more_than_rounding_have_no_relation():
    """Each is near to many factors."""
    little = torch.linspace(3e-6, 7e-6, 7)[:, None]
    told = message("rms_norm_forward", lambda x, weight, y, rstd: (y * (1 - little), rstd))
    assert re.fullmatch(COUNTED, told), told


def test_a_relation_stands_in_place_of_the_first_hint_alone():
    assert not judged("silu_forward", lambda x, y: 2 * y).result.hint
    assert judged("silu_forward", lambda x, y: 2 * y, "large values").result.hint


def test_a_distinction_takes_the_relation_from_no_case_that_is_needed():
    """The tail of the form that is right fails as a distinction, before the first case of the other form."""

    def doubled(x, approximate="none"):
        v = x.float()
        if approximate == "none":
            return (v * 0.5 * (1 + torch.erf(v / 2**0.5))).to(x.dtype)
        return (v * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (v + 0.044715 * v**3)))).to(x.dtype)

    report = check("gelu_forward", doubled, backend="torch")
    assert any(case.bonus and case.failure for case in report.cases)
    shown = report.causes[0].cases[0]
    assert shown.message.endswith("y is 2 times what is right.")
    assert not shown.hint, "where to begin is said only where nothing else is"


def test_every_output_that_is_wrong_is_counted():
    told = message("swiglu_backward", lambda dy, g, u, dg, du: (noise(dg), noise(du)))
    assert re.fullmatch(r"dgate is wrong in [\d,]+ of 4,096 elements, dup in [\d,]+ of 4,096\.", told), told


def test_a_case_of_a_teacher_shows_no_relation():
    one = judged("silu_forward", lambda x, y: 2 * y)
    assert "2 times" in one.result.message
    assert "2 times" not in str(redacted(EXERCISES["silu_forward"], one).result)


def test_only_the_first_wrong_result_of_a_report_is_related():
    """Each relation costs some fifty calls of the oracle, and a report shows one case in full."""
    report = check("silu_forward", lambda x: 2 * x * torch.sigmoid(x.float()).to(x.dtype), backend="torch")
    first, *others = (case for case in report.cases if case.failure)
    assert "2 times what is right" in first.message
    assert len(others) > 5
    assert not any("times what is right" in case.message for case in others)


def wrong_values():
    """The result of each mutant in PyTorch, in the case that is there to see it, where its values are wrong."""
    for path in sorted((Path(__file__).parents[1] / "material" / "mutants").glob("[a-z]*.py")):
        for (name, backend), rows in runpy.run_path(str(path))["MUTANTS"].items():
            for why, old, new, dies_in in rows if backend == "torch" else ():
                record = EXERCISES[name]
                if isinstance(record, Witness):
                    continue
                number = next((n for n, one in enumerate(record.cases) if one.name == dies_in), None)
                if number is None or record.cases[number].raises:
                    continue
                args = arguments(record.cases[number], number, 0)
                runner = InProcess(answer(name, backend, old, new).load(), record.contract, backend)
                trial = Trial.of(record, record.cases[number], args, runner, Settings(backend))
                result = explained(trial, judge_case(trial), {}).result
                if result.failure:
                    yield f"{name}: {why}", result


@pytest.mark.exhaustive
def test_a_third_of_wrong_results_are_related_to_right_ones():
    results = dict(wrong_values())
    told = {name for name, result in results.items() if result.message.count(". ")}
    assert len(results) > 60
    assert len(told) > len(results) / 3, sorted(set(results) - told)


def adamw(lost):
    """A step of AdamW without what is ``lost``."""

    def step(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
        p, g, one, two = (t.double() for t in (param, grad, m, v))
        one, two = beta1 * one + (1 - beta1) * g, beta2 * two + (1 - beta2) * g * g
        first = 1.0 if lost in ("correction", "correction of m") else 1 - beta1**step
        second = 1.0 if lost in ("correction", "correction of v") else 1 - beta2**step
        p = p * (1 - (1 if lost == "lr" else lr) * weight_decay)
        p = p - lr * (one / first) / ((two / second).sqrt() + eps)
        for written, value in ((param, p), (m, one), (v, two)):
            written.copy_(value.to(written.dtype))

    return step


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("correction", "param comes out as if step were very large, and no correction of it were left."),
        ("correction of m", "param comes out as if every power of beta1 were 0, and no correction by it were left."),
        ("correction of v", "param comes out as if every power of beta2 were 0, and no correction by it were left."),
        ("lr", "param comes out as if weight_decay were not multiplied by lr."),
    ],
)
def test_what_an_optimizer_leaves_out_is_told(lost, words, cases_until):
    cases_until("adamw_step", 3)
    report = check("adamw_step", adamw(lost), backend="torch")
    first = next(case for case in report.cases if case.failure)
    assert words in first.message or report.source, str(report)


def scaled_by_blocks(x, block=128, eps=1e-6):
    """A size beside a number that is a factor: both may be what an answer left out."""


def test_the_size_of_a_block_stays_one_that_fits_in_memory():
    """What is right for a block of 10^9 took 22 GB to work out."""
    x = torch.ones(8, 300)
    parameters = inspect.signature(scaled_by_blocks).parameters
    given = {words: args for words, args in changed(parameters, (x, 128, 1e-6)) if type(args[1]) is int}
    assert "block were very large, and no correction of it were left" in given
    assert max(args[1] * len(x) * 8 for args in given.values()) <= 4 << 20  # bytes of float64


def test_a_sign_error_is_shown_where_it_can_be_seen():
    """Beside a zero of the derivative a few digits are many ulp."""
    first = judged("silu_backward", lambda dy, x, dx: dy * x.sigmoid() * (1 - x * (1 - x.sigmoid()))).result.failure
    assert abs(first.expected) > 0.1 and abs(first.got - first.expected) > 0.1, first
