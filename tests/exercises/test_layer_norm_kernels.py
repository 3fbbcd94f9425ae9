"""Layer norm and RMS norm: the Triton kernels, and the functions that people import."""

import importlib
import inspect
import itertools
from pathlib import Path

import pytest
import torch
from compiler_kernels import compile_report
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator, EmulatorError, launch_of
from graded_kernels.autograder.judge import ulp_size
from graded_kernels.autograder.runner import Tree
from graded_kernels.kernels.layer_norm import layer_norm
from graded_kernels.kernels.rms_norm import rms_norm
from library import random
from torch.nn import functional as F
from turns import one_in

FILES = ("layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward")
KERNELS = {name: importlib.import_module(f"graded_kernels.kernels.{name}") for name in FILES}
OPS = {"layer_norm": (layer_norm, 2), "rms_norm": (rms_norm, 1)}


def parameters(count: int, n: int, dtype=torch.float32) -> list[torch.Tensor]:
    return [random(n, dtype=dtype, seed=7 + i) for i in range(count)]


def outputs(op: str, x: torch.Tensor, shuffle: int | None = None) -> list[torch.Tensor]:
    """What the Triton forward and backward of ``op`` return, with the programs in order or shuffled."""
    _, count = OPS[op]
    forward = getattr(KERNELS[op], f"{op}_forward")
    backward = getattr(KERNELS[f"{op}_backward"], f"{op}_backward")
    tensors = parameters(count, x.shape[1], x.dtype)
    with Emulator(shuffle=shuffle) as emulator:
        y, *statistics = forward(x, *tensors)
        gradients = Tree.of(backward(random(*x.shape, dtype=x.dtype, seed=5), x, tensors[0], *statistics)).args
    assert emulator.findings == ()
    return [y, *statistics, *gradients]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(301, 5), (3, 8200)])
def test_the_same_bits_in_any_order_of_programs(op, shape):
    x = random(*shape)
    for one, other in zip(outputs(op, x), outputs(op, x, shuffle=5), strict=True):
        assert torch.equal(one, other)


def launches(op: str, x: torch.Tensor, monkeypatch) -> list:
    """The launches of forward and backward as they would go to the compiler; no kernel runs."""
    recorded = []

    class Recorder:
        def __init__(self, kernel, source):
            self.kernel, self.source = kernel, source

        def __getitem__(self, grid):
            return lambda *args, **kwargs: recorded.append(launch_of(self.kernel, args, kwargs, self.source))

    for module in KERNELS.values():
        for name, kernel in vars(module).items():
            if name.endswith("_kernel"):
                monkeypatch.setattr(module, name, Recorder(kernel, Path(inspect.getfile(module)).read_text()))
    _, count = OPS[op]
    tensors = parameters(count, x.shape[1], x.dtype)
    _, *statistics = getattr(KERNELS[op], f"{op}_forward")(x, *tensors)
    getattr(KERNELS[f"{op}_backward"], f"{op}_backward")(x, x, tensors[0], *statistics)
    return recorded


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("n", [1000, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1, 8192, 20_000))])
def test_compiles_without_spills(op, dtype, n, monkeypatch):
    recorded = launches(op, torch.empty(300, n, dtype=dtype), monkeypatch)
    report = compile_report(recorded)
    if report["status"] == "not-run":
        pytest.skip(f"not run: {report['reason']}")
    assert report["status"] == "pass", report["reason"]
    spills = {(t["kernel"], t["spills"]) for t in report["targets"] if t["target"] == "sm_90" and t["spills"]}
    assert len(recorded) >= 3
    assert spills == set()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("way", ["forward", "backward"])
