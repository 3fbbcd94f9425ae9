"""A machine without Triton, such as a Mac: PyTorch answers are checked, and what needs a kernel says where it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANSWER = ROOT / "solutions" / "silu.py"
PROGRAM = f"""
import contextlib, io, json, sys

sys.path.insert(0, {str(ROOT / "tests" / "material")!r})
import without_triton

import torch
from graded_kernels.autograder import check, cli, compare
from graded_kernels.autograder.gpu.interpret import NotRun
from graded_kernels.autograder.gpu.sanitize import program_process
from graded_kernels.kernels import silu
from graded_kernels.solutions.silu import silu_backward

def half(dy, x):
    dx = torch.empty_like(x)
    dx.view(-1)[: x.numel() // 2] = silu_backward(dy, x).reshape(-1)[: x.numel() // 2]
    return dx

def command(*arguments):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(arguments)
    return status, said.getvalue()

right, unwritten = check("silu_backward", silu_backward), check("silu_backward", half)
try:
    check("axpy", half, backend="triton")
except NotRun as error:
    kernel = str(error)
try:
    compare(torch.sin, torch.sin, torch.ones(3))
except NotRun as error:
    comparison = str(error)
try:
    program_process.run(dict(), None)
except program_process.Unusable as error:
    sanitizer = str(error)
found = dict(
    right=right.passed,
    scored=right.to_dict()["score"],
    unwritten=str(unwritten),
    witness=check("silu_witness", lambda: (torch.ones(3), torch.zeros(3))).passed,
    no_witness=check("silu_witness", lambda: (torch.ones(3), torch.ones(3))).passed,
    kernel=kernel,
    comparison=comparison,
    sanitizer=sanitizer,
    library=silu(torch.zeros(3)).tolist(),
    listed=command("list"),
    trusted=command("check", "silu_backward", {str(ANSWER)!r}, "--in-process", "--details"),
    isolated=command("check", "silu_backward", {str(ANSWER)!r}),
    compared=command("compare", "a.py:f", "b.py:f"),
    sanitized=command("sanitize", "program.py"),
    imported="triton" in sys.modules,
)
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("without_triton") / "found.json"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()) | {"printed": done.stdout}


def test_a_pytorch_answer_is_checked(found):
    assert found["right"] and found["scored"] == 1
    said = " ".join(found["unwritten"].split())
    assert "were never written" in said and "`torch.empty` promises no values" in said
    assert (found["witness"], found["no_witness"]) == (True, False)
    assert found["imported"] is False


def test_a_kernel_is_not_run(found):
    for said in (found["kernel"], found["comparison"], found["sanitizer"]):
        assert said.startswith("Triton is not installed: it has packages for Linux alone.")


def test_the_library_computes_with_pytorch(found):
    assert found["library"] == [0.0, 0.0, 0.0]


def test_the_command_line_says_what_does_not_run(found):
    assert found["listed"][0] == 0 and "silu_backward" in found["listed"][1]
    assert found["trusted"][0] == 0 and ", no triton," in found["printed"]
    status, said = found["isolated"]
    assert status == 2 and "made for Linux with Triton" in said and "--in-process" in said
    status, said = found["compared"]
    assert status == 2 and "Triton is not installed" in said and "Traceback" not in said
    assert found["sanitized"][0] == 2
