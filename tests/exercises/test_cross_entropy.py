"""Cross-entropy, its mean and the fused last layer: the oracles, what the check sees, and what the kernels promise."""

import dataclasses
import functools
import importlib

import library
import mpmath
import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.exercises.cases.bad_labels import OUT_OF_RANGE
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge import ulp_error
from graded_kernels.autograder.runner import Call, InProcess, Peak
from graded_kernels.kernels.wild import cross_entropy as wild
from graded_kernels.solutions import cross_entropy as torch_answers
from torch.nn import functional as F

triton_answers = importlib.import_module("graded_kernels.kernels.cross_entropy")
BACKENDS = {"torch": torch_answers, "triton": triton_answers}
random = functools.partial(library.random, scale=3.0)


def labels_of(rows: int, classes: int, *ignored: int) -> torch.Tensor:
    labels = torch.randint(0, classes, (rows,), generator=torch.Generator().manual_seed(1))
    labels[list(ignored)] = -100
    return labels


# The oracles.


@mpmath.workdps(60)
def test_oracle_keeps_its_digits_where_the_label_is_certain():
    logits = torch.tensor([[0.0, -gap, -gap - 2] for gap in (1.0, 5.0, 14.0, 40.0, 300.0)], dtype=torch.float64)
    labels = torch.zeros(5, dtype=torch.int64)
    loss, lse = EXERCISES["cross_entropy_forward"].oracle(logits, labels)
    slope = EXERCISES["cross_entropy_backward"].oracle(torch.full((5,), 3.0).double(), logits, labels, lse)
    for row, got, own in zip(logits.tolist(), loss.tolist(), slope[:, 0].tolist(), strict=True):
        total = mpmath.fsum(mpmath.exp(mpmath.mpf(x)) for x in row)
        assert got == pytest.approx(float(mpmath.log(total)), rel=1e-13)
        assert own == pytest.approx(float(3 * (1 / total - 1)), rel=1e-13)


# What the check lets through, and what it sees.


def plain_forward(logits, labels, ignore_index=-100):
    """As one writes it: lse - x[label], with lse in one block."""
    torch_answers.check_labels(labels, logits.shape[1], ignore_index)
    x = logits.float()
    top = x.amax(1, keepdim=True)
    lse = (torch.exp2((x - top) * 1.4426950408889634).sum(1).log2() * 0.6931471805599453) + top.squeeze(1)
    own = x.gather(1, labels.where(labels != ignore_index, 0).unsqueeze(1)).squeeze(1)
    return (lse - own).masked_fill(labels == ignore_index, 0), lse


def plain_backward(dloss, logits, labels, lse, ignore_index=-100):
    """p minus one-hot, with p from a new sum."""
    x = logits.float()
    e = (x - x.amax(1, keepdim=True)).exp()
    one = torch.arange(x.shape[1]) == labels.unsqueeze(1)
    slope = e / e.sum(1, keepdim=True) - one.float()
    return (slope * dloss.unsqueeze(1)).masked_fill((labels == ignore_index).unsqueeze(1), 0).to(logits.dtype)


@pytest.mark.parametrize(
    ("name", "function"), [("cross_entropy_forward", plain_forward), ("cross_entropy_backward", plain_backward)]
)
def test_plain_float32_passes_without_the_distinctions(name, function):
    report = check(name, function, backend="torch")
    assert report.passed, str(report)
    assert "distinction: p from 1e-6 to 1 - 1e-6" in {c.name for c in report.cases if c.status == "fail"}


def all_logits_at_once(hidden, weight, labels, ignore_index=-100):
    torch_answers.check_labels(labels, weight.shape[0], ignore_index)
    keep = labels != ignore_index
    h, w = hidden.where(keep.unsqueeze(1), 0).float().requires_grad_(), weight.float().requires_grad_()
    x = h @ w.t()
    losses = x.logsumexp(1) - x.gather(1, labels.where(keep, 0).unsqueeze(1)).squeeze(1)
    loss = losses.where(keep, 0).sum() / max(int(keep.sum()), 1)
    dhidden, dweight = torch.autograd.grad(loss, (h, w))
    return loss.detach(), dhidden.to(hidden.dtype), dweight.to(weight.dtype)


