"""The gradients of decay_scan, against float64: in the rows and in their decays, by PyTorch and by Triton."""

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.kernels import decay_scan, decay_scan_function
from library import random

EPS, SUBNORMAL = 2.0**-24, 2.0**-140  # e^-100 is subnormal: two of its digits are left
INF = torch.inf
DECAYS = {
    "mild": [-0.3, -0.1, -0.02],
    "none": [0.0],
    "steep": [-100.0, -5.0],
    "in turn": [0.0] * 5 + [-100.0] * 3 + [-INF, -0.5],
    "every one -inf": [-INF],
}
SHAPES = [(0, 3), (3, 0), (1, 1), (7, 1), (70, 35)]
each_backend = pytest.mark.parametrize("by_triton", [False, True])


def decays(name: str, t: int) -> torch.Tensor:
    pattern = torch.tensor(DECAYS[name])
    return pattern.repeat(t // len(pattern) + 1)[:t]


def powers(t: int, d: int) -> torch.Tensor:
    """Powers of two from 1/4 to 4, of both signs, and exact zeros."""
    exponent, sign = (
        torch.randint(*ends, (t, d), generator=torch.Generator().manual_seed(5)) for ends in ((-2, 3), (-1, 2))
    )
    return sign * 2.0**exponent


def gradients(dy, x, log_decay, by_triton: bool, monkeypatch) -> list[torch.Tensor]:
    """y, dx and dlog_decay of the library."""
    monkeypatch.setattr(decay_scan_function, "use_triton", lambda x: by_triton)
    leaves = [x.clone().requires_grad_(), log_decay.clone().requires_grad_()]
    with Emulator() as emulator:
        y = decay_scan(*leaves)
        result = [y.detach(), *torch.autograd.grad(y, leaves, dy)]
        assert [emulator.unwritten(one) for one in result] == [None] * 3
    assert emulator.findings == ()
    return result


def truth(dy, x, log_decay) -> list[torch.Tensor]:
    """The same by autograd of the record's loop, in float64."""
    leaves = [t.double().requires_grad_() for t in (x, log_decay)]
    y = EXERCISES["decay_scan"].oracle(*leaves)
    return [
        y.detach(),
        *(
            torch.zeros_like(t) if g is None else g
            for t, g in zip(leaves, torch.autograd.grad(y, leaves, dy.double(), allow_unused=True), strict=True)
        ),
    ]


def sizes(dy, x, log_decay) -> list[torch.Tensor]:
    """What the three would be if nothing cancelled."""
    return truth(dy.abs(), x.abs(), log_decay)


@each_backend
@pytest.mark.parametrize("name", DECAYS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("upstream", [random, powers])
def test_gradients_are_those_of_float64(shape, name, upstream, by_triton, monkeypatch):
    arguments = upstream(*shape), random(*shape, seed=1), decays(name, shape[0])
    found, right, size = gradients(*arguments, by_triton, monkeypatch), truth(*arguments), sizes(*arguments)
    for one, want, whole in zip(found, right, size, strict=True):
        assert (one.shape, one.dtype) == (want.shape, torch.float32)
        assert one.isfinite().all()
        assert ((one - want).abs() <= 16 * EPS * whole + SUBNORMAL).all()


@each_backend
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(dtype, by_triton, monkeypatch):
    """The gradient of a decay takes h in float32, not y as it was rounded."""
    dy, x = (random(50, 20, dtype=dtype, seed=seed) for seed in (1, 2))
    arguments = dy, x, decays("mild", 50)
    found, right, size = gradients(*arguments, by_triton, monkeypatch), truth(*arguments), sizes(*arguments)
    assert [one.dtype for one in found] == [dtype, dtype, torch.float32]
    rounding = torch.finfo(dtype).eps / 2
    for one, want, whole, unit in zip(found, right, size, (rounding, rounding, 0), strict=True):
        assert ((one - want).abs() <= unit * want.abs() + 16 * EPS * whole).all()


@each_backend
def test_sums_of_powers_of_two_are_exact(by_triton, monkeypatch):
    """Decays of 0, and of -inf, where both sums start anew and the decay has a gradient of 0."""
    dy, x = powers(70, 5), powers(70, 5).flip(0)
    log_decay = torch.zeros(70)
    log_decay[[0, 9, 10, 64]] = -INF
    found = gradients(dy, x, log_decay, by_triton, monkeypatch)
    for one, want in zip(found, truth(dy, x, log_decay), strict=True):
        assert one.double().equal(want)
    assert not found[2][[0, 9, 10, 64]].any()


@each_backend
def test_a_gradient_follows_the_upstream_rows_from_its_own_on(by_triton, monkeypatch):
    """Bit for bit, NaN before it included; decays before it do not count either."""
    dy, x, log_decay = random(70, 5), random(70, 5, seed=1), decays("mild", 70)
    _, right, _ = gradients(dy, x, log_decay, by_triton, monkeypatch)
    dy[:40], log_decay[:41] = torch.nan, torch.nan
    _, dx, _ = gradients(dy, x, log_decay, by_triton, monkeypatch)
    assert dx[40:].equal(right[40:])
    assert dx[:40].isnan().all()


@pytest.mark.parametrize(
    ("x", "log_decay"),
    [
        (torch.zeros(3), torch.zeros(3)),
        (torch.zeros(2, 3, 4), torch.zeros(2)),
        (torch.zeros(3, 4), torch.zeros(4)),
        (torch.zeros(3, 4), torch.zeros(3, 1)),
        (torch.zeros(3, 4), torch.zeros(3).half()),
        (torch.zeros(3, 4).double(), torch.zeros(3)),
    ],
)
def test_other_shapes_and_dtypes_are_named(x, log_decay):
    with pytest.raises(ValueError, match=r"^decay_scan: x is \(\.*T?, ?[DN]\)"):
        decay_scan(x, log_decay)
