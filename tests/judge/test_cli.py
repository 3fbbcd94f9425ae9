"""The command line: exit status, what lands on stdout and on stderr, and answers that misbehave."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from forked import forked
from graded_kernels.autograder import cli, runner
from graded_kernels.autograder.judge.commands import one_file
from graded_kernels.autograder.runner import Answer, Cell, Isolated, Limits, PackageModule, SandboxError
from graded_kernels.solutions import silu as right

CANDLE = """
import torch

def silu_backward(dy, x):
    y = x * torch.sigmoid(x)
    s = y / x
    return dy * (s * (1 + x * (1 - s)))
"""
REFUSED = "import torch\n\n\ndef silu_backward(dy, x):\n    return torch.ops.aten.silu_backward(dy, x)\n"
NOISE = """
import atexit, ctypes, os
print("from Python")
os.write(1, b"from a file descriptor\\n")
libc = ctypes.CDLL(None)
libc.puts(b"from C")
libc.fflush(None)
atexit.register(print, "from an exit handler")
"""


@pytest.fixture
def answer(tmp_path):
    def write(source, name="answer.py"):
        path = tmp_path / name
        path.write_text(source, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "arguments, remedy",
    [
        (["silu_bakward", "answer.py"], "did you mean silu_backward"),
        (["softmax", "answer.py"], "any other function: graded-kernels compare"),
        (["silu_backward", "nowhere.py"], "there is no file"),
        (["answer.py", "silu_backward"], "the exercise comes first: check silu_backward answer.py"),
        (["silu_backward", "chapter.ipynb"], "chapter.ipynb is a notebook, not Python: run the check cell"),
        (["silu_forward", "answer.py"], "defines no function silu_forward"),
        (["silu_backward", "answer.py", "--backend", "cuda"], "torch and triton, not in 'cuda'"),
        (["silu_witness", "witness.py", "--backend", "triton"], "torch, not in 'triton'"),
    ],
)
def test_wrong_usage_names_the_remedy(arguments, remedy, answer, monkeypatch, tmp_path, called):
    answer(CANDLE)
    answer("def silu_witness(): pass", "witness.py")
    answer('{"cells": []}', "chapter.ipynb")
    monkeypatch.chdir(tmp_path)
    done = called("check", *arguments)
    assert done.returncode == 2
    assert remedy in done.stderr
    assert not done.stdout


def test_a_right_answer_passes_and_a_wrong_one_does_not(answer, called):
    passed = called("check", "silu_backward", right.__file__)
    assert passed.returncode == 0, passed.stdout
    assert passed.stdout.startswith("silu_backward (torch): passed")
    assert "does not import triton" in passed.stderr
    failed = called("check", "silu_backward", answer(CANDLE), "--backend", "torch")
    assert failed.returncode == 1
    places = [failed.stdout.index(part) for part in ("not passed", "huggingface/candle#2082", "cases passed.")]
    assert places == sorted(places)
    assert "\033[" not in failed.stdout


def test_json_is_one_object_whatever_the_answer_prints(answer):
    noisy = NOISE + CANDLE.replace("    s =", "    print(x)\n    s =")
    done = forked("check", "silu_backward", answer(noisy), "--json", "--in-process")
    data = json.loads(done.stdout, parse_constant=pytest.fail)
    assert done.returncode == 1
    assert data["passed"] is False
    assert 0 <= data["score"] < 1
    assert data["exercise"] == "silu_backward"
    assert data["backend"] == "torch"
    assert "candle 0.4.1-0.5.0" in data["fingerprint"]
    for noise in ("from Python", "from a file descriptor", "from C", "from an exit handler", "tensor("):
        assert noise in done.stderr


@pytest.mark.parametrize(
    "source, message",
    [
        ("def silu_backward(dy, x:\n    return dy", "This is not Python, line 1"),
        ("import sys\nsys.exit(0)\ndef silu_backward(dy, x): ...", "exit(0)"),
        ("import sys\ndef silu_backward(dy, x):\n    sys.exit(0)", "exit"),
        ("raise ValueError('\\x1b[2J silu_backward')", "ValueError: \\x1b[2J"),
        ("silu_backward = 3", "no function silu_backward"),
        ("def silu_backward(dy, x):\n    return x + nothing", "NameError"),
        (REFUSED, "Line 5, `return torch.ops.aten.silu_backward(dy, x)`: You called silu_backward"),
    ],
    ids=["syntax", "exit while loading", "exit", "raises while loading", "no function", "raises", "refused"],
)
def test_a_file_that_cannot_be_graded_fails_with_a_sentence(source, message, answer, called):
    done = called("check", "silu_backward", answer(source), "--backend", "torch", "--in-process")
    assert done.returncode == 1, done.stderr
    assert message in " ".join(done.stdout.split())
    assert "not passed, 0 % of the points" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_stub_is_told_so_in_two_lines(answer, called):
    stub = "def silu_backward(dy, x):\n    ...  # YOUR CODE HERE"
    done = called("check", "silu_backward", answer(stub), "--backend", "torch")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2
    assert "not implemented yet" in done.stdout


@pytest.mark.parametrize(
    "text, imported, backend, says",
    [
        ("import torch, triton, triton.language as tl", [], "triton", ": the file imports triton"),
        ("import torch\nimport triton.language as tl", [], "triton", ": the file imports triton"),
        ("import torch  # import triton", [], "torch", "does not import triton"),
        ("from .language import tl", ["import triton"], "triton", "a file that it imports imports triton"),
    ],
)
def test_the_backend_follows_the_imports(text, imported, backend, says, capsys):
    modules = tuple(PackageModule(f"m{i}", f"m{i}.py", source) for i, source in enumerate(imported))
    answer = Answer("f", (Cell("f.py", text),), modules=modules)
    assert one_file.likely_backend(("torch", "triton"), answer) == backend
    assert says in capsys.readouterr().err


def test_an_only_backend_is_taken_in_silence(capsys):
    assert one_file.likely_backend(("torch",), Answer("f", (Cell("f.py", "import triton"),))) == "torch"
    assert not capsys.readouterr().err


ESCAPE = """
import os, pathlib, torch
print("loaded")
pathlib.Path({trace!r}).write_text("out")

