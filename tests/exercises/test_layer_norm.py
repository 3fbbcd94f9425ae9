"""Layer norm and RMS norm: the wild kernels, and what the check lets through."""

import pytest
import torch
from graded_kernels.autograder import check
from graded_kernels.kernels.wild import layer_norm as wild
from graded_kernels.solutions import layer_norm as cpu
from library import random
from torch.nn import functional as F


def parameters(count: int, n: int, dtype=torch.float32) -> list[torch.Tensor]:
    return [random(n, dtype=dtype, seed=7 + i) for i in range(count)]


# The wild kernels are what shipped.


def test_burns_gradient_is_the_derivative_of_burns_forward():
    x, weight, bias, dy = random(3, 10), *parameters(2, 10), random(3, 10, seed=5)
    leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
    y, mean, rstd = wild.layer_norm_forward_epsilon_outside(*leaves)
    y.backward(dy)
    stated = wild.layer_norm_backward_epsilon_outside(dy, x, weight, mean.detach(), rstd.detach())
    for leaf, gradient in zip(leaves, stated, strict=True):
        torch.testing.assert_close(gradient, leaf.grad, rtol=1e-4, atol=1e-5)


def test_burn_on_a_constant_row():
    x = torch.full((1, 4), 3.0, requires_grad=True)
    weight, bias, dy = torch.ones(4), torch.zeros(4), torch.tensor([[1.0, -0.5, 0.25, 2.0]])
    y, mean, rstd = wild.layer_norm_forward_epsilon_outside(x, weight, bias)
    y.backward(dy)
    assert y.tolist() == [[0.0] * 4]
    assert rstd.item() == pytest.approx(1e5)
    assert x.grad.isnan().all()
    assert (
        wild.layer_norm_backward_epsilon_outside(dy, x.detach(), weight, mean.detach(), rstd.detach())[0].isnan().all()
    )
    assert cpu.layer_norm_forward(x.detach(), weight, bias)[2].item() == pytest.approx(316.2, abs=0.1)


def test_burns_test_with_a_large_epsilon():
    """The numbers of burn's own tests, before the fix and after."""
    x = torch.tensor([[-0.6897, -2.7106, 2.2222, -1.0330, -0.8933, 1.1765, 0.0601, 1.5252, -0.3630, 0.6728]])
    affine = torch.ones(10), torch.zeros(10)
    shipped, right = wild.layer_norm_forward_epsilon_outside, cpu.layer_norm_forward
    for function in (shipped, right):
        assert function(x, *affine)[0][0, :3].tolist() == pytest.approx([-0.4990, -1.9680, 1.6178], abs=1e-3)
    assert right(x, *affine, 0.1)[0][0, :3].tolist() == pytest.approx([-0.4863, -1.9180, 1.5766], abs=1e-4)
    assert shipped(x, *affine, 0.1)[0][0, :3].tolist() == pytest.approx([-0.4652, -1.8346, 1.5081], abs=1e-4)


def test_group_norm_of_one_group_is_layer_norm():
    x, weight = random(3, 8), torch.ones(8)
    ours, _, _ = wild.layer_norm_forward_epsilon_outside(x, weight, torch.zeros(8), 0.1)
    torch.testing.assert_close(wild.group_norm_epsilon_outside(x, 1, weight, torch.zeros(8), 0.1), ours)


def test_padding_is_harmless_in_a_power_of_two():
    affine = torch.ones(32), torch.zeros(32)
    x = random(2, 32) + 3
    right = cpu.layer_norm_forward(x, *affine)
    torch.testing.assert_close(wild.layer_norm_forward_padding(x, *affine), right)
    narrow = wild.layer_norm_forward_padding(x[:, :17], *(t[:17] for t in affine))
    assert (narrow[2] < 0.5 * cpu.layer_norm_forward(x[:, :17], *(t[:17] for t in affine))[2]).all()


# The check.


def two_pass(x, weight, bias, eps=1e-5):
    v = x.float()
    mean = v.mean(-1)
    rstd = (((v - mean[:, None]) ** 2).mean(-1) + eps) ** -0.5
    return ((v - mean[:, None]) * rstd[:, None] * weight + bias).to(x.dtype), mean, rstd


def by_var_mean(x, weight, bias, eps=1e-5):
    variance, mean = torch.var_mean(x.float(), -1, correction=0)
    rstd = 1 / torch.sqrt(variance + eps)
    scale = rstd[:, None] * weight
    return (x * scale + (bias - mean[:, None] * scale)).to(x.dtype), mean, rstd


def element_by_element(x, weight, bias, eps=1e-5):
    v = x.float()
    mean = v.cumsum(-1)[:, -1] / v.shape[-1] if v.numel() else v.sum(-1)
    d = v - mean[:, None]
    rstd = ((d * d).cumsum(-1)[:, -1] / v.shape[-1] + eps).rsqrt() if v.numel() else v.sum(-1)
    return (d * rstd[:, None] * weight + bias).to(x.dtype), mean, rstd


@pytest.mark.parametrize("function", [two_pass, by_var_mean, element_by_element])
def test_honest_answers_pass_all_but_the_distinction(function):
    report = check("layer_norm_forward", function, backend="torch")
    assert report.passed, str(report)
    assert [c.name for c in report.cases if c.status != "pass"] == ["distinction: mean 1e5 sigma"], str(report)


@pytest.mark.parametrize(
    ("exercise", "function", "name"),
    [
        ("layer_norm_forward", lambda x, w, b, eps=1e-5: (F.layer_norm(x, w.shape, w, b, eps),) * 3, "layer_norm"),
        ("layer_norm_forward", lambda x, w, b, eps=1e-5: (F.group_norm(x, 1, w, b, eps),) * 3, "native_group_norm"),
        ("rms_norm_forward", lambda x, w, eps=1e-6: (F.rms_norm(x, w.shape, w, eps), x[:, 0]), "rms_norm"),
        ("rms_norm_forward", lambda x, w, eps=1e-6: (torch.nn.RMSNorm(x.shape[1])(x), x[:, 0]), "rms_norm"),
    ],
)
def test_the_answer_itself_is_refused(exercise, function, name):
    report = check(exercise, function, backend="torch")
    assert report.score == 0.0
    assert f"You called {name}, which is the answer itself or a part of it. Write it out." in report.summary


@pytest.mark.parametrize(
    ("witness", "passes"),
    [
        ((torch.tensor([[1.0, 1.0, 1.0 + 1e-4, 1.0]]), torch.ones(4), torch.zeros(4)), True),
        ((random(2, 5), torch.ones(5), torch.zeros(5), 0.1), True),
        ((random(2, 5, dtype=torch.bfloat16) * 1e-4, *parameters(2, 5, torch.bfloat16)), True),
        ((random(2, 5), torch.ones(5), torch.zeros(5)), False),
        ((random(2, 5) * 1e-4, torch.ones(5), torch.zeros(5), 0), False),
        ((random(5) * 1e-4, torch.ones(5), torch.zeros(5)), False),
        ((random(2, 5) * 1e-4, torch.ones(5), torch.zeros(5, dtype=torch.float16)), False),
    ],
)
def test_witnesses(witness, passes):
    report = check("layer_norm_witness", lambda: witness)
    assert report.passed is passes, str(report)
