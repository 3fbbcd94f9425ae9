"""The compiler's process: who shares it, whether it has a Triton, what it is asked for, and what it may answer."""

import os

import pytest
from compiler_kernels import BODY, HEADER, SCALE, SM_90, described
from graded_kernels.autograder.runner import Compiler
from graded_kernels.autograder.runner.sandbox import compiler as sandbox_compiler
from graded_kernels.autograder.runner.sandbox import paths
from graded_kernels.autograder.runner.sandbox.compiler import shared_compiler

COUNTS = ("instructions", "at_most", "mufu", "products", "moved", "registers", "spills", "barriers", "warps")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    return tmp_path / "empty" / "graded-kernels" / "compiler"


def test_without_a_triton_that_imports_the_report_says_not_run(tmp_path, monkeypatch, empty_cache):
    (tmp_path / "triton.py").write_text("raise ImportError('libcuda is the wrong version')\n")
    site = paths.site_folders()
    monkeypatch.setattr(paths, "site_folders", lambda: [str(tmp_path), *site])
    with Compiler() as own:
        report = own.report([described(HEADER + SCALE, "scale_kernel")])
    assert report["status"] == "not-run"
    assert report["targets"] == []
    assert "libcuda is the wrong version" in report["reason"]
    assert not list(empty_cache.glob("*"))


def test_checks_without_a_compiler_of_their_own_share_one_process(empty_cache):
    found = []
    for number in range(2):
        launch = described(HEADER + BODY.format(f"y = x + {{{number}}}"))
        assert shared_compiler().report([launch], SM_90)["status"] == "fail"
        found.append(shared_compiler()._worker)
    assert found[0] is found[1]
    assert found[0].starts == 1
    assert found[0].runs()


def test_a_forked_process_does_not_have_the_others_compiler():
    ours = shared_compiler()
    ours._ready()
    child = os.fork()
    if child == 0:
        same = shared_compiler() is ours
        sandbox_compiler._close(os.getppid())  # as this process does at its end
        os._exit(same)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ours._worker.runs()
    assert os.path.isdir(ours._folder.name)


def test_the_libraries_are_read_for_a_kernel_that_may_call_them(monkeypatch):
    asked = []

    def run(worker, files, task, limits, budgets):
        asked.append(task.modules)
        raise sandbox_compiler.WorkerLost

    monkeypatch.setattr(sandbox_compiler.Host, "run", run)
    with Compiler() as own:
        for text in ("tl.exp(x) * 2.0", "tl.log(x)"):
            own.run_jobs([{"functions": {"kernel": {"text": text}}}], [{"module": 0}])
    assert [[name.rpartition(".")[2] for name in modules] for modules in asked] == [[], ["device_libraries"]]


@pytest.mark.parametrize(
    "wrong",
    [{"instructions": float("nan")}, {"moved": -1.0}, {"loads": {"32": "many"}}, {"notes": ["\x1b[2J"]}, {"more": 1}],
)
def test_a_count_from_the_compilers_process_is_numbers_and_short_notes(wrong):
    thread = dict.fromkeys(COUNTS, 1) | {"loads": {"32": 1}, "stores": {}, "notes": ["unsure"]}
    assert sandbox_compiler._answer({"seconds": 0.1, "thread": thread})["thread"] == thread
    with pytest.raises(TypeError):
        sandbox_compiler._answer({"seconds": 0.1, "thread": thread | wrong})
