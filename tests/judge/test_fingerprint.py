"""Whose bug an answer is not. That every wild bug is named is proven where the exercises are."""

import math
from dataclasses import replace

import pytest
import torch
from answers import Unwatched, our_answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.case_verdict import judge_case
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.comparing.trial import Trial, arguments
from graded_kernels.autograder.judge.records.record import Case, Tolerance, WildBug
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import InProcess
from graded_kernels.kernels.wild import cross_entropy as wild
from graded_kernels.solutions.cross_entropy import token_mean
from graded_kernels.solutions.policy_loss import ratio_and_end
from wrong_answers import planted

ULP, NAN = 2.0**-23, math.nan


def test_half_precision_is_not_taken_for_another_form():
    """It is wrong here and there by rounding, and so near to several wild bugs' values; none of them is what it is."""

    def in_half(x, approximate="none"):
        inner = x / math.sqrt(2) if approximate == "none" else math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + (torch.erf(inner) if approximate == "none" else torch.tanh(inner)))

    report = check("gelu_forward", in_half, backend="torch")
    assert not report.passed
    assert report.fingerprint is None


def test_rounding_next_to_a_zero_of_the_result_does_not_hide_the_bug():
    """Where silu' is 0 a rounding is hundreds of ulp; candle's NaN at 0 tells whose bug it is, with every seed."""

    def divides_back(dy, x):
        y = x * torch.sigmoid(x)
        s = y / x
        return dy * (s * (1 + x * (1 - s)))

    for seed in (1397871144, 785310972, 1089709946, 516819858, 752002365):
        report = check("silu_backward", divides_back, backend="torch", seed=seed)
        assert report.fingerprint, f"seed {seed}"
        assert "candle" in report.fingerprint, f"seed {seed}"


def test_rounding_in_a_bugs_own_case_accuses_nobody_of_it():
    """At a border its exponents are off as a bug's are; elsewhere it has numbers wrong that no bug has wrong."""

    def by_bfloat16(x):
        return our_answer("quantize_mx", "torch")(x.bfloat16().float())

    report = check("quantize_mx", by_bfloat16, backend="torch", seed=0)
    assert not report.passed
    assert report.fingerprint is None


def test_an_answer_that_is_right_where_a_bug_is_infinite_has_another_bug():
    """log(p) is infinite where the formula without a maximum is, too; here the maximum is subtracted, and lse right."""

    def log_of_p(logits, labels, ignore_index=-100):
        keep, x = labels != ignore_index, logits.float()
        own, top = x.gather(1, labels.where(keep, 0)[:, None])[:, 0], x.amax(1)
        total = (x - top[:, None]).exp().sum(1)
        return torch.where(keep, -((own - top).exp() / total).log(), 0), total.log() + top

    report = check("cross_entropy_forward", log_of_p, backend="torch")
    assert "large logits" in [case.name for case in report.causes[0].cases]
    assert report.fingerprint is None


def is_named(bug, *answers, dtype=torch.float32, floor=0.0):
    """Whether answers to calls with ten powers of 2, whose right results these are to within an ulp and ``floor`` times
    them, are those of a bug that gives ``bug`` times each. answers: the results of each call in the same units, as
    pairs of a value and how often it comes.
    """
    powers = 2.0 ** torch.arange(10)
    values = [torch.tensor([value for value, times in one for _ in range(times)]) for one in answers]
    results, ones = iter([(value * powers).to(dtype) for value in values]), powers.to(dtype)
    record = replace(
        EXERCISES["silu_forward"],
        oracle=lambda x: x,
        peer=None,
        tolerance=Tolerance(1.0, 1.0, "", floor=lambda x: (floor * x,)),
        cases=tuple(Case(f"case {n}", lambda generator: (ones,), "") for n in range(len(answers))),
        wild=(WildBug("them", "thread", lambda x: bug * x, "case 0", "story"),),
    )
    return judge(record, Unwatched(lambda x: next(results)), Settings("torch")).fingerprint is not None


@pytest.mark.parametrize("value, named", [(1.53, True), (1.54, False), (1.472, True), (1.47, False)])
def test_a_bug_is_shared_within_a_sixteenth_of_the_error(value, named):
    assert is_named(1.5, [(value, 10)]) is named


