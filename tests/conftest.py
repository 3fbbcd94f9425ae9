"""Triton interprets in every test process, on a machine with a GPU as on one without: what runs on a device does so in
a process of its own.
"""

import collections
import contextlib
import dataclasses
import fcntl
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before any test module can import triton

import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.judge.commands import check_command as commands_check
from graded_kernels.autograder.words import no_garbage


def _one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


# An answer may ask for threads: a child hangs in its first long operator where its parent had a pool of them.
os.register_at_fork(after_in_child=_one_thread)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A test process holds PyTorch, Triton and hundreds of kernels, and makes little garbage: the collector looks seldom.
gc.set_threshold(20_000, 20, 20)

_seconds: collections.Counter[str] = collections.Counter()  # what each module took in this run

# The modules that take longest in `make test-all` and in `make test`, for a checkout in which nothing has run yet.
LONGEST = (
    *("test_attack_notebooks", "test_notebooks", "test_attacks", "test_emulator_lockstep", "test_margins"),
    *("test_emulator_grid_answers", "test_two_mistakes", "test_exercises", "test_emulator_random", "test_chaos"),
    *(
        "test_mutants",
        "test_compare_sizes",
        "test_kernels",
        "test_library_table",
        "test_points",
        "test_sandbox_processes",
    ),
)

ONE_IN = "GRADED_KERNELS_TEST_ONE_IN"  # 12 of `make test-all`: each twelfth row of each test, the first among them
LEFT_OUT = {  # by what a run chooses
    "not exhaustive and not release": "Left to make test-all: four fifths of our answers and of the bugs that shipped, "
    "half of what a check says alike in process and isolated, the wheel, and all but one or a few of the attacks, "
    "chapters, mistakes, hints, shapes and dtypes and random kernels of each kind.",
    "exhaustive": "Left to make test-release: three quarters of the attacks, weaker levels of isolation, more seeds, "
    "pairs of mistakes and random kernels.",
}


@pytest.fixture(scope="session")
def made_course(tmp_path_factory):
    """A course root as `classroom.make` makes it, once for all test processes. Whoever changes it takes a copy."""
    import classroom

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    root, complete = shared / "made-course", shared / "made-course.complete"
    with (shared / "made-course.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second waits
        if not complete.exists():
            root.mkdir()
            classroom.make(root)
            complete.touch()
    return root


@pytest.fixture
def cases_until(monkeypatch):
    """A function of an exercise and the name or the number of a case: for this test that is the exercise's last one."""
    from graded_kernels.autograder import EXERCISES

    def restrict(exercise: str, last: str | int) -> None:
        record = EXERCISES[exercise]
        names = [case.name for case in record.cases]
        count = last if isinstance(last, int) else names.index(last) + 1
        monkeypatch.setitem(EXERCISES, exercise, dataclasses.replace(record, cases=record.cases[:count]))

    return restrict


@pytest.fixture(scope="session")
def worker():
    """One sandbox for all tests of a process that do not end it."""
    from graded_kernels.autograder.runner.sandbox import Worker

    with Worker() as shared:
        yield shared


@pytest.hookimpl(optionalhook=True)  # of xdist's
def pytest_xdist_auto_num_workers(config) -> int:
    """Three test processes for two cores, four for the exhaustive tests: a test process waits two fifths of its time,
    or three fifths, for processes and for clocks.
    """
    cores = len(os.sched_getaffinity(0))
    return 2 * cores if config.option.markexpr == "exhaustive" else cores + (cores + 1) // 2


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is read here stays until the end: looking through it for garbage takes a third of the time to read it."""
    with no_garbage(), _first_alone():
        return (yield)


@contextlib.contextmanager
def _first_alone():
    """In a checkout whose tests were never read, one test process reads them while the others wait, and take then the
    bytecode that it leaves: each would make all of it, in as long as everything else that reading takes.
    """
    made = Path(__file__).parent.glob("*/__pycache__")
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sys.dont_write_bytecode or any(made):
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield


LEVEL = "GRADED_KERNELS_TEST_ISOLATION"  # weak, good or strong: the level of isolation that a run demands


def pytest_configure(config):
    """Ends a run that demands a level of isolation which this machine does not reach: its tests would be skipped."""
    level = os.environ.get(LEVEL)
    if level and not hasattr(config, "workerinput"):  # in one process, not in each of xdist's
        from graded_kernels.autograder.runner.sandbox.probe import SandboxError, require

        try:
            require(level)
        except (SandboxError, ValueError) as reason:
            raise pytest.UsageError(f"{LEVEL}={level}: {reason}") from None


def pytest_report_header(config) -> str:
    return f"tests chosen: {config.option.markexpr or 'all'} (make help: which command runs which)"


@pytest.hookimpl(trylast=True)  # when what the run did not choose is gone
def pytest_collection_modifyitems(config, items):
    import torch

    _take_in_turn(config, items, int(os.environ.get(ONE_IN, "1")))
    unknown = {name: len(LONGEST) - place for place, name in enumerate(LONGEST)}
    last = (config.cache.get(_kept_as(config), {}) if hasattr(config, "cache") else {}) or unknown
    items.sort(key=lambda item: -last.get(item.path.stem, 0))  # a process that gets a long one last keeps all waiting
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="not run: needs a CUDA device"))


def _take_in_turn(config, items, step):
    rows, left_out = collections.Counter(), []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if rows[name] % step:
            left_out.append(item)
        rows[name] += 1
    config.hook.pytest_deselected(items=left_out)
    without = set(left_out)
    items[:] = [item for item in items if item not in without]


def pytest_runtest_logreport(report):
    _seconds[Path(report.fspath).stem] += report.duration


def pytest_sessionfinish(session):
    """Keeps what each module took, where several processes share them: the next such run begins with the longest."""
    if getattr(session.config.option, "numprocesses", None) and hasattr(session.config, "cache"):
        session.config.cache.set(_kept_as(session.config), dict(_seconds))


def pytest_terminal_summary(terminalreporter):
    """The test processes have ended by then, and with them what they started."""
    if sentence := LEFT_OUT.get(terminalreporter.config.option.markexpr):
        terminalreporter.write_line(sentence)
    if (step := os.environ.get(ONE_IN, "1")) != "1":
        terminalreporter.write_line(f"Of each test one row in {step} was taken; make test-release takes all.")
    terminalreporter.write_line(f"processor time: {sum(os.times()[:4]):.0f} s, of all processes together")


def _kept_as(config) -> str:
    return f"seconds/{config.option.markexpr or 'all'}"


@pytest.fixture
def called(capfd, monkeypatch, request):
    """The command line in this process, with the worker of all tests: no import is waited for."""
    real = commands_check.started

    def started(*closed):
        return real(*closed) if any(closed) else contextlib.nullcontext(request.getfixturevalue("worker"))

    monkeypatch.setattr(commands_check, "started", started)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        capfd.readouterr()
        stdout, stderr = os.dup(1), os.dup(2)
        try:
            code = cli.main([*map(str, arguments)])
        finally:
            for kept, number in ((stdout, 1), (stderr, 2)):
                os.dup2(kept, number)
                os.close(kept)
        return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())

    return call
