"""The op library as a training script meets it: autograd, shapes, strides, compile, clear errors.

A function whose parameters are its record's is tested on the record's cases, any other on tensors of `library`.
"""

import importlib
import pkgutil
import re
import sys
from types import FunctionType

import pytest
import torch
from answers import ROOT, our_answer, regions
from differentiable import backward_of, call_named, calls, in_float64, inputs_with_gradients, outputs_of
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises import gradient
from graded_kernels.autograder.gpu import Emulator
from library import CALLS, IN_PLACE, WHOLE, call, has_the_parameters_of_its_record, random

FOUND = [name for name in kernels.__all__ if has_the_parameters_of_its_record(name)]
CASES = [(name, number, case) for name in FOUND for number, (case, _) in enumerate(calls(EXERCISES[f"{name}_forward"]))]


def each(step: int) -> pytest.MarkDecorator:
    """Each step-th case of each function, its first among them; make test-all takes the others."""
    marks = [pytest.mark.exhaustive if number % step else () for _, number, _ in CASES]
    rows = [pytest.param(name, case, marks=some) for (name, _, case), some in zip(CASES, marks, strict=True)]
    return pytest.mark.parametrize(("name", "case"), rows)


def test_what_is_no_tensor_is_told():
    with pytest.raises(TypeError, match="silu: x must be a tensor, not str"):
        kernels.silu("a")


def test_every_differentiable_function_is_exported():
    written = {name for folder, name in regions() if folder == "kernels" and name not in EXERCISES}
    for one in pkgutil.iter_modules(kernels.__path__):  # none of which may take the name of a function
        importlib.import_module(f"{kernels.__name__}.{one.name}")
    assert written <= set(kernels.__all__)
    assert all(isinstance(getattr(kernels, name), FunctionType) for name in kernels.__all__)


def test_the_readme_imports_what_there_is():
    lines = re.findall(r"^from graded_kernels\.kernels import (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert lines
    assert {name for line in lines for name in line.split(", ")} <= set(kernels.__all__)


def test_every_function_has_examples():
    without = set(kernels.__all__) - {*FOUND, *IN_PLACE, *WHOLE, *(name.split(",")[0] for name in CALLS)}
    assert not without, f"other parameters than the record's: tests/material/library.py needs calls of {without}"


@each(3)
def test_a_function_and_its_gradients_are_the_oracles(name, case):
    """In float64."""
    forward = EXERCISES[f"{name}_forward"]
    backward = backward_of(forward)
    named = call_named(forward, case, in_float64)
    leaves = [named[one].requires_grad_() for one in inputs_with_gradients(backward)]
    y = getattr(kernels, name)(**named)
    dy = gradient(torch.Generator().manual_seed(0), y.shape).double()
    gradients = torch.autograd.grad(y, leaves, dy)
    with torch.no_grad():
        right = results(forward, forward.oracle, backward.oracle, named, dy)
    for got, want in zip((y, *gradients), right, strict=True):
        finite = [t[t.isfinite()].abs().max() for t in (dy, want) if t.isfinite().any()]
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9 * float(max(finite, default=0)), equal_nan=True)


def results(forward, answer, gradient_answer, named: dict, dy: torch.Tensor) -> list[torch.Tensor]:
    """The first output of the function and the gradients, from two answers."""
    backward = backward_of(forward)
    outputs = outputs_of(forward, answer(**named))
    (first, y), *_ = outputs.items()
    saved = named | outputs | {f"d{first}": dy}
    gradients = outputs_of(
        backward, gradient_answer(**{one: saved[one] for one in backward.parameters if one in saved})
    )
    return [y, *(gradients[f"d{one}"] for one in inputs_with_gradients(backward))]