@pytest.mark.parametrize("bug, ulp, named", [(30, 34, True), (30, 35, False), (12, 16, True), (11, 15, False)])
def test_a_small_error_is_shared_within_4_ulp_and_a_quarter_of_it(bug, ulp, named):
    assert is_named(1 + bug * ULP, [(1 + ulp * ULP, 10)]) is named


@pytest.mark.parametrize(
    "shares, named",
    [([10], True), ([9], False), ([9, 10], False), ([10, 8], True), ([10] * 6 + [5], True), ([10] * 6 + [4], False)],
)
def test_a_bug_explains_nine_tenths_and_half_of_each_call(shares, named):
    assert is_named(2.0, *([(2.0, share), (5.0, 10 - share)] for share in shares)) is named


@pytest.mark.parametrize(
    "value, how, named",
    [
        (1 + 64 * ULP, {}, True),
        (1 + 65 * ULP, {}, False),
        (1.039, {"floor": 0.01}, True),
        (1.041, {"floor": 0.01}, False),
        (2.0, {"dtype": torch.float16}, True),
        (2.01, {"dtype": torch.float16}, False),
    ],
    ids=["64 ulp", "more", "4 times what is allowed", "more", "once the value in half precision", "more"],
)
def test_beside_gross_errors_what_may_be_rounding_does_not_hide_the_bug(value, how, named):
    assert is_named(NAN, [(NAN, 5), (value, 5)], **how) is named


def test_a_result_that_should_be_an_error_says_nothing_of_a_bug():
    bug, ones = 1 + 12 * ULP, 2.0 ** torch.arange(10)
    results = iter([bug * ones, ones])
    record = replace(
        EXERCISES["silu_forward"],
        oracle=lambda x: x,
        peer=None,
        tolerance=Tolerance(1.0, 1.0, ""),
        cases=(
            Case("one", lambda generator: (ones,), ""),
            Case("bad", lambda generator: (ones,), "", raises=IndexError, repaired=lambda args: args),
        ),
        wild=(WildBug("them", "thread", lambda x: bug * x, "one", "story"),),
    )
    assert judge(record, Unwatched(lambda x: next(results)), Settings("torch")).fingerprint


def silu_slope_in_half(dy, x):
    s = torch.sigmoid(x)
    return dy * s * (1 + x * (1 - s))


def at_least_one_token(logp, old, advantage, mask, count=None, clip=0.2):
    items = mask.sum() if count is None else count
    ratio, A, end, beyond = ratio_and_end(logp, old, advantage, mask, clip)
    return -(torch.where(beyond, end, ratio) * A).where(mask, 0).sum() / max(items, 1)


def std_above_a_threshold(rewards, eps=1e-6):
    if not rewards.numel():
        return torch.empty(rewards.shape)
    scored, r = ~rewards.isnan(), rewards.float()
    n = scored.sum(1, keepdim=True)
    d = (r - r.where(scored, 0).sum(1, keepdim=True) / n).where(scored, 0)
    std = (d.square().sum(1, keepdim=True) / (n - 1)).sqrt()
    return (d / (std + eps)).where(std > 1e-6, 0)


def epsilons_in_the_noise(logits, u):
    return (logits.float() - torch.log(-torch.log(u.float() + 1e-10) + 1e-10)).argmax(-1)


def detached_mean(loss, labels, ignore_index=-100, num_items=None):
    return token_mean(loss.detach(), labels, ignore_index, num_items)


def unguarded_merge(o_a, lse_a, o_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    a, b = (lse_a - top).exp().unsqueeze(-1), (lse_b - top).exp().unsqueeze(-1)
    return ((a * o_a.float() + b * o_b.float()) / (a + b)).to(o_a.dtype), top + (a + b).squeeze(-1).log()


def guarded_maximum(x, mask):
    if not x.numel():
        return torch.empty_like(x)
    scores = x.float().masked_fill(~mask, -torch.inf)
    top = scores.amax(1, keepdim=True)
    p = (scores - top.masked_fill(top == -torch.inf, 0)).exp()
    return (p / p.sum(1, keepdim=True)).masked_fill(~mask, 0).to(x.dtype)


def largest_label_below_the_classes(logits, labels, ignore_index=-100):
    V, bad = logits.shape[1], (labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))
    if labels.max() >= V or bad.any():
        row = int(bad.nonzero()[0]) if bad.any() else 0
        raise IndexError(f"labels[{row}] is {int(labels[row])}: no class, 0 to {V - 1}, and not {ignore_index}")
    own = logits.gather(1, labels.where(labels != ignore_index, 0)[:, None])[:, 0]
    return own.where(labels != ignore_index, 0)


