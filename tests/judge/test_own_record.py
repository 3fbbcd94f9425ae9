"""Exercises that are none of the course's: records from a file, from a package, and straight from Python."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from forked import forked
from graded_kernels.autograder import Case, Exercise, Output, Tolerance, WildBug, check, cli, elementwise
from graded_kernels.autograder.judge.records import external_records
from graded_kernels.autograder.judge.records.record import Large
from graded_kernels.autograder.judge.records.table import EXERCISES, find
from graded_kernels.autograder.judge.records.validation import RecordError, validate
from isolation import LEVEL

TEXT = """
from graded_kernels.autograder import Exercise, Output, Tolerance, elementwise
import torch

cubed = Exercise(
    name="cubed",
    summary="y = x^3",
    oracle=lambda x: x * x * x,
    outputs=(Output("y"),),
    cases=elementwise(("x",), "x", lambda: torch.ones(3)),
    tolerance=Tolerance(1, 8, "three roundings", lambda x: (1e-44,)),
    hint="x times x times x, in float32.",
)
"""
RIGHT = "def cubed(x):\n    y = x.float()\n    return (y * y * y).to(x.dtype)\n"
# Wrong as soon as it finds what is right, or only learns where that lies.
THIEF = """
import os

def seen(path):
    try:
        return bool(os.listdir(path))
    except OSError:
        return False

def cubed(x):
    y = x.float()
    return (0 * y if seen({folder!r}) else y * y * y).to(x.dtype)
"""


def cubed(**changes) -> Exercise:
    plain = Case("some numbers", lambda generator: (torch.randn(50, generator=generator),), "Begin here.")
    tolerance = Tolerance(1, 8, "three roundings")
    given = {"cases": (plain,), "tolerance": tolerance, "outputs": (Output("y"),), "oracle": lambda x: x**3} | changes
    return Exercise(**({"name": "cubed", "summary": "y = x^3", "hint": ""} | given))


@pytest.fixture
def record(tmp_path) -> Path:
    (tmp_path / "ops").mkdir()
    path = tmp_path / "ops/cubed_record.py"
    path.write_text(TEXT)
    return path


def test_a_record_takes_the_place_of_a_name():
    report = check(cubed(), lambda x: x * x * x, backend="torch")
    assert report.passed
    assert report.exercise == "cubed"
    assert len(report.cases) == 1
    assert not check(cubed(), lambda x: x * x * x.abs(), backend="torch")


def test_a_family_serves_an_op_of_ones_own():
    record = cubed(cases=elementwise(("x",), "x", lambda: torch.ones(3)))
    seen = {
        case.name for case in check(record, lambda x: x.half() ** 3, backend="torch").cases if case.status != "pass"
    }
    assert {"every bfloat16 value", "ordinary values"} <= seen


def test_a_case_is_about_what_its_record_or_its_arguments_say():
    record = cubed(cases=elementwise(("x",), "x", lambda: torch.ones(3)), about=("exact zeros",))
    categories = {case.name: case.category for case in check(record, lambda x: x * x * x, backend="torch").cases}
    assert {name: categories[name] for name in ("ordinary values", "one element", "large values")} == {
        "ordinary values": "plain",
        "one element": "plain",
        "large values": "plain",
    }
    assert (categories["exact zeros"], categories["every float16 value"], categories["every bfloat16 value"]) == (
        "point",
        *["dtypes"] * 2,
    )
    assert (categories["transposed"], categories["no elements"]) == ("layouts", "edges")
    assert categories["every second column"] == "dtypes", "in half precision"
    assert categories["infinity and NaN"] == "edges"
    with pytest.raises(RecordError, match="it is about 'exact zero', which is not the name of a case"):
        validate(cubed(about=("exact zero",)))


@pytest.mark.exhaustive
def test_the_record_is_the_checkers_side(record, tmp_path, monkeypatch):
    """Of a folder that answers can read, where libraries are, the record's part is cut out."""
    from graded_kernels.autograder.judge.commands import one_file as command
    from graded_kernels.autograder.judge.records.settings import Settings
    from graded_kernels.autograder.runner import Answer, Limits, Worker

    if LEVEL != "strong":
        pytest.skip(f"not run: answers are isolated as {LEVEL}, and files are hidden where it is strong")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    answer = tmp_path / "answer.py"
    answer.write_text(THIEF.format(folder=str(record.parent)))
    wanted = command.Wanted(external_records.read(record, "cubed"), Answer.read(answer, "cubed"), Settings("torch"))
    with Worker() as open_to_all:
        assert not command.report_on(wanted, Limits(), open_to_all).passed  # so that it could be read at all
    with command.started(record) as closed:
        report = command.report_on(wanted, Limits(), closed)
    assert report.passed, str(report)


