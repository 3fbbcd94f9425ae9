"""Several children that compile for one answer at the same time: what they find, share and leave is what one would."""

import os
import signal
import threading

import pytest
from compiler_kernels import BODY, HEADER, SCALE, SM_90, described
from graded_kernels.autograder.gpu import CannotCompile, machine_code_report
from graded_kernels.autograder.runner.sandbox import Compiler, Limits, Worker, probe
from graded_kernels.autograder.runner.sandbox import compiler as sandbox_compiler
from test_compiler_wall import CONSTRAINT, ENDLESS

REFUSED = BODY.format("y = x + {1}")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def jobs_of(*sources: str) -> tuple[list[dict], list[dict]]:
    """What the compiler's process is asked for the machine code of these kernels: its modules and its jobs."""
    asked = []

    def ask(*request, **more):
        asked.append(request)
        raise CannotCompile("they are asked for, and not compiled")

    size = {"grid": [1, 1, 1], "numbers": {}, "elements": 1024, "bytes": 8192}
    texts = [HEADER + source.replace("scale_kernel", "kernel") for source in sources]
    machine_code_report([described(text, size=size) for text in texts], ask)
    return asked[0]


@pytest.mark.parametrize(("cores", "children"), [(None, 1), (1, 1), (3, 3), (64, 4)])
def test_a_notebook_has_one_a_core_and_a_graders_worker_has_one(cores, children, monkeypatch):
    monkeypatch.setattr(sandbox_compiler, "_shared", {})
    monkeypatch.setattr(sandbox_compiler.atexit, "register", lambda *given: None)  # it is never started
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert sandbox_compiler.shared_compiler().children == children
    if probe().level:
        assert Worker().compiler.children == 1


def test_they_find_what_one_finds_also_of_a_kernel_that_ends_its_child():
    """The one that is refused ends long before the others, and what these have written is still theirs."""
    modules, jobs = jobs_of(REFUSED, SCALE, CONSTRAINT, BODY.format("y = tl.exp(x)"))
    found = []
    for children in (1, 4):
        with Compiler(children=children) as compiler:
            answers = dict(compiler.run_jobs(modules, jobs))
        found.append([{**answers[number], "seconds": 0} for number in range(len(jobs))])
    assert found[0] == found[1]
    kinds = [{"message", "lost", "result"} & answer.keys() for answer in found[0]]
    assert kinds == [{"message"}, {"result"}, {"lost"}, {"result"}]


def test_they_run_at_the_same_time(monkeypatch):
    together, run = threading.Barrier(2), sandbox_compiler._run
    monkeypatch.setattr(sandbox_compiler, "_run", lambda *given: together.wait(60) * 0 or run(*given))
    with Compiler(children=2) as compiler:
        assert len(compiler.run_jobs(*jobs_of(SCALE, REFUSED))) == 2


@pytest.mark.exhaustive
def test_they_share_the_answers_clock():
    """What each of them takes counts for both while they run: three seconds together, not three for each."""
    sources = [HEADER + ENDLESS, HEADER + ENDLESS.replace("+=", "-=")]
    with Compiler(limits=Limits(seconds=60, total_seconds=3.0), children=2) as compiler:
        report = compiler.report([described(source) for source in sources], SM_90)
        assert compiler.spent < 5
    assert [row["status"] for row in report["targets"]] == ["not-run"] * 2
    assert all("took more than 3 s" in r["message"] for r in report["targets"])


def test_an_interruption_ends_them_and_the_next_report_has_a_process_again(monkeypatch):
    ctrl_c = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    both, run = threading.Barrier(2, ctrl_c.start), sandbox_compiler._run
    with Compiler(children=2) as compiler:
        compiler._ready()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(sandbox_compiler, "_run", lambda *given: both.wait(60) * 0 or run(*given))
            compiler.run_jobs(*jobs_of(ENDLESS, ENDLESS.replace("+=", "-=")))
        assert not compiler._worker.runs()
        assert len(compiler.run_jobs(*jobs_of(SCALE))) == 1
        assert compiler._worker.starts == 2