UNLIKE = {
    "silu_backward": silu_slope_in_half,  # candle's since 0.7.0, of which a roundings' pattern has something
    "policy_loss_forward": at_least_one_token,  # count or mask.sum()
    "group_advantage": std_above_a_threshold,  # OpenRLHF's
    "gumbel_argmax": epsilons_in_the_noise,  # sglang's
    "token_mean": detached_mean,  # a constant where no token counts
    "merge_attention": unguarded_merge,  # nothing subtracted
    "masked_softmax_forward": guarded_maximum,  # -inf - -inf
    "label_logits": largest_label_below_the_classes,  # Liger's, which raises without rows, but not where V is ignored
}


@pytest.mark.parametrize(
    ("seed", "exercise"),
    [
        pytest.param(s, one, marks=[pytest.mark.exhaustive] * bool(s or number % 2))
        for s in range(12)
        for number, one in enumerate(UNLIKE)
    ],
)
def test_what_resembles_a_bug_and_is_another_is_not_named(exercise, seed):
    report = check(exercise, UNLIKE[exercise], backend="torch", seed=seed)
    assert not report.passed
    assert report.source == ""


@pytest.mark.parametrize(("times", "digits", "named"), [(1, 0, False), (4, 0, True), (1, 12, False), (2, 0, True)])
def test_a_bug_is_named_by_four_numbers_or_enough_digits(times, digits, named):
    """One number shares 24 digits at most; here it shares so many but the last few."""
    off = 2.0 + torch.arange(times)
    expected = torch.ones(times)
    record = replace(
        EXERCISES["silu_forward"],
        oracle=lambda x: torch.ones_like(x),
        peer=None,
        tolerance=Tolerance(1.0, 1.0, ""),
        cases=(Case("case", lambda generator: (expected,), ""),),
        wild=(WildBug("them", "thread", lambda x: off, "case", "story"),),
    )
    given = off * (1 + 2.0 ** (digits - 24) * bool(digits))
    assert (judge(record, Unwatched(lambda x: given), Settings("torch")).fingerprint is not None) is named


def test_a_formula_in_another_order_of_its_operations_is_the_same_bug():
    def reordered(logp, ref):
        r = ref.float() - logp.float()
        return (torch.exp(r) - 1 - r).to(logp.dtype)

    assert "trl" in (check("kl_forward", reordered, backend="torch").fingerprint or "")


def test_a_guard_at_an_edge_makes_no_other_formula_of_a_bug():
    """The mistake divides by 0 where a rank has no token; the answer has a guard there."""

    def own_rank(tokens):
        return (tokens / tokens.sum(1, keepdim=True).clamp(min=1)).float()

    assert "each rank's own tokens" in check("accumulation_weights", own_rank, backend="torch").mistake


PLANTED = {  # by its exercise: what was planted, and whose bug it is
    "gumbel_argmax": ("has no clamp at u = 1", "sglang"),  # whose sampler has no guard where no class is possible
    "policy_loss_forward": ("takes a count of 0 for none", "count or mask.sum()"),
    "global_norm": ("adds up in the gradient's dtype", "jax"),  # which takes a root for each tensor
}


@pytest.mark.parametrize(
    ("seed", "exercise"),
    [pytest.param(s, one, marks=[pytest.mark.exhaustive] * bool(s)) for s in range(3) for one in PLANTED],
)
def test_a_bug_with_an_edge_mended_or_rounded_otherwise_is_named(exercise, seed):
    why, who = PLANTED[exercise]
    assert who in check_answer(planted(exercise, "torch", why).answer, Settings("torch", seed=seed)).source


def test_judged_call_that_should_raise_and_returns_is_evidence():
    record = EXERCISES["label_logits"]
    case = next(c for c in record.cases if c.name == "a label of V")
    runner = InProcess(wild.label_logits_next_row, record.contract, "torch")
    judged = judge_case(Trial.of(record, case, arguments(case, 0, 0), runner, Settings("torch")))
    [(returned, mask, *_)] = judged.evidence
    assert judged.result.status == "fail"
    assert returned.shape == mask.shape
    assert mask.any()  # the row of the bad label, and not those that are right
    assert not mask.all()