def test_the_result_of_all_logits_at_once_is_right_but_for_its_memory():
    record = dataclasses.replace(EXERCISES["linear_cross_entropy_forward_backward"], refused=frozenset())
    report = check(record, all_logits_at_once, "torch")
    assert [c.name for c in report.cases if c.status != "pass"] == ["peak memory"], str(report)


def test_one_bad_label_is_named_with_its_row():
    logits, labels = random(5, 7), torch.tensor([1, -100, 7, 9, 0])
    for backend in BACKENDS.values():
        with Emulator(), pytest.raises(IndexError, match=r"labels\[2\] is 7: no class, 0 to 6, and not ignore_index"):
            backend.cross_entropy_forward(logits, labels)


def test_message_that_names_neither_row_nor_label_is_not_enough():
    def answer(logits, labels, ignore_index=-100):
        if ((labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))).any():
            raise IndexError("a label is out of range")
        return torch_answers.label_logits(logits, labels, ignore_index)

    report = check("label_logits", answer, backend="torch")
    failed = {c.name: c.message for c in report.cases if c.status != "pass"}
    assert set(failed) == {bad.name for bad in OUT_OF_RANGE}
    assert "The message should say what is bad, and its value" in failed["a label of V"]


def test_result_that_is_attached_to_nothing_is_told_so():
    labels = torch.tensor([-100, 3])
    record = EXERCISES["token_mean"]
    for constant in (torch.tensor(0.0), torch.tensor(0.0, requires_grad=True) * 2):
        report = check("token_mean", lambda loss, labels, *others, constant=constant, **more: constant)
        assert "mean is not attached to the graph of loss" in str(report), str(report)
    loss = torch.tensor([5.0, 2.0])
    upstream = record.upstream_of(loss, ()).item()
    mean, gradient = record.contract.with_gradient(torch_answers.token_mean)(loss, labels)
    assert (mean.item(), gradient.tolist(), mean.requires_grad) == (2.0, [0.0, upstream], False)


def test_an_answer_that_raises_like_a_wild_bug_is_told_whose_it_is():
    def answer(hidden, weight, labels, ignore_index=-100):
        share = 1 / (labels != ignore_index).sum().item()
        loss, dhidden, dweight = all_logits_at_once(hidden, weight, labels, ignore_index)
        return loss * share / share, dhidden, dweight

    record = dataclasses.replace(EXERCISES["linear_cross_entropy_forward_backward"], refused=frozenset())
    report = check(record, answer, "torch")
    assert report.fingerprint, str(report)
    assert "Liger-Kernel 0.0.1-0.2.1" in report.fingerprint, str(report)


def test_an_error_of_ones_own_is_nobodys_bug():
    def answer(logits, labels, ignore_index=-100):
        return undefined_name  # noqa: F821

    report = check("label_logits", answer, backend="torch")
    assert not report.passed
    assert report.fingerprint is None


# Memory and work, counted.


def test_peak_counts_each_storage_once_and_until_it_is_freed():
    given = torch.empty(100)
    peak = Peak()
    peak.exclude(given)
    peak.note(given[5:])
    assert peak.most == 0
    one = torch.empty(10)
    peak.note((one, one.view(2, 5)))
    two = torch.empty(20)
    peak.note(two)
    assert (peak.now, peak.most) == (120, 120)
    del two
    peak.note(three := torch.empty(5))
    assert (peak.now, peak.most) == (60, 120)
    del one, three
    assert peak.now == 0


@pytest.mark.parametrize("backend", ["torch", pytest.param("triton", marks=pytest.mark.exhaustive)])
def test_fused_layer_saves_more_memory_the_more_classes(backend):
    name = "linear_cross_entropy_forward_backward"
    record, function, shares = EXERCISES[name], answer(name, backend).load(), []
    for classes in (64, 256, 1024):
        args = random(256, 8), random(classes, 8, seed=5, scale=1.0), labels_of(256, classes)
        plain = dataclasses.replace(record, refused=frozenset())
        took = InProcess(function, record.contract, backend).examine(Call(args)).first.peak
        shares.append(took / InProcess(all_logits_at_once, plain.contract, "torch").examine(Call(args)).first.peak)
    assert shares[0] > shares[1] > shares[2], shares
    assert shares[2] < 0.3, shares


