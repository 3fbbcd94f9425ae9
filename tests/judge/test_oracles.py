"""What is right: every gradient is the derivative of its function, and float64 has digits enough."""

import mpmath
import pytest
import torch
from differentiable import call_named, calls, in_float64, inputs_with_gradients, outputs_of
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises import gradient
from graded_kernels.autograder.judge.records.record import Exercise


def upstream(record: Exercise, y: torch.Tensor, named: dict[str, torch.Tensor]) -> torch.Tensor:
    """The gradient of y: drawn, or what the record states its own outputs for."""
    if record.forward:
        return gradient(torch.Generator().manual_seed(0), y.shape).double()
    if not record.gradient_of:
        return torch.ones_like(y)
    return Exercise.upstream_of(named[record.gradient_of], y.shape).to(y.dtype)


GRADIENTS = [
    record
    for record in EXERCISES.values()
    if isinstance(record, Exercise) and (record.forward or inputs_with_gradients(record))
]


@pytest.mark.parametrize("record", GRADIENTS, ids=lambda record: record.name)
def test_a_gradient_is_the_derivative_of_its_function(record):
    """By float64 autograd of the function's oracle, on its cases, wherever that has a number."""
    function = record.forward or record
    for case, _ in calls(function):
        is_the_derivative(record, function, case)


def is_the_derivative(record: Exercise, function: Exercise, case: str) -> None:
    named = call_named(function, case, in_float64)
    leaves = {name: named[name].clone().requires_grad_() for name in inputs_with_gradients(record)}
    outputs = outputs_of(function, function.oracle(**named | leaves))
    first, y = next(iter(outputs.items()))
    dy = upstream(record, y, named)
    derivatives = torch.autograd.grad(y, leaves.values(), dy)
    saved = named | {name: output.detach() for name, output in outputs.items()} | {f"d{first}": dy}
    stated = outputs_of(record, record.oracle(**{name: saved[name] for name in record.parameters if name in saved}))
    for name, derivative in zip(leaves, derivatives, strict=True):
        known = derivative.isfinite()
        scale = max((float(t.abs().max()) for t in (dy, derivative[known]) if t.numel()), default=0.0)
        got, tolerance = stated[f"d{name}"][known], {"rtol": 1e-9, "atol": 1e-12 * scale}
        torch.testing.assert_close(got, derivative[known], msg=f"{case}: d{name}", **tolerance)


@pytest.mark.parametrize("record", [e for e in EXERCISES.values() if isinstance(e, Exercise) and e.forward])
def test_gradients_are_named_after_what_they_are_of(record):
    y = record.forward.outputs[0].name
    assert f"d{y}" in record.parameters, f"{record.name}: the parameter for the gradient of {y} is d{y}"
    assert inputs_with_gradients(record), f"{record.name}: the output for the gradient of x is dx"


POINTS = torch.tensor([-80.0, -5.5, -1.2785, -1e-3, -1e-9, -0.0, 0.0, 1e-9, 0.3, 1.0, 7.5, 80.0], dtype=torch.float64)


@pytest.mark.parametrize("name", ["silu_forward", "silu_backward"])
def test_oracle_agrees_with_high_precision(name):
    """mpmath with 60 digits: float64 does not cancel where the oracle is used."""
    mpmath.mp.dps = 60
    x = torch.cat([POINTS, torch.linspace(-104, 104, 301, dtype=torch.float64)]).detach()

    def exact(v: float) -> mpmath.mpf:
        s = 1 / (1 + mpmath.exp(-mpmath.mpf(v)))
        return v * s if name == "silu_forward" else s * (1 + v * (1 - s))

    args = (x,) if name == "silu_forward" else (torch.ones_like(x) * 3, x)
    scale = 1 if name == "silu_forward" else 3
    got = EXERCISES[name].oracle(*args)
    for v, g in zip(x.tolist(), got.tolist(), strict=True):
        want = scale * exact(v)
        assert abs(g - want) <= 1e-13 * abs(want) + 1e-16 * (abs(v) < 5), v


def test_limits():
    x = torch.tensor([torch.inf, -torch.inf], dtype=torch.float64)
    assert EXERCISES["silu_forward"].oracle(x).tolist() == [torch.inf, 0.0]
    assert EXERCISES["silu_backward"].oracle(torch.full_like(x, 2.5), x).tolist() == [2.5, 0.0]
