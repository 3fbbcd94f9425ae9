"""`graded-kernels compare` as a command: functions in files, KernelBench's form, and what it says of bad input."""

import json
import subprocess
import sys
import textwrap

import pytest
from forked import forked

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

def by_rows(x):
    return torch.softmax(x, -1) * (1 + 2e-7 * (len(x) > 1))
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
    ran = forked("compare", *arguments)
    return ran.returncode, ran.stdout, ran.stderr


# What is left out where it takes most of the time and shows nothing more.
FEW = ("--forward-only", *(f"--without={name}" for name in ("dimension", "NaN", "infinity", "-infinity", "bfloat16")))


def test_a_kernel_for_a_gpu_beside_its_reference(folder):
    example = ("--arguments", folder("example", "arguments"), *FEW)
    status, out, err = compare(folder("reference", "softmax"), folder("mine", "softmax"), *example)
    assert status == 0, out + err
    assert "Computes: in its own kernels." in out
    assert "contiguous tensors on a GPU" in " ".join(out.split())  # what it refuses is said
    assert "converts to float32 in line 5 of sbs_reference" in " ".join(out.split())
    status, out, err = compare(folder("reference", "softmax"), folder("mine", "padded_with_zeros"), *example, "--json")
    report = json.loads(out)
    assert status == 1 and report["passed"] is False and 0 < report["score"] < 1
    assert report["computes"] == "kernels"


@pytest.mark.exhaustive
def test_a_call_of_the_reference_is_told_from_a_kernel(folder):
    sides = (folder("reference", "softmax"), folder("mine", "calls_it"), "--like", "silu", *FEW)
    status, out, err = compare(*sides)
    assert status == 1, err
    assert "it calls what it should compute" in out and "Computes: no, it calls aten._softmax." in out
    status, out, err = compare(*sides, "--any-method")
    assert status == 0, out + err


def test_neighbours_are_asked_beside_the_values(folder):
    """A softmax scaled by the number of rows: right to the tolerance, and other bits alone than among five."""
    sides = (folder("reference", "softmax"), folder("mine", "by_rows"), "--arguments", folder("example", "arguments"))
    status, out, err = compare(*sides, *FEW, "--any-method", "--neighbours", "x", "--json")
    said = json.loads(out)
    assert (status, said["passed"], said["correct"]) == (1, False, True), err
    assert said["neighbours"]["found"][0]["called"] == "row 0 alone"
    status, out, err = compare(*sides, "--neighbours", "x", "--isolated")
    assert status == 2 and "in this process" in err and err.count("\n") == 1, err


@pytest.mark.exhaustive
def test_kernelbench(folder):
    status, out, err = compare(folder("problem"), folder("solution"), "--any-method")
    assert status == 0, out + err
    status, out, err = compare(folder("problem"), folder("outside"))
    assert status == 1
    assert "tiny values" in out and "of the points" not in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("reference:softmax", "mine:softmax"), "--arguments FILE.py:NAME"),
        (("reference:softmax", "mine:softmaks", "--like", "silu"), "has no function softmaks; it has softmax"),
        (("reference:softmax", "mine:softmax", "--like", "sillu"), "no exercise sillu"),
        (("problem", "solution", "--like", "silu"), "those of get_inputs"),
        (("problem", "mine"), "has no function ModelNew"),
        (("reference", "mine"), "to compare two functions write"),
        (("reference", "mine:softmax"), "names no function: write"),
        (("solution", "problem"), "name the file with Model, get_inputs, get_init_inputs first"),
        (("reference:softmax", "mine:launched", "--like", "silu"), "does not take the 1 arguments"),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, says):
    names = [folder(*a.split(":")) if a[0] != "-" and "sil" not in a else a for a in arguments]
    status, _, err = compare(*names)
    assert status == 2 and says in err and err.count("\n") == 1, err


@pytest.mark.exhaustive
def test_a_failing_assertion_shows_the_report_and_its_lines_run(folder, tmp_path):
    """In anybody's pytest; the lines are pasted into Python as they stand there."""
    names = f"{folder('reference').removesuffix('.py')}", f"{folder('mine').removesuffix('.py')}"
    test = f"""
        import torch
        from graded_kernels.autograder import compare
        from {names[0]} import softmax
        from {names[1]} import calls_it

        def wrong(x):
            return calls_it(x) * (1 + 1e-3)

        def test_it():
            assert compare(softmax, wrong, torch.arange(12.0).reshape(3, 4).log1p())
    """
    (tmp_path / "test_it.py").write_text(textwrap.dedent(test))
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_it.py"], capture_output=True, text=True)
    assert ran.returncode == 1 and "graded-kernels" in ran.stdout, ran.stdout + ran.stderr
    shown = ran.stdout.partition("- graded-kernels -")[2].splitlines()
    begin = next(n for n, line in enumerate(shown) if line.startswith("from graded_kernels"))
    example = "import torch\narguments = torch.arange(12.0).reshape(3, 4).log1p()\n"
    lines = example + "\n".join(shown[begin : begin + 3])
    again = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    got, right = (float(word.strip("tensor(),")) for word in again.stdout.replace(", dtype=torch.float64", "").split())
    assert got == pytest.approx(right * (1 + 1e-3), abs=5e-5), lines + again.stderr  # four digits are printed


@pytest.mark.exhaustive
@pytest.mark.parametrize("more", [(), ("--isolated",)])
def test_the_lines_of_the_shell_and_of_json_run(folder, more):
    sides = (folder("reference", "softmax"), folder("mine", "padded_with_zeros"))
    example = ("--arguments", folder("example", "arguments"))
    shown = compare(*sides, *example, *more)[1].splitlines()
    begin = next(n for n, line in enumerate(shown) if line.startswith("from graded_kernels"))
    report = json.loads(compare(*sides, *example, *more, "--json")[1])
    case = next(case for case in report["cases"] if case["status"] == "fail")
    assert shown[begin : begin + 3] == case["repeat"].splitlines()
    again = subprocess.run([sys.executable, "-c", case["repeat"]], capture_output=True, text=True)
    got, right = (float(word.strip("tensor(),")) for word in again.stdout.replace(", dtype=torch.float64", "").split())
    assert got == pytest.approx(case["failure"]["got"], abs=5e-5), again.stderr
    assert right == pytest.approx(case["failure"]["expected"], abs=5e-5) and abs(got - right) > 1e-3


CUDA = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.ones(x.shape[-1], device="cuda") * 2

def get_inputs():
    return [torch.rand(4, 48).cuda()]

def get_init_inputs():
    return []
"""
ON_A_GPU = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32), mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda and x.is_contiguous()
        with torch.cuda.device(x.device):
            y = torch.empty_like(x, dtype=torch.float32)
            if x.numel():
                kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
            torch.cuda.synchronize()
        return y
"""


@pytest.mark.parametrize("more", [FEW, pytest.param(("--isolated",), marks=pytest.mark.exhaustive)])
def test_a_program_for_cuda(folder, tmp_path, more):
    (tmp_path / "cuda_problem.py").write_text(CUDA)
    (tmp_path / "cuda_solution.py").write_text(ON_A_GPU)
    status, out, err = compare("cuda_problem.py", "cuda_solution.py", *more)
    assert status == 0, out + err
    assert "Computes: in its own kernels." in out