def silu_backward(dy, x):
    os._exit(0)
"""


def test_answers_are_isolated_unless_asked(answer, called, tmp_path):
    """What an answer writes stays in its worker, and an answer that ends its process ends nobody else's."""
    trace = tmp_path / "trace"
    path = answer(ESCAPE.format(trace=str(trace)))
    done = called("check", "silu_backward", path, "--json")
    if "cannot be isolated" in done.stderr:
        pytest.skip(f"not run: {done.stderr.strip()}")
    data = json.loads(done.stdout)
    assert (done.returncode, data["passed"], data["score"]) == (1, False, 0)
    assert not trace.exists()


@pytest.mark.parametrize("moment", ["start", "call"])
def test_what_cannot_be_isolated_is_not_run(moment, answer, called, monkeypatch, tmp_path):
    """Neither where isolation cannot start nor where it fails in the middle, which an answer may bring about."""

    def fails(*args, **kwargs):
        raise SandboxError("the worker did not start: no reason given")

    monkeypatch.setattr(Isolated, "__init__" if moment == "start" else "examine", fails)
    trace = tmp_path / "trace"
    path = answer(f"import pathlib\npathlib.Path({str(trace)!r}).write_text('ran')\n{CANDLE}")
    done = called("check", "silu_backward", path, "--json")
    assert done.returncode == 2
    assert not trace.exists()
    assert not done.stdout
    assert "cannot be isolated: the worker did not start" in done.stderr
    assert "--in-process" in done.stderr


