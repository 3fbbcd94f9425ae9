"""GELU beyond the check: the oracle's own proof, the library function, the tails in ulp, and the fitted polynomial."""

import importlib
import math
from pathlib import Path

import mpmath
import pytest
import torch
from compiler_kernels import compile_report
from graded_kernels.autograder import check
from graded_kernels.autograder.exercises.gelu import gelu as oracle
from graded_kernels.autograder.exercises.gelu import gelu_slope
from graded_kernels.autograder.gpu import Target, launch_of
from graded_kernels.autograder.judge import EXERCISES, ulp_error
from graded_kernels.kernels.wild import gelu as wild
from graded_kernels.solutions import gelu as torch_answers

# By name: as an attribute of the package, gelu is the function.
triton_answers = importlib.import_module("graded_kernels.kernels.gelu")

FORMS = ("none", "tanh")
BACKENDS = {"torch": torch_answers, "triton": triton_answers}
TAIL = {"none": -14.4, "tanh": -10.6}


@pytest.mark.parametrize("approximate", FORMS)
@mpmath.workdps(50)
def test_oracle_keeps_its_digits_in_the_tail(approximate):
    """Against 50 digits: float64's own roundings of the exponent are all that is left, 1e-13 of the value."""
    for x in (-13.5, -9.25, -5.5, -0.75, 0.5, 3.0):
        v = mpmath.mpf(x)
        if approximate == "none":
            share, slope = mpmath.ncdf(v), mpmath.npdf(v)
        else:
            z = 2 * mpmath.sqrt(2 / mpmath.pi) * (v + mpmath.mpf("0.044715") * v**3)
            share = 1 / (1 + mpmath.exp(-z))
            slope = share * (1 - share) * 2 * mpmath.sqrt(2 / mpmath.pi) * (1 + 3 * mpmath.mpf("0.044715") * v**2)
        at = torch.tensor(x, dtype=torch.float64)
        assert oracle(at, approximate).item() == pytest.approx(float(v * share), rel=1e-13)
        assert gelu_slope(at, approximate).item() == pytest.approx(float(share + v * slope), rel=1e-12)


@pytest.mark.parametrize("approximate", FORMS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_is_within_6_ulp_down_to_the_subnormals(backend, approximate):
    x = torch.cat(
        [torch.linspace(TAIL[approximate], 6, 20011), -torch.logspace(-44, 0, 2003), torch.logspace(0, 38, 501)]
    )
    y = BACKENDS[backend].gelu_forward(x, approximate)
    assert ulp_error(y, oracle(x.double(), approximate), torch.float32).max() <= 6


@pytest.mark.parametrize("approximate", FORMS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_is_within_8_ulp_in_the_tail_and_finite_everywhere(backend, approximate):
    x = torch.linspace(TAIL[approximate], -2, 10007)
    dy = torch.linspace(-1.7, 1.3, x.numel())
    dx = BACKENDS[backend].gelu_backward(dy, x, approximate)
    exact = EXERCISES["gelu_backward"].oracle(dy.double(), x.double(), approximate)
    assert ulp_error(dx, exact, torch.float32).max() <= 8
    huge = torch.tensor([-3.4e38, -1e25, -1e13, 1e13, 1e25, 3.4e38])
    dx = BACKENDS[backend].gelu_backward(torch.full_like(huge, -0.7), huge, approximate)
    assert dx.tolist() == pytest.approx([0, 0, 0, -0.7, -0.7, -0.7])


@pytest.mark.parametrize("backend", BACKENDS)
def test_unknown_form_is_refused_by_name(backend):
    x = torch.ones(3)
    with pytest.raises(ValueError, match="'none' or 'tanh', not 'sigmoid'"):
        BACKENDS[backend].gelu_forward(x, "sigmoid")
    with pytest.raises(ValueError, match="'none' or 'tanh', not 'sigmoid'"):
        BACKENDS[backend].gelu_backward(x, x, "sigmoid")


def test_wild_half_gradient_is_the_formulas_own():
    x = torch.arange(-400.0, 400.0, 1.3).half().requires_grad_()
    dy = torch.linspace(-1.7, 1.3, x.numel()).half()
    y = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))
    (expected,) = torch.autograd.grad(y, x, dy)
    mine = wild.gelu_backward_in_half(dy, x.detach(), "tanh")
    assert torch.equal(mine.isnan(), expected.isnan())
    assert expected.isnan().any()
    torch.testing.assert_close(mine, expected, rtol=1e-2, atol=1e-2, equal_nan=True)


@pytest.mark.parametrize("answer", [(torch.tensor([1.0]),), (torch.tensor([1.0]), "tanh"), torch.tensor([1.0])])
def test_witness_may_leave_the_form_out(answer):
    report = check("gelu_witness", lambda: answer)
    assert report.passed, str(report)


def test_witness_of_two_tensors_is_told_what_is_wanted():
    report = check("gelu_witness", lambda: (torch.ones(2), torch.ones(2), torch.ones(2)))
    assert not report.passed
    assert "2 values (x, approximate)" in report.cases[0].message


@pytest.mark.exhaustive
def test_both_forms_compile_for_every_gpu_without_spills():
    """Each with `TANH` and without."""
    source = Path(triton_answers.__file__).read_text(encoding="utf-8")
    x = torch.empty(4096)
    launches, targets = [], Target.named("all")
    for form in ({"TANH": False, "BLOCK": 1024}, {"TANH": True, "BLOCK": 1024}):
        launches.append(launch_of(triton_answers.gelu_forward_kernel, (x, x.clone(), 4096), form, source))
        backward = (x, x.clone(), x.clone(), 4096)
        launches.append(launch_of(triton_answers.gelu_backward_kernel, backward, form, source))
    report = compile_report(launches, targets)
    assert report["status"] == "pass", report["reason"]
    assert [(row["spills"], row["load_bits"]) for row in report["targets"]] == [(0, 128)] * 4 * len(targets)


@mpmath.workdps(40)
def test_fitted_polynomial_is_as_close_as_it_says():
    """mills_ratio's own lines in exact arithmetic, against 40 digits: a relative error of 2^-26.4, but for rounded
    coefficients.
    """
    points = [mpmath.mpf(step) / 20 for step in range(291)]
    errors = [triton_answers.mills_ratio.fn(t) / (mpmath.exp(t * t / 2) * mpmath.ncdf(-t)) - 1 for t in points]
    assert max(map(abs, errors)) < mpmath.mpf(2) ** -26.3
