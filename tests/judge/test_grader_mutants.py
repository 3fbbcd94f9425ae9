"""The mutator turned on the grader: which tests a mutant is put to, and what becomes of it."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = """LIMIT = 2


@cached
def outer(x):
    def inner(y):
        return y + 1

    return inner(x) > LIMIT
"""
TEST = """from graded_kernels.autograder.judge.small import outer


def test_outer():
    assert outer(1) is False
"""


@pytest.fixture(scope="module")
def runner():
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("benchmarks_grader_mutants", BENCHMARKS / "grader_mutants.py")
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    yield made
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def project(runner, monkeypatch, tmp_path):
    """A project of one module and one test."""
    room = tmp_path / "autograder" / "judge"
    room.mkdir(parents=True)
    (room / "small.py").write_text(SOURCE.replace("@cached\n", ""))
    (tmp_path / "tests" / "judge").mkdir(parents=True)
    (tmp_path / "tests" / "judge" / "test_small.py").write_text(TEST)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n')
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "FOUND", tmp_path / "build")
    return tmp_path


def test_a_line_belongs_to_the_innermost_function(runner):
    assert runner.functions(SOURCE) == {6: 4, 7: 6, 9: 4, 8: 4}


def test_a_smaller_sample_is_part_of_a_larger_one(runner, project):
    few, many = (runner.sample(["judge"], 1, count) for count in (3, 6))
    assert many[:3] == few
    assert runner.sample(["judge"], 2, 6) != many


def test_the_tests_that_enter_the_function_are_chosen_within_the_budget(runner):
    place = ("autograder/judge/small.py", 4)
    seconds = {"test_a.py::t[1]": 0.5, "test_a.py::t[2]": 0.6, "test_a.py::u": 1, "test_b.py::slow": 3}
    tests = [{"test": name, "seconds": took, "entered": [place]} for name, took in seconds.items()]
    tests.append({"test": "test_b.py::other", "seconds": 0.1, "entered": [(place[0], 6)]})
    candidate = runner.Candidate(place[0], runner.written(SOURCE, next(runner.drafts(SOURCE))), place)
    assert runner.modules_for(candidate, tests, 2.3) == [("test_a.py", {"test_a.py::t[1]", "test_a.py::u"})]
    anywhere = candidate._replace(place=(place[0], 0))
    assert sum(len(names) for _, names in runner.modules_for(anywhere, tests, 9)) == 5


@pytest.mark.exhaustive
def test_a_mutant_survives_where_no_test_fails(project):
    for name in ("grader_mutants.py", "mutation.py"):
        (project / "benchmarks").mkdir(exist_ok=True)
        shutil.copy(BENCHMARKS / name, project / "benchmarks")
    command = [sys.executable, "benchmarks/grader_mutants.py", "--rooms", "judge", "--count", "99", "--page"]
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows = map(json.loads, (project / "build/grader_mutants/28.jsonl").read_text().splitlines())
    killed = {(row["old"], row["new"]): row["killed"] for row in rows}
    assert killed["inner(x) > LIMIT", "inner(x) >= LIMIT"] == "tests/judge/test_small.py::test_outer"
    assert killed["inner(x) > LIMIT", "inner(x) < LIMIT"] == ""
    page = (project / "benchmarks/grader_mutants.md").read_text()
    assert f"| judge | {len(killed)} |" in page
    assert (project / "autograder/judge/small.py").read_text() == SOURCE.replace("@cached\n", "")