def test_offsets_past_two_billion_elements(op, way):
    """The first address of row m is m · N, also where that is more than 2^31. The tensors need not be that large: the
    emulator names the offset at which a program left them.
    """
    n, small = 2**30 + 7, torch.zeros(16)
    module = KERNELS[op if way == "forward" else f"{op}_backward"]
    kernel = getattr(module, f"{op}_{way}_kernel")
    count = sum(p.endswith("_ptr") for p in inspect.signature(kernel.fn).parameters)
    tail = (n, 1e-5) if way == "forward" else (4, n, 1)
    seen = set()
    for seed in range(24):
        with pytest.raises(EmulatorError) as error, Emulator(shuffle=seed):
            kernel[(4,)](*(small.clone() for _ in range(count)), *tail, BLOCK=16)
        seen.add(error.value.finding.offset)
    assert seen == {n, 2 * n, 3 * n}


def row_scaled_ulp(y: torch.Tensor, exact: torch.Tensor) -> float:
    return ((y.double() - exact).abs() / ulp_size(exact.abs().amax(-1, keepdim=True), y.dtype)).max().item()


@pytest.mark.parametrize("sigmas", [0.0, 10.0, 1e3, 1e5])
def test_a_large_mean_costs_nothing(sigmas):
    x = random(3, 4096) + sigmas
    affine = parameters(2, 4096)
    exact, _, _ = EXERCISES["layer_norm_forward"].oracle(*(t.double() for t in (x, *affine)))
    with Emulator():
        triton, _, _ = KERNELS["layer_norm"].layer_norm_forward(x, *affine)
    assert row_scaled_ulp(triton, exact) < 4
    assert row_scaled_ulp(layer_norm(x, *affine), exact) < 4
    if sigmas == 1e5:
        assert row_scaled_ulp(F.layer_norm(x, (4096,), *affine), exact) > 1000


# The functions that people import.


DTYPES = (torch.float32, torch.float16, torch.bfloat16)
SHAPES = ((5,), (0, 5), (4, 0), (2, 0, 3), (1, 1), (7, 3, 2))


@pytest.mark.parametrize(
    ("mixed", "shape", "dtype", "op"), one_in(5, itertools.product((False, True), SHAPES, DTYPES, OPS))
)
def test_shapes_and_dtypes(op, dtype, shape, mixed):
    function, count = OPS[op]
    x = random(*shape, dtype=dtype).requires_grad_()
    tensors = [t.requires_grad_() for t in parameters(count, shape[-1], torch.float32 if mixed else dtype)]
    y = function(x, *tensors)
    assert (y.shape, y.dtype) == (shape, dtype)
    y.backward(random(*shape, dtype=dtype, seed=2))
    for t in (x, *tensors):
        assert (t.grad.shape, t.grad.dtype) == (t.shape, t.dtype)
        assert t.grad.isfinite().all()


@pytest.mark.parametrize("op", OPS)
def test_agrees_with_pytorch(op):
    function, count = OPS[op]
    reference = {"layer_norm": F.layer_norm, "rms_norm": F.rms_norm}[op]
    x, tensors, dy = random(4, 6, 33), parameters(count, 33), random(4, 6, 33, seed=5)
    ours, theirs = ([t.clone().requires_grad_() for t in (x, *tensors)] for _ in range(2))
    one, other = function(*ours, eps=1e-3), reference(theirs[0], (33,), *theirs[1:], eps=1e-3)
    torch.testing.assert_close(one, other)
    one.backward(dy)
    other.backward(dy)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(function(x), reference(x, (33,), eps={"layer_norm": 1e-5, "rms_norm": 1e-6}[op]))


def test_a_wrong_parameter_is_named():
    message = r"layer_norm: x is \(2, 5\) float32 on cpu, so bias must be of shape \(5,\); it is \(4,\) float32 on cpu"
    with pytest.raises(ValueError, match=message):
        layer_norm(torch.zeros(2, 5), torch.ones(5), torch.zeros(4))
    with pytest.raises(ValueError, match=r"rms_norm: x is \(2, 5\).*weight must be of shape \(5,\)"):
        rms_norm(torch.zeros(2, 5), torch.ones(2, 5))
