"""The worker and its layers: what holds, and how one finds out that something does not."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Job, Verdict, make_verdict
from graded_kernels.autograder.runner import sandbox
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.sandbox import (
    Isolated,
    Limits,
    SandboxError,
    Worker,
    launcher,
    paths,
    probe,
    roles,
)
from graded_kernels.kernels.wild import silu as wild
from isolation import RIGHT, X, isolated

pytestmark = pytest.mark.skipif(probe().level is None, reason=f"not run: {probe()}")

EXHAUSTIVE = pytest.mark.exhaustive
PROBE = sys.modules[probe.__module__]  # the package shows the function under the module's name


# Layers


def test_a_layer_that_lets_something_through_does_not_count(monkeypatch):
    held = {"landlock": "", "seccomp": "a process was started", "limits": "", "bubblewrap": ""}
    monkeypatch.setattr(PROBE, "_tried", lambda *a, **k: dict(held))
    PROBE.probe.cache_clear()
    try:
        found = PROBE.probe()
        assert found.level == "weak"
        assert "seccomp: no (a process was started)" in str(found)
        with pytest.raises(SandboxError, match="isolated as weak, and good is asked for. seccomp: no"):
            PROBE.require("good")
        held.update(seccomp="", bubblewrap="not installed")
        PROBE.probe.cache_clear()
        assert PROBE.probe().level == "good"
    finally:
        PROBE.probe.cache_clear()


LISTS = """
    import os
    for folder, _, files in os.walk(ROOT):
        for name in files:
            if name.endswith(".py") and "/.venv/" not in folder:
                try:
                    print(open(os.path.join(folder, name)).read(0) + os.path.join(folder, name))
                except OSError:
                    pass
    for name in NAMED:
        try:
            print(open(name).read(0) + name)
        except OSError:
            pass
    return x * x.sigmoid()
"""


@pytest.mark.parametrize("level", [pytest.param("good", marks=EXHAUSTIVE), "strong"])
def test_of_the_project_the_rooms_alone_can_be_read(level):
    """Listed from inside, and opened by name, in case a folder that cannot be listed lets its files be opened."""
    if sandbox.LEVELS.index(probe().level) < sandbox.LEVELS.index(level):
        pytest.skip(f"not run: {probe()}")
    named = [str(path) for path in paths.PACKAGE.rglob("*.py") if ".venv" not in path.parts]
    source = "def silu_forward(x):" + LISTS.replace("ROOT", repr(str(paths.PACKAGE))).replace("NAMED", repr(named))
    with sandbox.Worker(level) as own, isolated(source, own) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        read = set(runner.printed.split())
    rooms = [paths.GRADER / room for room in paths.ROOMS]
    seen = {path for room in rooms for path in (room.rglob("*.py") if room.is_dir() else [room])}
    assert read == {str(path) for path in seen}


OF_THE_PROJECT = """
import importlib, json, sys
settings = json.loads(sys.argv[1])
sys.path += [settings["machine"] + "/runner/sandbox/worker", *settings["site"]]
importlib.import_module("main").make_packages(settings["machine"])
for name in ("runner.sandbox.worker.zygote", "runner.sandbox.worker.ROLE", *MODULES):
    module = importlib.import_module("graded_kernels.autograder." + name)
    getattr(module, "prepare", lambda: None)()
print(*(module.__file__ for module in [*sys.modules.values()] if getattr(module, "__file__", None)))
"""


@pytest.mark.parametrize(
    ("role", "modules"),
    [
        ("answering", ["gpu.cuda.shim", "runner.sandbox.worker.replay"]),
        ("compiling", ["gpu.compiler.device_libraries"]),
        ("escape_attempts", []),
    ],
)
def test_what_a_worker_imports_of_the_project_lies_in_the_rooms(role, modules, tmp_path):
    """Which are all that bubblewrap shows it while it starts. Where there is none, this holds their list complete."""
    code = OF_THE_PROJECT.replace("ROLE", role).replace("MODULES", repr(modules))
    command = [paths.interpreter(), "-I", "-S", "-B", "-c", code, json.dumps(launcher.locations())]
    environment = (roles.compiling(str(tmp_path)) if role == "compiling" else roles.answering()).environment
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stderr
    rooms = [paths.GRADER / room for room in paths.ROOMS]
    imported = [Path(file) for file in done.stdout.split() if file.startswith(f"{paths.GRADER}/")]
    assert {"answering": 60, "compiling": 10, "escape_attempts": 3}[role] < len(imported)
    assert [file for file in imported if not any(file.is_relative_to(room) for room in rooms)] == []


# Calls


def test_a_call_gives_what_the_function_gives(worker):
    with isolated(RIGHT, worker) as runner:
        outcome = runner.examine(Call((X,))).first
    assert outcome.trouble is None
    assert outcome.mutated == outcome.aliased == ()
    assert outcome.outputs[0].equal(X * torch.sigmoid(X))


TUPLE = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(a, both, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(both[0] + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(both[1] + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, (a * x + y).to(out.dtype.element_ty), mask=i < n)

def axpy(a, x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](a, (x, y), out, x.numel(), BLOCK=256)
    return out
"""


