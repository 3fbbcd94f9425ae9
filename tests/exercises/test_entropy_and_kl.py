"""The entropy and the divergence k3: oracles in high precision, wild gradients as autograd makes them, and the two
functions as a training script calls them.
"""

import sys

import mpmath
import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises.clamped_kl import CAP, REACHED
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.kernels import entropy, kl
from graded_kernels.kernels.wild import entropy as wild
from library import random

INF = torch.inf


@pytest.mark.parametrize("power", [-300, -30, -12, -8, -3, -2, -1, 0, 1])
@pytest.mark.parametrize("sign", [1, -1])
@mpmath.workdps(700)  # of 1 + 1e-300
def test_the_oracles_of_kl_have_every_digit(power, sign):
    r = torch.tensor([0.99, 3.7, 6.3], dtype=torch.float64) * sign * 10.0**power
    zero, dkl = torch.zeros_like(r), torch.full_like(r, -1.5)
    kl_values = EXERCISES["kl_forward"].oracle(zero, r)
    gradients = EXERCISES["kl_backward"].oracle(dkl, zero, r)
    for value, k3, slope in zip(r.tolist(), kl_values.tolist(), gradients.tolist(), strict=True):
        exact = mpmath.expm1(value)
        assert k3 == pytest.approx(float(exact - mpmath.mpf(value)), rel=4e-16, abs=5e-324)
        assert slope == pytest.approx(float(1.5 * exact), rel=4e-16)


def test_the_cap_is_reached_where_the_cases_say():
    for r in (REACHED, -10.99998):
        assert float(mpmath.expm1(r) - r) == pytest.approx(CAP, abs=1e-3)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (wild.entropy_nan_to_num, wild.entropy_backward_nan_to_num),
        (wild.entropy_xlogy, wild.entropy_backward_xlogy),
    ],
)
def test_a_wild_gradient_is_what_autograd_makes_of_its_cure(forward, backward):
    logits = random(4, 7)
    logits[1, 3], logits[2, 0], logits[3, 2:] = -INF, -200.0, -INF
    leaf, dentropy = logits.clone().requires_grad_(), random(4, seed=5)
    (made,) = torch.autograd.grad(forward(leaf)[0], leaf, dentropy)
    torch.testing.assert_close(backward(dentropy, logits, None, None), made, equal_nan=True)
    assert made[1].isnan().all()


@pytest.mark.parametrize("by_triton", [False, True])
@pytest.mark.parametrize("shape", [(0, 4), (5,), (2, 3, 17)])
def test_entropy_of_any_shape(shape, by_triton, monkeypatch):
    monkeypatch.setattr(sys.modules[entropy.__module__], "use_triton", lambda x: by_triton)
    logits = random(*shape).requires_grad_()
    with Emulator() as emulator:
        found = entropy(logits)
        dentropy = random(*found.shape, seed=4)
        (gradient,) = torch.autograd.grad(found, logits, dentropy)
    assert emulator.findings == ()
    wanted = torch.distributions.Categorical(logits=logits).entropy() if logits.numel() else logits.sum(-1)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradient, torch.autograd.grad(wanted, logits, dentropy)[0] * (logits.numel() > 0))


def test_a_class_that_cannot_be_has_no_gradient():
    logits = torch.tensor([[0.5, -INF, 1.0], [-INF, -INF, -INF]], requires_grad=True)
    entropy(logits).backward(torch.tensor([-0.75, 2.0]))
    assert logits.grad[0].isfinite().all()
    assert (logits.grad[0, 1], logits.grad[1].abs().max()) == (0, 0)


@pytest.mark.parametrize("by_triton", [False, True])
def test_ref_has_the_gradient_of_logp_with_the_other_sign(by_triton, monkeypatch):
    monkeypatch.setattr(sys.modules[kl.__module__], "use_triton", lambda x: by_triton)
    logp, ref = (random(3, 40, seed=seed).requires_grad_() for seed in (1, 2))
    with Emulator():
        dlogp, dref = torch.autograd.grad(kl(logp, ref), (logp, ref), random(3, 40, seed=9))
    assert torch.equal(dlogp, -dref)


def test_kl_has_two_gradients():
    assert torch.autograd.gradcheck(kl, [random(3, 5, dtype=torch.float64, seed=s).requires_grad_() for s in (1, 2)])


def test_errors_name_what_does_not_fit():
    with pytest.raises(ValueError, match=r"logp is \(3,\) float32 on cpu but ref is \(4,\) float32 on cpu"):
        kl(torch.zeros(3), torch.zeros(4))
    with pytest.raises(ValueError, match=r"logp is \(3,\) float32 on cpu but ref is \(3,\) float16 on cpu"):
        kl(torch.zeros(3), torch.zeros(3, dtype=torch.float16))
    with pytest.raises(ValueError, match=r"at least one class; they are \(3, 0\)"):
        entropy(torch.zeros(3, 0))
    with pytest.raises(ValueError, match=r"with a last axis at least; it is \(\) float32"):
        entropy(torch.tensor(1.0))
