"""What a call may take: time, memory, output. Each limit has a sentence of its own, and ends nothing but the call."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Job, make_verdict
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.sandbox import Budget, Isolated, Limits, Worker, probe
from graded_kernels.autograder.runner.sandbox.watch import Child
from graded_kernels.autograder.runner.sandbox.worker import linux

pytestmark = pytest.mark.skipif(probe().level is None, reason=f"not run: {probe()}")

SILU = EXERCISES["silu_forward"]
MIB = 1 << 20
X = torch.tensor([0.0, -0.5, 3.0])
RIGHT = "    return x * x.sigmoid()\n"
HALVES = "def silu_forward(x):\n    v = x.float()\n    return (v * v.sigmoid()).to(x.dtype)\n"
PATIENT = {"wall_factor": 1000.0}  # where processor time is the limit, however many others want the processor


def isolated(body: str, worker: Worker, notebook: Budget | None = None, **limits) -> Isolated:
    source = f"import ctypes, sys, time\nimport torch\n\ncalls = []\n\n\ndef silu_forward(x):\n{body}{RIGHT}"
    code = Answer("silu_forward", (Cell("cell", source),))
    record = EXERCISES["silu_forward"]
    return Isolated(
        code,
        record.contract,
        "torch",
        limits=Limits(**PATIENT | limits),
        notebook=notebook,
        worker=worker,
    )


def compute(seconds: str) -> str:
    """Takes so much of a processor, however many others want it."""
    return f"    until = time.process_time() + {seconds}\n    while time.process_time() < until:\n        pass\n"


def test_a_call_that_computes_too_long_is_ended(worker):
    with isolated("    while True:\n        pass\n", worker, seconds=0.5) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    expected = "The call took more than 0.5 s of processor time, which is the most allowed."
    assert (trouble.kind, trouble.message, trouble.cell) == ("timeout", expected, "")


def test_a_call_that_waits_for_its_turn_is_not_ended(worker):
    """As one does on a busy machine: time goes by, and none of it is a processor's."""
    with isolated("    time.sleep(1.5)\n", worker, seconds=0.7) as runner:
        assert runner.examine(Call((X,))).first.trouble is None


def test_a_call_that_waits_for_ever_is_ended_by_the_clock(worker):
    with isolated("    time.sleep(3600)\n", worker, seconds=1.0, wall_factor=2.0) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    expected = "The call did not end within 2 s by the clock. Most of that time nothing was computed: "
    assert (trouble.kind, trouble.message) == ("timeout", expected + "does something sleep, or wait?")


def test_every_call_has_its_own_time(worker):
    """Three calls in one process, each within the limit, all of them beyond it."""
    with isolated(compute("0.15"), worker, seconds=0.4) as runner:
        runner.examine(Call((X,)))
        later = runner.examine(Call((X.clone(),)))
        assert later.first.trouble is None
        assert later.again.trouble is None


def test_a_later_call_that_takes_too_long_is_the_second_ones_trouble(worker):
    body = "    calls.append(1)\n    while len(calls) > 3:\n        pass\n"  # the probe input, and both others
    with isolated(body, worker, seconds=0.5) as runner:
        runner.examine(Call((X,)))
        later = runner.examine(Call((X.clone(),)))
        assert later.first.outputs[0].equal(X * X.sigmoid())
        assert later.again.trouble.kind == "timeout"


def test_all_calls_together_are_limited(worker):
    with isolated(compute("0.3"), worker, seconds=60.0, total_seconds=0.5) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        for _ in range(2):
            trouble = runner.examine(Call((X.clone(),))).first.trouble
            assert trouble.kind == "timeout"
            most = "All calls of this answer together took more than 0.5 s of processor time"
            assert trouble.message.startswith(most)


def test_what_short_calls_took_is_counted_too(worker):
    """Each ends before anybody looks; together they are too many."""
    with isolated(compute("0.05"), worker, total_seconds=0.75) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        kinds = {runner.examine(Call((X.clone(),))).first.trouble for _ in range(15)}  # of two calls each
    assert "timeout" in {trouble and trouble.kind for trouble in kinds}


