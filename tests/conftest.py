"""Triton interprets in every test process, on a machine with a GPU as on one without: what runs on a device does so in
a process of its own.
"""

import contextlib
import fcntl
import os
import signal
import subprocess

os.environ["TRITON_INTERPRET"] = "1"  # before any test module can import triton

import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.commands import check as commands_check

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The modules that take longest, longest first: a test process that gets one of them last keeps everybody waiting.
LONGEST_FIRST = [
    *("test_attack_notebooks", "test_attacks", "test_emulator_random", "test_notebooks", "test_chaos"),
    *("test_exercises", "test_teaching_limits", "test_nbgrader", "test_compiler_wall"),
    *("test_cli", "test_fair"),
    *("test_emulator_grid", "test_sandbox", "test_sandbox_limits", "test_in_notebook", "test_nbgrader_class"),
    *("test_nbgrader_again", "test_process_memory", "test_teaching", "test_quality", "test_floats"),
    *("test_emulator_grid_answers", "test_layer_norm_kernels", "test_nbgrader_runs", "test_compiler", "test_hidden"),
]


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


@pytest.fixture(scope="session")
def worker():
    """One sandbox for all tests of a process that do not end it."""
    from graded_kernels.autograder.sandbox import Worker

    with Worker() as shared:
        yield shared


def pytest_xdist_auto_num_workers(config) -> int:
    """Three test processes for two cores, four for the exhaustive tests: a test process waits two fifths of its time,
    or three fifths, for processes and for clocks.
    """
    cores = len(os.sched_getaffinity(0))
    return 2 * cores if config.option.markexpr == "exhaustive" else cores + (cores + 1) // 2


def pytest_report_header(config) -> str:
    return f"tests chosen: {config.option.markexpr or 'all'} (make help: which command runs which)"


def pytest_collection_modifyitems(config, items):
    import torch

    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))  # stable: the rest stays in order
    for item in items:
        if "gpu" in item.keywords and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="not run: needs a CUDA device"))


@pytest.fixture
def called(capfd, monkeypatch, request):
    """The command line in this process, with the worker of all tests: no import is waited for."""
    real = commands_check.started

    def started(record=None):
        return real(record) if record else contextlib.nullcontext(request.getfixturevalue("worker"))

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
