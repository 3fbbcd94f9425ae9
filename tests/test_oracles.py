"""A backward oracle is the derivative of the forward oracle: proven in float64, at random points and at the edges."""

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.run.contract import as_tuple

POINTS = torch.tensor([-80.0, -5.5, -1.2785, -1e-3, -1e-9, -0.0, 0.0, 1e-9, 0.3, 1.0, 7.5, 80.0], dtype=torch.float64)


def points(count: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    random = [torch.randn(40, generator=generator, dtype=torch.float64) * 3 for _ in range(count)]
    return tuple(torch.cat([POINTS.roll(i), r]).requires_grad_() for i, r in enumerate(random))


@pytest.mark.parametrize("op", ["silu", "swiglu"])
def test_elementwise_backward_is_the_derivative_of_forward(op):
    forward, backward = EXERCISES[f"{op}_forward"], EXERCISES[f"{op}_backward"]
    inputs = points(len(forward.parameters), torch.Generator().manual_seed(11))
    y = forward.oracle(*inputs)
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(12), dtype=torch.float64)
    derivative = torch.autograd.grad(y, inputs, dy)
    stated = as_tuple(backward.oracle(dy, *(x.detach() for x in inputs)))
    for name, got, want in zip(forward.parameters, stated, derivative, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-14, msg=lambda m, name=name: f"d{name}: {m}")


@pytest.mark.parametrize("name", ["silu_forward", "silu_backward"])
def test_oracle_agrees_with_high_precision(name):
    """mpmath with 60 digits: float64 does not cancel where the oracle is used."""
    import mpmath

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
