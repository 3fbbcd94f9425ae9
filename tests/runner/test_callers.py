"""An answer may call what PyTorch passes on to an operator, and nothing that PyTorch composes of several."""

from pathlib import Path

import pytest
import torch
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner.call import torch_files
from graded_kernels.autograder.runner.call.runner import InProcess
from torch.nn import functional as F

X = torch.linspace(-3, 3, 12).reshape(3, 4)


def trouble(function):
    outcome = InProcess(function, EXERCISES["silu_forward"].contract, "torch").once((X,))
    return outcome.trouble and outcome.trouble.message


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


def printed(x):
    return torch.tensor(float(len(f"{x} {x[0, 0]:.2f}")))


@torch.no_grad()
def without_gradients(x):
    return torch.nn.Sequential(torch.nn.Sigmoid())(x)


HONEST = {
    "functional": lambda x: F.softmax(F.pad(x, (1, 1)), -1) + F.normalize(x).sum(),
    "methods": lambda x: sum(2 - one / 3 for one in x.split(2, 1)) + 1 // x[0, 0].abs() + x.norm(),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "a module": without_gradients,
    "a function of autograd": Twice.apply,
    "vmap": lambda x: torch.func.vmap(lambda row: row * row.sum())(x),
    "a checkpoint": lambda x: torch.utils.checkpoint.checkpoint(torch.sigmoid, x, use_reentrant=False),
    "a script": lambda x: script(x),
    "autocast": lambda x: torch.autocast("cpu", enabled=False)(torch.sigmoid)(x),
    "printing": printed,
}


@torch.jit.script
def script(x):
    return x * torch.sigmoid(x)


@pytest.mark.parametrize("style", HONEST)
def test_what_passes_a_call_on_may_stand_between(style):
    assert trouble(HONEST[style]) is None


COMPOSED = {
    "torch._refs.nn.functional.gelu": lambda x: torch._refs.nn.functional.gelu(x),
    "torch._decomp.decompositions.silu_backward": lambda x: torch._decomp.decompositions.silu_backward(x, x),
    "torch.masked._ops.sum": lambda x: torch.masked.sum(x, 1, mask=x > 0),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_function_that_pytorch_composes_is_refused_by_its_name(name):
    said = trouble(COMPOSED[name])
    assert f"You called {name}, in which PyTorch composes the result of several operators. Write them out." in said


def test_each_part_of_pytorch_on_the_list_is_there():
    """A name with a slip in it would refuse an honest answer."""
    parts, root = (*torch_files._PASSING_ON, *torch_files._APART), Path(torch.__file__).parent
    assert [part for part in parts if not (root / part).exists()] == []