def verdict_on(source: str, worker: Worker, exercise: str, backend: str) -> Verdict:
    code = Answer(exercise, (Cell("cell", source),))
    return make_verdict(Job(code, backend, 0, Limits(wall_factor=1000.0)), worker)


def test_a_kernel_takes_tensors_in_a_tuple(worker):
    verdict = verdict_on(TUPLE, worker, "axpy", "triton")
    assert verdict.report["correct"], verdict.text
    assert verdict.report["efficient"], verdict.text
    assert "sm_90 kernel: up to" in verdict.text, "the compiler takes them, too"


def test_what_the_emulator_cannot_run_is_not_called_wrong(worker):
    assembly = 'tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,f", [a * x, y], tl.float32, True, 1)'
    verdict = verdict_on(TUPLE.replace("a * x + y", assembly), worker, "axpy", "triton")
    decided = [verdict.report[name] for name in ("passed", "score", "correct")]
    assert decided == [False, 0, None], verdict.text
    assert "no result" in verdict.text
    assert "The emulator cannot run this inline assembly" in verdict.text


def test_a_wild_bug_is_named_through_the_wall(worker):
    source = f"import torch\n\n\n{inspect.getsource(wild.silu_backward_divide_back)}"
    source += "\n\nsilu_backward = silu_backward_divide_back\n"
    report = verdict_on(source, worker, "silu_backward", "torch").report
    assert not report["passed"]
    assert "candle" in report["fingerprint"]


@pytest.mark.parametrize(
    "line",
    [
        "import matplotlib.pyplot as plt",
        "from matplotlib import pyplot as plt; plt.style.use('dark_background'); plt.rcParams['font.size'] = 9",
        "import matplotlib.pyplot as plt; figure, axes = plt.subplots(); axes.plot([1, 2], label='a'); plt.show()",
        "from matplotlib.colors import LogNorm; import matplotlib as mpl\nwith mpl.rc_context(): LogNorm(1, 2)",
    ],
)
def test_what_draws_is_imported_and_does_nothing(line, worker):
    """A chapter's own imports name it, and a cell may draw before or after it answers."""
    before = Cell("setup", f"{line}\nimport torch\n"), Cell("picture", "plt.plot([1, 2])\n")
    code = Answer("silu_forward", (*before, Cell("cell", f"{line}\n{RIGHT}")))
    with Isolated(code, EXERCISES["silu_forward"].contract, "torch", worker=worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("def silu_forward(x):\n    return None\n", "stub", "not implemented yet"),
        ("def silu_forward(x):\n    return x.missing\n", "raised", "AttributeError"),
        ("x = 1 /\n", "unloadable", "not Python, line 1"),
        ("from mine.kernels import (\n    silu\n)\n", "unloadable", "`from mine.kernels import silu` finds nothing"),
        (
            "import rapidfuzz.fuzz_cpp\n",
            "unloadable",
            "an answer can load none besides those of PyTorch",
        ),
        (
            "import torch\n\n\ndef silu_forward(x):\n    return torch.nn.functional.silu(x)\n",
            "refused",
            "You called silu",
        ),
        ("import os\n\n\ndef silu_forward(x):\n    os._exit(3)\n", "crashed", "ended its process with status 3"),
        ("import ctypes\n\n\ndef silu_forward(x):\n    ctypes.c_char.from_address(8).value\n", "crashed", "SIGSEGV"),
        ("def silu_forward(x):\n    while True:\n        pass\n", "timeout", "more than 0.4 s of processor time"),
    ],
)
def test_troubles_are_told_apart(source, kind, words, worker):
    with isolated(source, worker, seconds=0.4) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    assert trouble.kind == kind
    assert words in trouble.message


def test_a_crash_names_the_line(worker):
    source = "import ctypes\n\n\ndef silu_forward(x):\n    ctypes.c_char.from_address(8).value\n"
    with isolated(source, worker) as runner:
        assert 'File "<cell>", line 5 in silu_forward' in runner.examine(Call((X,))).first.trouble.details