@each(5)
def test_on_a_gpu_a_function_gives_what_our_kernels_give(name, case, monkeypatch):
    """Bit for bit, in the emulator, with a gradient of stride 0; by PyTorch results of the same shapes and dtypes."""
    function, forward = getattr(kernels, name), EXERCISES[f"{name}_forward"]
    named = call_named(forward, case)
    leaves = [named[one].requires_grad_() for one in inputs_with_gradients(backward_of(forward))]
    found = []
    for by_triton in (False, True):
        monkeypatch.setattr(sys.modules[function.__module__], "use_triton", lambda x, by_triton=by_triton: by_triton)
        with Emulator() as emulator:
            y = function(**named)
            dy = gradient(torch.Generator().manual_seed(0), y.shape[-1:], y.dtype).expand(y.shape)
            found.append([y, *torch.autograd.grad(y, leaves, dy)])
        assert emulator.findings == ()
        assert bool(emulator.launches) == by_triton or 0 in (y.numel(), leaves[0].numel())
    with torch.no_grad(), Emulator():
        answers = [our_answer(one.name, "triton") for one in (forward, backward_of(forward))]
        right = results(forward, *answers, named, dy)
    for one, other, want in zip(*found, right, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        torch.testing.assert_close(other, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_gradcheck(name):
    assert torch.autograd.gradcheck(*call(name, torch.float64))


@pytest.mark.exhaustive  # an example of each function: tests/exercises/test_library_table.py
@pytest.mark.parametrize("name", CALLS)
def test_compiles_without_a_graph_break(name):
    function, leaves = call(name, torch.float32)
    torch.compiler.reset()  # which compiles one code so many times and no more
    results = []
    for one in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        y = one(*leaves)
        dy = random(*y.shape, seed=9)
        results.append((y, *torch.autograd.grad(y, leaves, dy)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=0, atol=0)


@pytest.mark.parametrize("name", [name for name in (*FOUND, *CALLS) if name != "rotary"])
@pytest.mark.parametrize("constant", [False, True])
def test_a_second_derivative_says_that_it_is_not_there(name, constant):
    """Also where dy is a constant, as for a penalty on the gradient of a sum."""
    function, leaves = call(name, torch.float64)
    y = function(*leaves)
    g, *_ = torch.autograd.grad(y, leaves, torch.ones_like(y, requires_grad=not constant), create_graph=True)
    loss = y.sum() + g.pow(2).sum()
    says = "is differentiable once"
    with pytest.raises(RuntimeError, match=says):
        loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=says):
        torch.autograd.grad(loss, leaves)


def test_zero_has_a_gradient():
    x = torch.tensor([0.0, -0.0, 1e-45], requires_grad=True)
    kernels.silu(x).backward(torch.tensor([-0.5, 3.0, 0.25]))
    assert x.grad.tolist() == [-0.25, 1.5, 0.125]


def test_swiglu_names_what_differs():
    with pytest.raises(ValueError, match=r"gate is \(3,\) float32 on cpu but up is \(3,\) float16 on cpu"):
        kernels.swiglu(torch.zeros(3), torch.zeros(3, dtype=torch.float16))
    with pytest.raises(ValueError, match="must be alike"):
        kernels.swiglu(torch.zeros(3), torch.zeros(1))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"old": torch.zeros(4, 3)}, r"old must be of shape \(3, 4\); it is \(4, 3\) float32"),
        ({"advantage": torch.zeros(4)}, r"advantage must be of shape \(3,\); it is \(4,\)"),
        ({"mask": torch.ones(3, 4)}, r"mask must be bool; it is \(3, 4\) float32"),
        ({"count": -2}, "it is -2"),
        ({"count": float("nan")}, "it is nan"),
        ({"clip": -0.1}, "it is -0.1"),
        ({"clip": 1}, "it is 1"),
        ({"clip": float("nan")}, "it is nan"),
    ],
)
def test_policy_loss_names_what_it_cannot_take(changed, says):
    good = {"logp": torch.zeros(3, 4), "old": torch.zeros(3, 4), "advantage": torch.zeros(3)}
    good["mask"] = torch.ones(3, 4, dtype=torch.bool)
    with pytest.raises(ValueError, match=says):
        kernels.policy_loss(**good | changed)


def test_policy_loss_takes_any_shape():
    logp, old = (random(2, 3, 5, seed=seed, dtype=torch.float64) for seed in (1, 2))
    advantage, mask = random(2, 3, seed=4, dtype=torch.float64), random(2, 3, 5, seed=5) > 0
    rows = [x.reshape(6, *x.shape[2:]) for x in (logp, old, advantage, mask)]
    assert kernels.policy_loss(logp, old, advantage, mask, 7).equal(kernels.policy_loss(*rows, 7))
    assert kernels.policy_loss(*rows) == kernels.policy_loss(*rows, int(mask.sum()))
    assert kernels.policy_loss(logp[0, 0], old[0, 0], advantage[0, 0], mask[0, 0]).shape == ()
