"""Kernels that are compiled while the cases go on: the same report, and nothing in vain after a wrong case."""

import threading
from types import SimpleNamespace

import pytest
from compiler_kernels import HEADER, SCALE, cache, described  # noqa: F401
from graded_kernels.autograder.check import check
from graded_kernels.autograder.compiler import TARGETS, CannotCompile, compile_report, uncompiled
from graded_kernels.autograder.compiler.report import NUMBERS
from graded_kernels.autograder.instructor.try_cases import our_answer
from graded_kernels.autograder.sandbox import Compiler
from graded_kernels.autograder.sandbox.ahead import CASES, Ahead

SCALED = HEADER + SCALE
ALIGNED = described(SCALED, "scale_kernel")
ODD = described(SCALED, "scale_kernel", divisible=())
HALF = described(SCALED, "scale_kernel", divisible=("x_ptr", "y_ptr"))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


class Told:
    """A compiler that notes what it is asked for. lost: whether it says that of each job."""

    def __init__(self, lost: bool = False):
        self.limits, self.lost = SimpleNamespace(total_seconds=120.0), lost
        self.calls, self.budgets, self.asked, self.started = [], [], threading.Event(), threading.Event()

    def start(self):
        self.started.set()

    def run_jobs(self, modules, jobs, budget=None, stopped=None):
        self.calls.append([job["notes"] for job in jobs])
        self.budgets.append(budget)
        self.asked.set()
        answer = {"seconds": 1.0} | ({"lost": "it crashed"} if self.lost else {"result": dict.fromkeys(NUMBERS, 0)})
        return [(number, answer) for number in range(len(jobs))]


def notes(launch):
    found = dict.fromkeys(launch.divisible, "D")
    return [found | {name: found.get(name, "") + "S" for name in launch.within_2gb}] * len(TARGETS)


def test_what_cannot_be_better_aligned_is_compiled_before_the_report_is_asked_for():
    compiler = Told()
    with Ahead(compiler) as ahead:
        ahead.see([ODD, ALIGNED])
        assert compiler.asked.wait(10) and compiler.calls == [notes(ALIGNED)]
        for _ in range(2 * CASES):
            ahead.see([ALIGNED, ODD])
        found = ahead.report([ODD, ALIGNED, ODD], limit=1)
    assert compiler.calls == [notes(ALIGNED)], "once"
    assert [row["cached"] for row in found["targets"]] == [False] * len(TARGETS)
    assert [row["cached"] for row in compile_report([ALIGNED], None)["targets"]] == [True] * len(TARGETS)


def test_what_could_be_better_aligned_waits_for_other_cases():
    compiler = Told()
    with Ahead(compiler) as ahead:
        for launch in [ODD] * (CASES - 2) + [HALF]:
            ahead.see([launch])
        assert not compiler.asked.wait(0.1)
        ahead.see([ODD])
        assert compiler.asked.wait(10) and compiler.calls == [notes(HALF)]


def test_a_better_aligned_launch_that_comes_late_is_what_the_report_is_about():
    compiler = Told()
    with Ahead(compiler) as ahead:
        for launch in [HALF] * CASES + [ALIGNED]:
            ahead.see([launch])
        found = ahead.report([HALF, ALIGNED], limit=1)
    assert compiler.calls == [notes(HALF), notes(ALIGNED)]
    assert {row["launch"] for row in found["targets"]} == {ALIGNED.describe()}


def test_the_process_starts_with_the_first_case_unless_the_code_was_compiled_before():
    with Ahead(compiler := Told()) as ahead:
        ahead.see([ODD])
        assert compiler.started.wait(10) and not compiler.asked.is_set()
    compile_report([HALF], Told().run_jobs)
    with Ahead(compiler := Told()) as ahead:
        ahead.see([ODD])
        assert not compiler.started.wait(0.1)
    with Ahead(compiler := Told()) as ahead:
        ahead.see([described(SCALED.replace("2.0", "3.0"), "scale_kernel", divisible=())])
        assert compiler.started.wait(10)
    with Compiler() as compiler:
        compiler.start()
        assert compiler._worker.runs() and compiler.report([ALIGNED])["status"] == "pass"
        assert compiler._worker.starts == 1


def test_a_cache_that_cannot_be_read_stops_nothing(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/" + 300 * "a")
    with Ahead(Told()) as ahead:
        ahead.see([ALIGNED])
        assert ahead.report([ALIGNED], limit=1)["status"] == "pass"


def test_one_budget_for_all_kernels_of_an_answer_and_another_for_the_compiler_itself():
    compiler = Told(lost=True)
    with Ahead(compiler) as ahead:
        ahead.see([ALIGNED])
        found = ahead.report([ALIGNED, described(HEADER + SCALE.replace("scale", "other"), "other_kernel")], limit=2)
    assert found["status"] == "not-run" and "it crashed" in found["reason"], found
    first, rest, control = compiler.budgets
    assert first is rest is not None and control is None
    assert [len(jobs) for jobs in compiler.calls] == [len(TARGETS)] * 3, "what was lost is not tried again"


def test_after_a_wrong_case_nothing_more_is_compiled():
    compiler = Told()
    with Ahead(compiler) as ahead:
        ahead.stop()
        ahead.see([ALIGNED])
    assert not compiler.asked.wait(0.1)


def test_a_compilation_that_is_given_up_tells_nothing_and_costs_the_next_one_nothing():
    class Soon(threading.Event):
        asked = 0

        def is_set(self):
            self.asked += 1
            return self.asked > len(TARGETS)  # begin all, and go on with none

    with Compiler() as compiler:
        assert compiler.run_jobs(*uncompiled([ALIGNED]), stopped=Soon()) == []
        assert compiler.report([ALIGNED])["status"] == "pass"


def test_a_machine_without_a_sandbox_says_so():
    class Missing(Told):
        def run_jobs(self, *request):
            raise CannotCompile("no sandbox here")

    with Ahead(Missing()) as ahead:
        ahead.see([ALIGNED])
        found = ahead.report([ALIGNED], limit=1)
    assert (found["status"], found["reason"]) == ("not-run", "no sandbox here")


def test_a_check_compiles_ahead_and_reports_what_it_would_have_reported(monkeypatch, tmp_path):
    function, seen, reports = our_answer("merge_attention", "triton"), [], []
    see = Ahead.see
    for name, way in (("ahead", see), ("after", lambda self, launches: None)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        monkeypatch.setattr(Ahead, "see", lambda self, launches, way=way: seen.append(self) or way(self, launches))
        reports.append(check("merge_attention", function, "triton"))
        assert reports[-1].passed
        assert bool(seen[-1]._answers) == (name == "ahead")
    ahead, after = ([{**row, "seconds": 0} for row in one.compile["targets"]] for one in reports)
    assert ahead == after


def test_nothing_is_compiled_for_a_wrong_answer(monkeypatch):
    function, run_jobs, asked, calls = our_answer("axpy", "triton"), Compiler.run_jobs, [], []
    monkeypatch.setattr(Compiler, "run_jobs", lambda self, *request: asked.append(request) or run_jobs(self, *request))
    found = check("axpy", lambda a, x, y: calls.append(a) or function(a + (len(calls) == 1), x, y), "triton")
    assert [case.name for case in found.cases if case.status == "fail"] == [found.cases[0].name]
    assert not asked