def test_a_changed_input_is_seen_from_outside(worker):
    source = "def silu_forward(x):\n    y = x * x.sigmoid()\n    x[1] = -0.0\n    return y\n"
    with isolated(source, worker) as runner:
        assert runner.examine(Call((torch.zeros(3),))).first.mutated == ("x",)


def test_a_second_call_is_made_after_another(worker):
    source = (
        "calls = []\n\n\ndef silu_forward(x):\n    calls.append(x)\n    return x * x.sigmoid() + (len(calls) - 1)\n"
    )
    with isolated(source, worker) as runner:
        args = (X,)
        examined = runner.examine(Call(args))
        first, second = examined.first, examined.again
    assert second.outputs[0].equal(first.outputs[0] + 1)  # another one came first


def test_the_next_answer_finds_nothing_of_the_last_one(worker):
    marker = "ask me " + os.urandom(8).hex()
    with isolated(f'SECRET = "{marker}"\n{RIGHT}', worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
    search = (
        "import gc, linecache\n\n\ndef silu_forward(x):\n"
        "    seen = [s for o in gc.get_objects() for s in (o.values() if type(o) is dict else ()) if type(s) is str]\n"
        "    seen += [line for entry in linecache.cache.values() if len(entry) > 2 for line in entry[2]]\n"
        f"    print(sum({marker[:8]!r} + {marker[8:]!r} in s for s in seen))\n    return x * x.sigmoid()\n"
    )
    with isolated(search, worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        assert runner.printed.strip() == "0"


@pytest.mark.exhaustive
@pytest.mark.parametrize("use", ["torch.exp(x)", "torch.compile(torch.exp)(x)"])
def test_pytorchs_compiler_is_not_imported_in_an_answers_time(use):
    source = "import sys\nimport torch\nTHERE = 'torch._dyn' + 'amo' in sys.modules\n\n\n"
    source += f"def silu_forward(x):\n    {use}\n    raise RuntimeError(f'{{THERE}}, loaded')\n"
    with Worker() as own, isolated(source, own) as runner:
        reason = [
            runner.examine(Call((X,))).first.trouble.message,
            runner.examine(Call((X + 1,))).first.trouble.message,
        ]
    assert reason == [f"RuntimeError: {'compile' in use}, loaded"] * 2


GUARDLESS = """
import sys
for name, module in list(sys.modules.items()):
    if name.endswith("call.guards"):
        module.OperatorWatch.__torch_dispatch__ = lambda self, func, types, args=(), kw=None: func(*args, **(kw or {}))
"""
LATE = """
import torch

def silu_forward(x):
    __import__(NAME)
    attention = torch.ops.onnx.Attention.opset23
    raise SystemExit(f"called: {attention(*[x.reshape(1, 1, -1, 1)] * 3, qk_matmul_output_mode=1)[0].shape}")
"""


@pytest.mark.parametrize("name", ["'torch._dynamo'", "'torch._dyn' + 'amo'"])
def test_an_operator_that_a_late_import_registers_is_closed(name, worker):
    """In the worker, for an answer that names the import, and in the answer's own process."""
    hidden = f"{GUARDLESS}{LATE.replace('NAME', name)}"
    with isolated(hidden, worker) as runner:
        reason = runner.examine(Call((X,))).first.trouble.message
    assert "called:" not in reason
    assert "is not among the operators" in reason or "registers no operators" in reason


def test_an_answer_that_registers_an_operator_is_told_where_it_may_stand(worker):
    source = (
        "import torch\n\n\n@torch.library.custom_op('mine::silu', mutates_args=())\n"
        "def silu_forward(x: torch.Tensor) -> torch.Tensor:\n    return x * torch.sigmoid(x)\n"
    )
    with isolated(source, worker) as runner:
        reason = runner.examine(Call((X,))).first.trouble.message
    assert "keep what registers them in a module that the answer does not import" in reason


def test_what_pytorch_imports_for_a_gradient_is_there_before(worker):
    """Else each process of an answer whose gradient is asked for imports sympy, half a second long."""
    source = "import sys\nimport torch\n\nprint('sympy' in sys.modules)\n"
    source += "def silu_function(x):\n    return torch.tanh(x)\n"
    with isolated(source, worker, exercise="silu_function") as runner:
        runner.examine(Call((X,)))  # and is refused: PyTorch differentiates it
        assert runner.printed.split() == ["True"]


def test_a_weak_sandbox_is_used_only_when_asked_for(monkeypatch):
    weak = sandbox.Probe((sandbox.Layer("seccomp", False, "no"),), "weak")
    monkeypatch.setattr(PROBE, "probe", lambda: weak)
    with pytest.raises(SandboxError, match="good is asked for"):
        PROBE.require("good")
    assert PROBE.require("weak") is weak
