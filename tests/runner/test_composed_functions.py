"""What PyTorch composes of several operators is not there in the process of a PyTorch answer, and all else is."""

from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.torch_files import composes, leads_on, passes_on
from graded_kernels.autograder.runner.sandbox import Isolated, probe

pytestmark = pytest.mark.skipif(probe().level in (None, "weak"), reason=f"not run: nothing is isolated. {probe()}")
CONTRACT = EXERCISES["silu_forward"].contract
X = torch.linspace(-3, 3, 12).reshape(3, 4)

HONEST = """
import torch, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

@torch.jit.script
def scripted(x):
    return x * torch.sigmoid(x)

@torch.compile
def compiled(x):
    return x * torch.sigmoid(x)

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2

def silu_forward(x):
    with torch.no_grad():
        y = torch.nn.Sequential(torch.nn.Sigmoid())(x) + compiled(x) + scripted(x) + Twice.apply(x)
        y = y + F.normalize(F.pad(x, (1, 1)))[:, 1:-1] + torch.einsum("ij,kj->ik", x, x).sum() + x.norm()
        y = y + checkpoint(torch.sigmoid, x, use_reentrant=False)
        return y + len(f"{x} {x[0, 0]:.2f}")
"""


def trouble(worker, source, contract=CONTRACT):
    with Isolated(Answer("silu_forward", (Cell("answer", source),)), contract, "torch", worker=worker) as runner:
        return runner.examine(Call((X,))).first.trouble


def test_an_honest_answer_meets_none_of_it(worker):
    assert trouble(worker, HONEST) is None


def silu_by(call):
    return f"import torch\nfrom torch._decomp import decompositions\n\ndef silu_forward(x):\n    return {call}\n"


@pytest.mark.parametrize("call", ["decompositions.silu(x)", "torch.masked.softmax(x, 1)", "torch._refs.sigmoid(x)"])
def test_a_composition_is_refused_with_the_line_that_calls_it(worker, call):
    """With the watch switched off as well; the attacks of these names have the rest."""
    told = trouble(worker, silu_by(call))
    assert (told.kind, told.place) == ("refused", f"Line 5, `return {call}`: ")
    assert "composes the result of several operators" in told.message
    quiet = silu_by(call).replace("    return", "    with _disable_current_modes():\n        return")
    quiet = f"from torch.utils._python_dispatch import _disable_current_modes\n{quiet}"
    assert trouble(worker, quiet).kind == "refused"


def test_a_witness_may_call_it_in_the_same_worker(worker):
    """Its input may come from anywhere, so the functions are whole in its process, also after others had none."""
    assert trouble(worker, silu_by("decompositions.silu(x)")).kind == "refused"
    assert trouble(worker, silu_by("decompositions.silu(x)"), replace(CONTRACT, witness=True)) is None


def test_files_are_told_apart_by_their_names():
    assert passes_on("nn/functional.py") and not composes("nn/functional.py")
    assert composes("optim/adamw.py") and composes("a_file_of_a_later_release.py")
    assert leads_on("nn/") and not leads_on("optim/") and not leads_on("utils/")
