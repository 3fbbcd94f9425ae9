"""The compiler's process: what it is kept from at every level, and what a kernel that ends or fills it costs."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from compiler_kernels import BODY, HEADER, SCALE, SM_90, cache, described, row_of  # noqa: F401
from graded_kernels.autograder.gpu import Target
from graded_kernels.autograder.runner.sandbox import Compiler, Limits, Worker, launcher, paths, probe, roles
from graded_kernels.autograder.runner.sandbox import compiler as sandbox_compiler
from graded_kernels.autograder.runner.sandbox.probe import LEVELS

BEST = probe().level
HERE = [level for level in LEVELS if BEST and LEVELS.index(level) <= LEVELS.index(BEST)]


def on(levels: list[str]):
    """The best level in `make test`, the others in `make test-all`."""
    marks = [pytest.param(level, marks=() if level == BEST else pytest.mark.exhaustive) for level in levels]
    return pytest.mark.parametrize("level", marks)


EVERY_LEVEL, WALLED = on(HERE), on([level for level in HERE if level != "weak"])
TARGETS = Target.named("all")
AMD = TARGETS[-1:]

# Every kernel is refused that names what is not on the list. Whoever gets past the list is still behind the wall.
WITHOUT_LIST = "\n\ndef check_names(name, tree, names): ...\n"

LOOT = """
import ctypes, glob, os, socket, subprocess, sys
loot = []
for number, attempt in enumerate([
    lambda: open({secret!r}).read(),
    lambda: open({secret!r}, "a").write("x"),
    lambda: os.unlink({secret!r}),
    lambda: os.listdir({folder!r}),
    lambda: open("/etc/passwd").read(),
    lambda: open({answers!r}).read(),
    lambda: socket.create_connection(("127.0.0.1", {port}), 1),
    lambda: os.kill(os.getppid(), 0),
    lambda: os.kill({pid}, 0),
    lambda: open("/proc/{pid}/environ").read(1),
    lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True),
    lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
    lambda: os.chmod({folder!r}, 0o777),
    lambda: open("/tmp/graded_kernels_attack", "w"),
    lambda: os.environ["GRADED_KERNELS_TEST_SECRET"],
]):
    try:
        attempt()
        loot.append(number)
    except BaseException:
        pass
own = open(os.environ["TMPDIR"] + "/own", "w")
raise RuntimeError(f"got {{loot}} and wrote {{own.name}}")
"""


FIRST = """
import os, sys
os.environ["TRITON_INTERPRET"] = "0"
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from graded_kernels.autograder.runner.sandbox.worker import compiling

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)

compiling.prepare()
known = set(sys.modules)
for target in (GPUTarget("hip", "gfx942", 64), GPUTarget("cuda", 90, 32), GPUTarget("cuda", 100, 32)):
    triton.compile(ASTSource(kernel, {"x_ptr": "*fp32"}, {}), target=target)