def test_ignored_rows_cost_no_arithmetic():
    from graded_kernels.solutions.linear_cross_entropy import linear_cross_entropy_forward_backward
    from torch.utils.flop_counter import FlopCounterMode

    def flops(labels) -> int:
        with FlopCounterMode(display=False) as counter:
            linear_cross_entropy_forward_backward(random(64, 8), random(50, 8, seed=5), labels)
        return counter.get_total_flops()

    assert flops(labels_of(64, 50)) == 3 * 2 * 64 * 8 * 50
    assert flops(labels_of(64, 50, *range(48))) == 3 * 2 * 16 * 8 * 50


def test_ignored_rows_are_not_read():
    logits, labels = random(10, 500), labels_of(10, 500, *range(9))
    with Emulator() as emulator:
        _, lse = triton_answers.cross_entropy_forward(logits, labels)
        triton_answers.cross_entropy_backward(torch.full((10,), 0.3), logits, labels, lse)
    assert emulator.traffic["logits_ptr"]["loaded"] <= 2 * 4 * (500 + 1)


# What the kernels promise beyond the cases.


@pytest.mark.parametrize("backend", BACKENDS)
def test_half_precision_gradient_is_rounded_once(backend):
    """p of the label from 1e-6 to 1 - 1e-6, in bfloat16: half an ulp, and a little for float32."""
    gap = torch.linspace(-13.8, 13.8, 400).bfloat16()
    logits = torch.stack([torch.zeros_like(gap), gap, gap - 2], dim=1)
    labels = torch.zeros(400, dtype=torch.int64)
    dloss = random(400, seed=9)
    with Emulator():
        _, lse = BACKENDS[backend].cross_entropy_forward(logits, labels)
        dlogits = BACKENDS[backend].cross_entropy_backward(dloss, logits, labels, lse)
    exact = torch.softmax(logits.double(), 1)
    own = -torch.sigmoid(torch.logsumexp(logits[:, 1:].double(), 1) - logits[:, 0].double())
    exact = torch.cat([own.unsqueeze(1), exact[:, 1:]], 1) * dloss.double().unsqueeze(1)
    assert exact[:, 0].abs().min() < 1e-6
    assert ulp_error(dlogits, exact, torch.bfloat16).max() <= 0.51


def test_trusted_bad_label_gives_nan_and_reads_nothing_outside():
    logits, labels = random(3, 40), torch.tensor([40, 2, -7])
    with Emulator() as emulator:
        loss, lse = triton_answers.losses(logits, labels, -100)
        dlogits = triton_answers.cross_entropy_backward(torch.ones(3), logits, labels, lse)
    assert emulator.findings == ()
    assert loss.isnan().tolist() == [True, False, True]
    assert dlogits[1].isfinite().all()


def test_offsets_beyond_32_bits():
    """2,049 rows of 2^20 logits: the last row begins at element 2^31. Only its memory is ever touched."""
    logits = torch.empty(2049, 1 << 20, dtype=torch.bfloat16)
    logits[-1] = random(1 << 20, dtype=torch.bfloat16)
    labels = torch.full((2049,), -100)
    labels[-1] = 77_777
    with Emulator() as emulator:
        loss, lse = triton_answers.losses(logits, labels, -100)
    exact, _ = EXERCISES["cross_entropy_forward"].oracle(logits[-1:].double(), labels[-1:])
    assert emulator.findings == ()
    assert loss[:-1].eq(0).all()
    torch.testing.assert_close(loss[-1].double(), exact[0], rtol=1e-5, atol=0)


# The wild functions are what shipped.


def test_labels_that_count_make_ligers_mean_right_and_none_make_it_raise():
    logits, labels = random(6, 9), labels_of(6, 9, 0, 3)
    torch.testing.assert_close(wild.mean_cross_entropy_ratio(logits, labels), F.cross_entropy(logits, labels))
    with pytest.raises(ZeroDivisionError):
        wild.mean_cross_entropy_ratio(logits, torch.full((6,), -100))


def test_read_back_loses_the_label_at_p_of_0_999():
    logits = torch.tensor([[7.0, 0.0]]).bfloat16()
    lse = torch.logsumexp(logits.float(), 1)
    shipped = wild.cross_entropy_backward_read_back(torch.ones(1), logits, torch.tensor([0]), lse)
    assert shipped[0, 0] == 0
    assert shipped[0, 1] > 9e-4