def test_all_answers_of_a_notebook_are_limited_together(worker):
    notebook = Budget("notebook", 0.5)
    for number in range(3):
        with isolated(compute("0.3"), worker, notebook, seconds=60.0) as runner:
            trouble = runner.examine(Call((X,))).first.trouble
        assert (trouble and trouble.kind) == (None if number == 0 else "timeout")
    assert trouble.message.startswith("All answers of this notebook together took more than 0.5 s of processor time")


def test_threads_and_children_are_counted():
    half = "import threading, time\ndef half():\n    until = time.thread_time() + 0.2\n"
    half += "    while time.thread_time() < until: pass\nthread = threading.Thread(target=half)\nthread.start()\n"
    half += "thread.join()\n"
    code = (
        f"import subprocess, sys\n{half}\nsubprocess.run([sys.executable, '-c', {half!r}])\nprint(flush=True)\ninput()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        account = linux.ProcessStatus(process.pid)
        assert account.processor_time() >= 0.4
        assert account.resident()
        process.communicate(b"\n")
    for gone in (account, linux.ProcessStatus(process.pid)):
        assert gone.processor_time() is None
        assert gone.resident() is None
        gone.close()


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        ("while True: pass", "timeout", "Loading `second` took more than 0.5 s of processor time"),
        ("import os; os._exit(3)", "crashed", "Loading `second` ended its process with status 3."),
        ("import os; os._exit(0)", "crashed", "The answer ended its process before it returned"),
        ("import ctypes; ctypes.c_char.from_address(8).value", "crashed", "Loading `second` crashed: SIGSEGV."),
    ],
)
def test_a_cell_that_ends_the_process_is_named(line, kind, expected, worker):
    cells = (Cell("first", "import torch"), Cell("second", line), Cell("own", f"def silu_forward(x):\n{RIGHT}"))
    code = Answer("silu_forward", cells)
    with Isolated(
        code,
        SILU.contract,
        "torch",
        limits=Limits(seconds=0.5, **PATIENT),
        worker=worker,
    ) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
        assert (trouble.kind, trouble.cell) == (kind, "second")
        assert trouble.message.startswith(expected)
    without = code.without({"second", "own"})
    assert [cell.name for cell in without.cells] == ["first", "own"]
    with Isolated(without, SILU.contract, "torch", worker=worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None


def of_three_cells(line: str) -> Answer:
    cells = (Cell("first", "import torch, time"), Cell("second", line), Cell("own", HALVES))
    return Answer("silu_forward", cells)


def test_a_cell_that_sleeps_in_every_process_is_named_when_it_is_enough(worker):
    """Each time it sleeps for less than the limit. The report says which cell it is, and that no time-out decided."""
    limits = Limits(seconds=60.0, idle=1.0, **PATIENT)
    report = make_verdict(Job(of_three_cells("time.sleep(0.7)"), "torch", 0, limits), worker).report
    reason = "Loading `second` slept or waited for more than 1 s, in all processes that load it together. "
    assert report["stopped_in"]["cell"] == "second"
    assert report["stopped_in"]["reason"].startswith(reason)
    assert not report["passed"]
    assert not report["timed_out"]
    assert {case["status"] for case in report["cases"][2:]} == {"not-run"}  # none of them waits again


@pytest.mark.exhaustive
def test_a_cell_that_computes_is_not_idle(worker):
    """Nor is one that sleeps for less, in each of the processes that a check takes."""
    limits = Limits(seconds=60.0, idle=0.7, **PATIENT)
    for line in (compute("0.8").replace("\n    ", "\n").strip(), "time.sleep(0.1)"):
        assert make_verdict(Job(of_three_cells(line), "torch", 0, limits), worker).report["passed"], line


def test_cells_after_the_answer_may_hold_what_it_calls(worker):
    cells = (Cell("own", "def silu_forward(x):\n    return helper(x)"), Cell("later", f"def helper(x):\n{RIGHT}"))
    code = Answer("silu_forward", cells, after=1)
    assert code.defining_cell == "own"
    assert code.without({"later"}).cells == (cells[0], cells[1].definitions)
    assert code.without({"later", "definitions of later"}).cells == cells[:1]
    with Isolated(code, SILU.contract, "torch", worker=worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None


def test_the_start_of_the_worker_is_no_call(monkeypatch):
    """A call's time begins when the worker has made its imports, which take longer than most calls."""
    notebook, ready = Budget("notebook", 600.0), []
    with Worker() as own, isolated("", own, notebook) as runner:
        start = own.ready
        monkeypatch.setattr(own, "ready", lambda: ready.append((start(), time.monotonic())))
        assert runner.examine(Call((X,))).first.trouble is None
        assert 0 < notebook.waited <= time.monotonic() - ready[0][1]


@pytest.mark.parametrize(
    "take",
    [
        "held = [ctypes.create_string_buffer(b'x' * 2**20) for _ in range(160)]; time.sleep(60)",  # seen by the watch
        "held = torch.ones(1 << 30, dtype=torch.uint8)",  # refused by the limit of the process
        "held = bytearray(1 << 30)",
    ],
)
def test_a_call_that_takes_too_much_memory_is_ended(take, worker):
    body = f"    {take}\n"
    with isolated(body, worker, memory=128 * MIB) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    assert (trouble.kind, trouble.message) == ("memory", "The call took more than 128 MiB of memory.")


@pytest.mark.parametrize("write", ["print('x' * n, end='')", "sys.stderr.write('x' * n)"])
def test_what_a_call_prints_costs_nothing_and_its_beginning_is_kept(write, worker):
    with isolated(f"    n = {8 * MIB}\n    {write}\n", worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        assert 60_000 < len(runner.printed) < 70_000
        assert runner.examine(Call((X.clone(),))).first.trouble is None


def test_a_call_that_prints_without_end_is_ended_by_its_time(worker):
    with isolated("    while True:\n        print('x' * 1000)\n", worker, seconds=0.3) as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    assert trouble.kind == "timeout"
    assert trouble.details.startswith("xxx")


def test_a_process_cannot_name_itself_a_memory_of_its_own_choice():
    """/proc/PID/status begins with the name, which the process may set to a line of that file."""
    code = "open('/proc/self/comm', 'w').write('\\nRssAnon:1 kB'); print('named', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"named\n"
        with contextlib.closing(linux.ProcessStatus(child.pid)) as process:
            found = process.resident()
        child.communicate(b"\n")
    assert found > MIB


HEAP = """
import re, sys
sys.path.insert(0, sys.argv[1])
import linux

def megabytes(name, file):
    return sum(int(size) for size in re.findall(rf"^{name}:\\s+(\\d+)", open(file).read(), re.M)) >> 10

before = megabytes("VmData", "/proc/self/status")
with linux.heap_on_huge_pages():
    there = megabytes("VmData", "/proc/self/status")
    kept = [bytearray(50_000) for _ in range(400)]
    huge = megabytes("AnonHugePages", "/proc/self/smaps")
print(there - before, huge, megabytes("VmData", "/proc/self/status") - before)
"""


def test_imports_find_large_pages_and_leave_no_room_that_is_not_used():
    """A child's limit is counted from what its worker holds."""
    folder = str(Path(linux.__file__).parent)
    found = subprocess.run([sys.executable, "-c", HEAP, folder], capture_output=True, text=True, check=True).stdout
    there, huge, left = map(int, found.split())
    large = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    assert there >= 127
    assert 18 <= left <= 28
    assert huge >= 16 or not large.exists() or "[never]" in large.read_text()


@pytest.mark.parametrize("read, counts", [(True, True), (False, False)])
def test_a_child_that_waits_until_it_is_read_is_not_idle(read, counts):
    """A busy grader reads late what a cell prints while it loads; the cell does not sleep."""
    budget = Budget("answer", 100.0)
    child = SimpleNamespace(looked=time.monotonic() - 1, reports=b"", task=SimpleNamespace(steps=1), budgets=[budget])
    child.process = SimpleNamespace(sleeps=lambda: True)
    Child._count_idle(child, read)
    assert (budget.idle > 0) == counts
