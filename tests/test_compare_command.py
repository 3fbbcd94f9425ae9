"""`graded-kernels compare` as a command: functions in files, KernelBench's form, and what it says of bad input."""

import json
import subprocess
import sys

import pytest

REFERENCE = """
import torch

def softmax(x):
    return torch.softmax(x.float(), -1).to(x.dtype)
"""
MINE = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=OTHER).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, 0), mask=cols < n)

def launched(x, other):
    assert x.is_cuda and x.is_contiguous(), "contiguous tensors on a GPU"
    y = torch.empty_like(x)
    if x.numel():
        kernel[(x.shape[0],)](x, y, x.shape[1], OTHER=other, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y

def softmax(x):
    return launched(x, float("-inf"))

def padded_with_zeros(x):
    return launched(x, 0.0)

def calls_it(x):
    return torch.softmax(x, -1)
"""
EXAMPLE = """
import torch

def arguments(seed):
    return (torch.randn(5, 40),)
"""
PROBLEM = """
import torch
from torch import nn

batch_size = 4096
features = 2048

class Model(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.rand(features)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight

def get_inputs():
    return [torch.rand(batch_size, features)]

def get_init_inputs():
    return [features, 1e-5]
"""
SOLUTION = PROBLEM.replace("class Model(", "class ModelNew(").replace("self.weight", "self.w")
OUTSIDE = SOLUTION.replace("keepdim=True) + self.eps)", "keepdim=True)) / (1 + self.eps)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    texts = {"reference": REFERENCE, "mine": MINE, "example": EXAMPLE}
    texts |= {"problem": PROBLEM, "solution": SOLUTION, "outside": OUTSIDE}
    for name, text in texts.items():
        (tmp_path / f"sbs_{name}_{tmp_path.name.replace('-', '_')}.py").write_text(text)
    monkeypatch.chdir(tmp_path)

    def named(name, function=""):
        return f"sbs_{name}_{tmp_path.name.replace('-', '_')}.py" + (f":{function}" if function else "")

    return named


def compare(*arguments):
    """(status, stdout, stderr) of the command in a process of its own, which simulates a GPU."""
    command = [sys.executable, "-m", "graded_kernels.autograder", "compare", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def test_a_kernel_for_a_gpu_beside_its_reference(folder):
    example = ("--arguments", folder("example", "arguments"))
    status, out, err = compare(folder("reference", "softmax"), folder("mine", "softmax"), *example)
    assert status == 0, out + err
    assert "Computes: in its own kernels." in out
    assert "contiguous tensors on a GPU" in " ".join(out.split())  # what it refuses is said
    assert "converts to float32 in line 5 of sbs_reference" in " ".join(out.split())
    status, out, err = compare(folder("reference", "softmax"), folder("mine", "padded_with_zeros"), *example, "--json")
    report = json.loads(out)
    assert status == 1 and report["passed"] is False and 0 < report["score"] < 1
    assert report["computes"] == "kernels"


def test_a_call_of_the_reference_is_told_from_a_kernel(folder):
    status, out, err = compare(folder("reference", "softmax"), folder("mine", "calls_it"), "--like", "silu")
    assert status == 0
    assert "Computes: no, it calls aten._softmax." in out


def test_kernelbench(folder):
    status, out, err = compare(folder("problem"), folder("solution"))
    assert status == 0, out + err
    status, out, err = compare(folder("problem"), folder("outside"))
    assert status == 1
    assert "tiny values" in out and "of the points" not in out


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("reference:softmax", "mine:softmax"), "give example arguments"),
        (("reference:softmax", "mine:softmaks", "--like", "silu"), "has no function softmaks; it has softmax"),
        (("reference:softmax", "mine:softmax", "--like", "sillu"), "no exercise sillu"),
        (("problem", "solution", "--like", "silu"), "those of get_inputs"),
        (("problem", "mine"), "has no function ModelNew"),
        (("reference:softmax", "mine:launched", "--like", "silu"), "does not take the 1 arguments"),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, says):
    names = [folder(*a.split(":")) if a[0] != "-" and "sil" not in a else a for a in arguments]
    status, _, err = compare(*names)
    assert status == 2 and says in err and err.count("\n") == 1, err
