"""What is right: every gradient is the derivative of its function, and float64 has digits enough."""

import mpmath
import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises.cases.elementwise import gradient
from graded_kernels.autograder.exercises.record import Exercise
from graded_kernels.autograder.judge.trial import arguments
from graded_kernels.autograder.run.contract import as_tuple
from graded_kernels.autograder.run.gradient import UPSTREAM

LARGEST = 2**17  # numbers in the arguments of a case


def in_float64(args: tuple) -> list:
    """With 0 for NaN, of which a gradient is a convention."""
    floats = [isinstance(a, torch.Tensor) and a.is_floating_point() for a in args]
    return [a.double().nan_to_num(0.0, torch.inf, -torch.inf) if f else a for a, f in zip(args, floats, strict=True)]


def of_inputs(record: Exercise) -> list[str]:
    """The inputs of the function whose gradients are among the record's outputs: ``x`` for ``dx``."""
    function, outputs = record.forward or record, {output.name for output in record.outputs}
    return [name for name in function.parameters if f"d{name}" in outputs]


def upstream(record: Exercise, y: torch.Tensor) -> torch.Tensor:
    """The gradient of y: drawn, or what the record states its own outputs for."""
    if record.forward:
        return gradient(torch.Generator().manual_seed(0), y.shape).double()
    return torch.full_like(y, UPSTREAM if record.gradient_of else 1.0)


GRADIENTS = [
    pytest.param(record, case, args, id=f"{record.name}: {case.name}")
    for record in EXERCISES.values()
    if isinstance(record, Exercise) and (record.forward or of_inputs(record))
    for number, case in enumerate((record.forward or record).cases)
    if not case.raises
    for args in [arguments(case, number, seed=0)]
    if sum(a.numel() for a in args if isinstance(a, torch.Tensor)) <= LARGEST
]


@pytest.mark.parametrize(("record", "case", "args"), GRADIENTS)
def test_a_gradient_is_the_derivative_of_its_function(record, case, args):
    """By float64 autograd of the function's oracle, on its cases, wherever that has a number."""
    function = record.forward or record
    named = dict(zip(function.parameters, in_float64(args), strict=False))
    leaves = {name: named[name].clone().requires_grad_() for name in of_inputs(record)}
    outputs = dict(zip((o.name for o in function.outputs), as_tuple(function.oracle(**named | leaves)), strict=True))
    first, y = next(iter(outputs.items()))
    dy = upstream(record, y)
    derivatives = torch.autograd.grad(y, leaves.values(), dy)
    saved = named | {name: output.detach() for name, output in outputs.items()} | {f"d{first}": dy}
    results = as_tuple(record.oracle(**{name: saved[name] for name in record.parameters if name in saved}))
    stated = dict(zip((o.name for o in record.outputs), results, strict=True))
    for name, derivative in zip(leaves, derivatives, strict=True):
        known = derivative.isfinite()
        scale = max((float(t.abs().max()) for t in (dy, derivative[known]) if t.numel()), default=0.0)
        torch.testing.assert_close(stated[f"d{name}"][known], derivative[known], rtol=1e-9, atol=1e-12 * scale)


def test_every_gradient_is_proven():
    stated = {e.name for e in EXERCISES.values() if isinstance(e, Exercise) and e.forward}
    proven = {case.values[0].name for case in GRADIENTS if of_inputs(case.values[0])}
    assert stated <= proven, "outputs of a record with forward= are gradients: of x, it is dx"


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