print([name for name in sys.modules if name.startswith("triton.") and name not in known])
"""


@pytest.mark.exhaustive
def test_a_child_that_compiles_finds_everything_imported(tmp_path):
    """Children are forked for each answer: what one imports, each of them would."""
    (tmp_path / "first.py").write_text(FIRST)
    around = {name: value for name, value in os.environ.items() if not name.startswith("TRITON")}
    around |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "first.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=around, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def machine_without_list(tmp_path, monkeypatch):
    """A copy of the grader's machine that lets a kernel use any name."""
    copy = tmp_path / "machine" / "autograder"
    shutil.copytree(paths.GRADER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with open(copy / "gpu" / "compiler" / "name_check.py", "a") as file:
        file.write(WITHOUT_LIST)
    monkeypatch.setattr(paths, "GRADER", copy)
    monkeypatch.setattr(launcher, "_SCRIPT", str(copy / "runner" / "sandbox" / "worker" / "main.py"))


@WALLED
def test_python_in_the_compiler_reaches_nothing(level, machine_without_list, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADED_KERNELS_TEST_SECRET", "token")
    secret = tmp_path / "gradebook.db"
    secret.write_text("full marks")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = LOOT.format(
            secret=str(secret),
            folder=str(tmp_path),
            answers=str(paths.PACKAGE / "solutions" / "silu.py"),
            port=server.getsockname()[1],
            pid=os.getpid(),
        )
        text = f"tensordesc<fp32[16],exec(bytes.fromhex('{code.encode().hex()}').decode())"
        source = HEADER + BODY.format(f"tl.str_to_ty({text!r}.value, None)\n    y = x")
        with Compiler(level) as compiler:
            row = row_of(compiler.report([described(source)], SM_90))
    assert row["status"] == "fail", row
    assert "got [] and wrote" in row["message"], row
    assert secret.read_text() == "full marks"


INCLUDE = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.inline_asm_elementwise('.{} "{}"\\nv_mov_b32 $0, $1', '=v,v', [x], tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + offsets, y)
"""


@WALLED
def test_an_assembler_includes_no_file_of_the_teachers(level, machine_without_list, tmp_path):
    secret = tmp_path / "tests.s"
    secret.write_text("v_nop\n")
    visible = paths.GRADER / "gpu" / "compiler" / "visible.s"  # what the process may read it may include
    visible.write_text("v_nop\n")
    with Compiler(level) as compiler:
        for directive in ("include", "incbin"):
            sources = [HEADER + INCLUDE.format(directive, path) for path in (visible, secret)]
            rows = compiler.report([described(source) for source in sources], AMD)["targets"]
            assert [row["status"] for row in rows] == ["pass", "fail"], rows


@EVERY_LEVEL
def test_with_the_list_no_rung_includes_a_file(level, tmp_path):
    (tmp_path / "tests.s").write_text("v_nop\n")
    with Compiler(level) as compiler:
        source = HEADER + INCLUDE.format("include", tmp_path / "tests.s")
        row = row_of(compiler.report([described(source)], AMD))
    assert row["status"] == "fail", row
    assert "quotation marks" in row["message"], row


def test_the_compiler_of_an_answer_runs_on_its_level():
    with Worker(HERE[0]) as worker:
        assert worker.compiler.level == HERE[0]
        assert worker.compiler is worker.compiler


@EVERY_LEVEL
def test_one_kernel_finds_nothing_of_another(level):
    """The folder is the same, and empty when a child begins."""
    with Compiler(level) as compiler:
        for factor in (2.0, 3.0):
            source = HEADER + SCALE.replace("2.0", f"{factor} + {HERE.index(level)}")
            assert compiler.report([described(source, "scale_kernel")], SM_90)["status"] == "pass"
            assert os.listdir(compiler._folder.name) == []
        folder = compiler._folder.name
    assert not os.path.exists(folder)


CONSTRAINT = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if n < 0:
        x = tl.inline_asm_elementwise("mov $0, $1;", "=q,q", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + offsets, x)
"""


@EVERY_LEVEL
def test_a_kernel_that_ends_the_compiler_fails_and_takes_no_other_along(level):
    deadly, fine = described(HEADER + CONSTRAINT), described(HEADER + SCALE, "scale_kernel")
    with Compiler(level) as compiler:
        report = compiler.report([deadly, fine], TARGETS)
    results = {(row["kernel"], row["target"]): (row["status"], row["message"]) for row in report["targets"]}
    for target in TARGETS:
        assert results["scale_kernel", target.name] == ("pass", "")
        status, message = results["kernel", target.name]
        assert status == "fail", message
        assert "the compiler crashed on it" in message, message


ENDLESS = BODY.format("for i in tl.static_range(10_000_000):\n        x += i\n    y = x")
HUGE = BODY.format("t = (0, 0)\n    for i in tl.static_range(40):\n        t = t + t\n    y = x")


def test_forms_that_never_end_meet_their_own_limit_before_that_of_all():
    """Of the second nothing follows: as many as run at a time must not use it up together."""
    assert sandbox_compiler.LIMITS.seconds * sandbox_compiler.MOST < sandbox_compiler.LIMITS.total_seconds


@pytest.mark.exhaustive
def test_all_kernels_of_an_answer_share_one_clock():
    """A clock that the first kernel uses up, and two that are never compiled."""
    sources = [HEADER + ENDLESS, HEADER + ENDLESS.replace("+=", "-="), HEADER + SCALE.replace("scale_kernel", "kernel")]
    with Compiler(limits=Limits(seconds=60, total_seconds=3.0)) as compiler:
        report = compiler.report([described(source) for source in sources], SM_90)
    assert [row["status"] for row in report["targets"]] == ["not-run"] * 3
    assert all("took more than 3 s" in r["message"] for r in report["targets"])


@pytest.mark.parametrize(
    ("body", "limits", "words"),
    [
        pytest.param(ENDLESS, Limits(seconds=2.0), "more than 2 s", id="time"),
        pytest.param(HUGE, Limits(seconds=60, memory=512 << 20), "emory", id="memory", marks=pytest.mark.exhaustive),
    ],
)
def test_a_kernel_that_takes_too_long_or_too_much_memory_fails_alone(body, limits, words, tmp_path, monkeypatch):
    """Each alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    both = [described(HEADER + body), described(HEADER + SCALE, "scale_kernel")]
    with Compiler(limits=limits) as compiler:
        rows = compiler.report(both, SM_90)["targets"]
    assert [(row["status"], words in row["message"]) for row in rows] == [("fail", True), ("pass", False)], rows
    assert [row["slow"] for row in rows] == [body is ENDLESS, False]


def test_a_tool_that_is_missing_is_no_fault_of_the_kernel(monkeypatch, tmp_path):
    report = without("ptxas", monkeypatch, tmp_path)
    assert report["status"] == "not-run", report
    assert "ptxas" in report["reason"], report
    kept = [json.loads(path.read_text()) for path in tmp_path.glob("**/*.json")]
    assert [one["registers"] for one in kept] == [None], "what the front end made"


def without(missing: str, monkeypatch, tmp_path: Path) -> dict:
    """The report on a kernel where this program cannot be started."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if "good" not in HERE or not probe().has("landlock"):
        pytest.skip(f"not run: this machine does not say which programs may start. {probe()}")
    there = tuple(tool for tool in roles.tools() if not tool.endswith(missing))
    assert there != roles.tools()
    monkeypatch.setattr(roles, "tools", lambda: there)
    with Compiler() as compiler:
        return compiler.report([described(HEADER + SCALE, "scale_kernel")], SM_90)


def test_a_worker_that_makes_answers_up_is_not_believed(machine_without_list, tmp_path, monkeypatch):
    """What the compiler's process says is data of a known form, or void."""
    with Compiler() as compiler:
        for reply in ("{}", '{"result": {"registers": "many"}}', '{"message": 1}', "nonsense", "[" * 10_000):
            code = f"import os\nos.write(7, {reply + chr(10)!r}.encode())\nos._exit(0)"
            text = f"tensordesc<fp32[16],exec(bytes.fromhex('{code.encode().hex()}').decode())"
            source = HEADER + BODY.format(f"tl.str_to_ty({text!r}.value, None)\n    y = x")
            row = row_of(compiler.report([described(source)], SM_90))
            assert row["status"] == "fail", (reply, row)
            assert "not a result" in row["message"], (reply, row)