def test_a_record_in_a_file_checks_a_file(record, tmp_path):
    answer = tmp_path / "answer.py"
    answer.write_text(RIGHT)
    done = forked("check", "--record", record, "cubed", answer, "--backend", "torch", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads(done.stdout)["exercise"] == "cubed"


@pytest.mark.parametrize(
    "text, name, says",
    [
        ("x = 1", "cubed", "defines no record: write cubed = Exercise(name='cubed', ...)"),
        (TEXT, "squared", "has no record named 'squared'; it has cubed"),
        ("import nothing_of_this_name", "cubed", "line 1: ModuleNotFoundError: No module named"),
        ("def f(:", "cubed", "line 1: SyntaxError"),
        (TEXT.replace('    hint="x times x times x, in float32.",\n', ""), "cubed", "missing 1 required positional"),
    ],
)
def test_a_file_without_the_record_is_told_in_a_sentence(text, name, says, record, tmp_path, capsys):
    record.write_text(text)
    (tmp_path / "answer.py").write_text(RIGHT)
    arguments = ["--record", str(record), name, str(tmp_path / "answer.py"), "--in-process"]
    assert cli.main(["check", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert cli.main(["check", "--record", str(tmp_path / "nowhere.py"), name, *arguments[3:]]) == 2
    assert "there is no Python file" in capsys.readouterr().err


def one(name="some numbers", inputs=lambda generator: (torch.ones(3),), **more) -> tuple[Case, ...]:
    return (Case(name, inputs, "", **more),)


def with_power(generator):
    return torch.ones(3), 2


BUG = WildBug("somebody", "a thread", lambda x: x, "a case that is not there", "")


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"name": "my op"}, "'my op' is not a valid name for a Python function"),
        ({"backends": ("cuda",)}, "backends are some of ('torch', 'triton'), not ('cuda',)"),
        ({"oracle": lambda *args: args[0]}, "name each of them, without * and **"),
        ({"oracle": 3}, "its oracle is 3, of type int: give a function"),
        ({"tolerance": 8}, "its tolerance is 8, of type int: write Tolerance(1, 8,"),
        ({"outputs": Output("y")}, "outputs is not a tuple of Output: write outputs=(Output(...),), with a comma"),
        ({"cases": one()[0]}, "cases is not a tuple of Case: write cases=(Case(...),), with a comma"),
        ({"oracle": torch.sinh}, "cannot be seen: wrap it, as in lambda x: torch.sinh(x)"),
        ({"cases": ()}, "it has no cases: give a Case, or a family"),
        ({"cases": one() * 2}, "two cases are named 'some numbers'"),
        ({"outputs": ()}, 'it names no output: write outputs=(Output("y"),)'),
        ({"outputs": (Output("y", like="gate"),)}, 'which is not a parameter (x): write Output("y", like="x")'),
        ({"wild": (BUG,)}, "'a case that is not there', which is not the name of a case"),
        ({"cases": one(inputs=lambda generator: torch.ones(3))}, "its inputs are a Tensor; inputs takes"),
        ({"cases": one(inputs=lambda: (torch.ones(3),))}, "its inputs raised TypeError"),
        ({"cases": one(inputs=lambda generator: (1.0, 2.0))}, "its 2 arguments do not fit the oracle's parameters"),
        ({"cases": one(inputs=lambda generator: ([1.0],))}, "x holds a float; an answer is given tensors, lists"),
        ({"cases": one(inputs=lambda generator: (torch.rand(3),))}, "draw random numbers with the generator"),
        ({"oracle": lambda x: x @ torch.ones(7, 7)}, "case 'some numbers': the oracle raised RuntimeError"),
        ({"oracle": lambda x: (x, x)}, "the oracle returns 2 tensors and outputs names 1"),
        ({"oracle": lambda x: x.float()}, "the oracle's y is torch.float32: its inputs come in float64"),
        ({"oracle": lambda x: 3.0}, "the oracle's y is a float, not a tensor"),
        (
            {"oracle": lambda x, n=2: x**n, "outputs": (Output("y", like="n"),), "cases": one(inputs=with_power)},
            "case 'some numbers': output y is to have the dtype of n, of type int: write Output(\"y\", torch.float32)",
        ),
        ({"large": Large(lambda generator: ([torch.ones(3)],), 9, (0,), 0, (None,))}, "argument 0, x, of type list:"),
        (
            {"large": Large(lambda generator: (torch.ones(3),), 9, (1,), 0, (None,))},
            "argument 1, and its inputs are 1:",
        ),
        ({"tolerance": Tolerance(1, 8, "", lambda x: 1e-6)}, "the tolerance's floor is a tuple of 1"),
        ({"tolerance": Tolerance(1, 8, "", lambda x, y: (x,))}, "the tolerance's floor raised TypeError"),
    ],
)
def test_a_mistake_in_a_record_names_its_cure(changes, says):
    with pytest.raises(RecordError) as error:
        check(cubed(**changes), lambda x: x**3, backend="torch")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def package(record, tmp_path, monkeypatch):
    """Installed in a folder of libraries: `my_ops` 1.0, which offers `cubed`, and a problem."""
    site = tmp_path / "site"
    (site / "my_ops").mkdir(parents=True)
    (site / "my_ops/__init__.py").write_text("")
    (site / "my_ops/records.py").write_text(TEXT)
    (site / "my_ops-1.0.dist-info").mkdir()
    (site / "my_ops-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: my-ops\nVersion: 1.0\n")
    points = "[graded_kernels.exercises]\nmy_ops = my_ops.records\nbroken = my_ops.nowhere\n"
    (site / "my_ops-1.0.dist-info/entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(site))
    external_records.offers.cache_clear()
    yield site
    external_records.offers.cache_clear()
    for name in ("my_ops", "my_ops.records"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("silu", "did you mean silu_forward or silu_backward"),
        ("sili_forward", "silu_forward"),
        (3, "graded-kernels list"),
    ],
)
def test_a_key_that_no_record_has_is_answered_with_those_that_are_close(name, says):
    with pytest.raises(KeyError, match=says):
        EXERCISES[name]


def test_an_installed_package_offers_exercises(package, capsys):
    assert find("cubed").summary == "y = x^3"
    with pytest.raises(ValueError, match="did you mean cubed"):
        find("cubedd")
    assert cli.main(["list"]) == 0
    printed = capsys.readouterr()
    assert "cubed(x) -> y  [my-ops 1.0]" in printed.out
    assert "silu_forward" in printed.out
    assert "the exercises of my-ops 1.0 (my_ops.nowhere) cannot be used: ModuleNotFoundError" in printed.err
    assert cli.main(["list", "--json"]) == 0
    packages = {row["exercise"]: row["package"] for row in json.loads(capsys.readouterr().out)}
    assert packages["cubed"] == "my-ops 1.0"
    assert packages["silu_forward"] is None


def test_the_courses_names_come_first(package):
    (package / "my_ops/records.py").write_text(TEXT.replace('"cubed"', '"silu_forward"'))
    assert find("silu_forward") is EXERCISES["silu_forward"]


def test_what_is_changed_by_replace_is_validated_again():
    record = cubed()
    validate(record)
    with pytest.raises(RecordError):
        validate(replace(record, cases=()))