@pytest.mark.parametrize("where", [[], ["--in-process"]], ids=["isolated", "in process"])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("raise ValueError('at the end')", "ValueError: at the end"),
        ("import a_module_that_is_missing", "No module named 'a_module_that_is_missing'"),
        ("raise SystemExit(0)", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_imported_does_not_pass(line, says, where, answer, called):
    """Its function is right and defined by then, and nobody could import it."""
    path = answer(f"{Path(right.__file__).read_text()}\n\n{line}\n")
    done = called("check", "silu_backward", path, "--backend", "torch", "--json", *where)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["score"] == 0
    assert says in report["summary"]


def test_a_file_that_compares_itself_with_pytorch_passes(answer, called):
    """The operator is refused in an answer; what compares with it while the file is imported runs all the same."""
    compares = "y = torch.nn.functional.silu(torch.ones(3))\nassert y.shape == (3,)\n"
    path = answer(f"import torch\n{compares}{Path(right.__file__).read_text()}")
    assert called("check", "silu_backward", path, "--backend", "torch").returncode == 0


def test_what_runs_only_as_a_script_is_not_part_of_an_answer(answer):
    source = Path(right.__file__).read_text() + "\n\nif __name__ == '__main__':\n    raise SystemExit(0)\n"
    assert Answer.read(answer(source), "silu_backward").load().__name__ == "silu_backward"


def test_an_isolated_candle_is_named(answer, called):
    done = called("check", "silu_backward", answer(CANDLE), "--backend", "torch", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert "candle 0.4.1-0.5.0" in data["fingerprint"]


@pytest.mark.exhaustive
def test_an_isolated_answer_gets_new_numbers_unless_a_seed_is_given(answer, called):
    """But for distinctions: this answer is near their limit, and is called on numbers of no seed, too."""
    path = answer(CANDLE)
    seeds = [
        json.loads(called("check", "silu_backward", path, "--json").stdout)["environment"]["seed"] for _ in range(2)
    ]
    assert seeds[0] != seeds[1]
    first, again, other = (
        json.loads(called("check", "silu_backward", path, "--json", "--seed", seed).stdout)
        for seed in (seeds[0], seeds[0], seeds[1])
    )
    same = [[case for case in report["cases"] if not case["bonus"]] for report in (first, again)]
    assert same[0] == same[1]
    assert first["environment"] == again["environment"]
    assert [c["worst_ulp"] for c in first["cases"]] != [c["worst_ulp"] for c in other["cases"]]
    assert (
        json.loads(called("check", "silu_backward", path, "--json", "--in-process").stdout)["environment"]["seed"] == 0
    )


@pytest.mark.exhaustive
def test_a_limit_in_seconds_is_processor_time(answer, called, monkeypatch):
    monkeypatch.setattr(runner, "Limits", partial(Limits, wall_factor=1000.0))  # however busy the machine is
    path = answer("def silu_backward(dy, x):\n    while True:\n        pass\n")
    ran = called("check", "silu_backward", path, "--seconds", "0.5", "--json")
    report = json.loads(ran.stdout)
    assert ran.returncode == 1
    assert report["timed_out"] is True
    assert report["cases"][0]["message"].startswith("The call took more than 0.5 s of processor time")
    path.write_text(f"while True:\n    pass\n{CANDLE}")
    ran = called("check", "silu_backward", path, "--total-seconds", "0.5", "--json")
    assert json.loads(ran.stdout)["stopped_in"]["cell"] == str(path)


@pytest.mark.parametrize("number", ["0", "-1", "soon", "inf", "nan"])
def test_a_limit_that_is_not_a_time_is_wrong_usage(answer, capsys, number):
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "silu_backward", str(answer(CANDLE)), f"--seconds={number}"])
    assert ended.value.code == 2
    assert f"'{number}' is not a number of seconds above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["check", "silu_backward", "a.py", "--in-process"],
        pytest.param(["compare", "a.py:f", "a.py:f"], marks=pytest.mark.exhaustive),
    ],
)
def test_a_command_does_not_look_through_its_imports(words, tmp_path):
    (tmp_path / "a.py").write_text("")
    code = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 200_000))\n"
    code += f"from graded_kernels.autograder.cli import main\nassert main({words}) == 2\n"
    code += "print(gc.isenabled(), gc.get_freeze_count() > 100_000)\n"
    code += "gc.unfreeze()\nmore = [[] for _ in range(200_000)]\n"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert f"{ran.stdout}{ran.stderr}".count("True") == 3, ran.stderr


def test_a_family_of_compare_may_begin_with_a_minus():
    words = ["compare", "a.py:f", "b.py:f", "--without", "-infinity", "--without", "NaN"]
    assert cli.parser().parse_args(cli.joined(words)).without == ["-infinity", "NaN"]
    assert cli.joined(["sanitize", "p.py", *words[3:]]) == ["sanitize", "p.py", *words[3:]]
