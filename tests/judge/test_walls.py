"""The walls of `autograder/`: four products and a shelf. Imports run downward, across borders through a public API."""

import ast
import re
from pathlib import Path

import pytest
from house import (
    DOOR,
    FLOORS,
    HOUSE,
    PACKAGE,
    ROOT,
    arrows,
    circle,
    crossings,
    folders_above,
    inherited,
    noun_clauses,
    past_apis,
    past_apis_in_tests,
    private,
    product,
    repeated,
    repeated_classes,
    rooms_upward,
    run_by_judge,
    sources,
    upward,
)

TESTS = ("gpu", "runner", "judge", "classroom", "exercises", "course", "material")


def none(sentences: list[str]) -> None:
    """Fails with all of them, each on a line of its own."""
    if sentences:
        pytest.fail("\n".join(sentences), pytrace=False)


def test_every_module_has_a_product():
    assert {product(name) for name in sources(HOUSE)} == set(FLOORS)
    assert {path.stem for path in HOUSE.glob("*.py")} == {"__init__", *DOOR}


def test_every_test_has_a_product():
    tests = [path.relative_to(ROOT) for name in ("test_*.py", "*_test.py") for path in (ROOT / "tests").rglob(name)]
    tests += [path.relative_to(ROOT) for path in HOUSE.rglob("test_*.py")]
    stray = [path for path in tests if path.parent.parent != Path("tests") or path.parent.name not in TESTS]
    none([f"{path}:1: move it to the folder of its product (tests/README.md)" for path in stray])


# Test modules that import the inside of another product all the same, with the reason.
INSIDE = {
    "classroom/test_teaching.py": "a process has one sandbox for all its checks (judge.verdicts.make); these tests are "
    "about whether one may be had, and take away the one that other tests have",
}


def test_a_test_enters_other_products_through_their_public_apis():
    """It asks as their users do, or stands beside the product whose inside it is about."""
    past = past_apis_in_tests(ROOT / "tests", HOUSE)
    none([sentence for where, sentences in past.items() if where not in INSIDE for sentence in sentences])
    assert set(INSIDE) == set(past), "leave out of INSIDE what imports no inside any more"


def test_a_test_of_another_products_inside_is_seen(tmp_path):
    for name, text in {
        "house/runner/__init__": "",
        "house/runner/answer": "",
        "house/judge/__init__": "",
        "house/judge/checking": "",
        "tests/judge/test_check": "from graded_kernels.autograder.judge.checking import check\n"
        "from graded_kernels.autograder.runner import Answer\n\n\n"
        "def test_load():\n    from graded_kernels.autograder.runner.answer import load\n",
        "tests/course/test_book": "from graded_kernels.autograder.judge import check, checking\n",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert past_apis_in_tests(tmp_path / "tests", tmp_path / "house") == {
        "judge/test_check.py": [
            "judge/test_check.py:6 imports load from runner.answer: ask runner for it, or move the test there"
        ],
        "course/test_book.py": [
            "course/test_book.py:1 imports checking from judge.checking: ask judge for it, or move the test there"
        ],
    }


def test_imports_run_downward():
    none(upward(HOUSE))


def test_rooms_of_the_judge_import_downward():
    none(rooms_upward(HOUSE))


def test_an_import_of_a_higher_room_is_seen(tmp_path):
    for name, text in {
        "judge/records/record": "def oracle():\n    from ..checking.check import check\n",
        "judge/checking/check": "from ..records.record import oracle\n",
        "judge/trial": "",
    }.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [sentence.split(" (")[0] for sentence in rooms_upward(tmp_path / "house")] == [
        "house/judge/records/record.py:2 imports check from checking, which stands above records",
        "house/judge/trial.py:1: move it into a room of the judge",
    ]


def test_borders_are_crossed_through_public_apis():
    none(past_apis(HOUSE))


@pytest.mark.parametrize("name", ["exercises", "gpu", "runner", "judge", "words"])
def test_the_page_of_a_product_explains_the_names_of_its_public_api(name):
    page = (HOUSE / name / "README.md").read_text(encoding="utf-8")
    tree = ast.parse((HOUSE / name / "__init__.py").read_text(encoding="utf-8"))
    imported = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1)
    assert [alias.name for node in imported for alias in node.names if f"`{alias.name}`" not in page] == []


def test_the_grader_explains_the_names_that_it_offers():
    tree = ast.parse((HOUSE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    offered = {alias.name for node in block.body for alias in node.names}
    assert offered - {"CompareError"} <= set(re.findall(r"\w+", ast.get_docstring(tree)))


def test_the_name_of_a_module_occurs_once():
    """Grep finds one place."""
    none([f"{word}: rename one of {', '.join(places)}" for word, places in repeated(HOUSE).items()])


def test_the_name_of_a_class_occurs_once():
    none([f"{word}: rename one of {', '.join(places)}" for word, places in repeated_classes(HOUSE).items()])


def test_a_class_in_two_modules_is_seen(tmp_path):
    for name, text in {
        "gpu/a": "class Form: ...\n",
        "judge/b": "Form = dict[str, int]\n",
        "judge/c": "FORM = 1\n",
    }.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert repeated_classes(tmp_path / "house") == {"Form": ["gpu.a", "judge.b"]}


def test_nothing_private_is_read_across_a_border():
    none(private(HOUSE))


@pytest.mark.parametrize("folder", ["autograder", "course", "kernels", "solutions", "pytest_plugin"])
def test_no_imports_in_a_circle(folder):
    assert circle(arrows(ROOT / folder)) == []


@pytest.mark.parametrize("name", ["gpu", "runner"])
def test_what_runs_an_answer_does_not_know_what_is_right(name):
    """Nor does anything that it imports, as far as the arrows go."""
    graph = arrows(HOUSE)
    queue, reached = [one for one in graph if product(one) == name], set()
    while queue:
        one = queue.pop()
        if one not in reached:
            reached.add(one)
            queue += graph[one]
    assert {product(one) for one in reached} & {"exercises", "judge", "classroom"} == set()


def test_the_runner_calls_what_is_judged():
    none(run_by_judge(HOUSE))


def test_no_class_inherits_from_another_product():
    none(inherited(HOUSE))


def test_who_calls_or_inherits_across_a_wall_is_seen(tmp_path):
    for name, text in {
        "gpu/__init__": "",
        "runner/__init__": "if TYPE_CHECKING:\n    from .calls import InProcess\n",
        "judge/compare": "from ..gpu import Emulator, Finding\nfrom ..runner import InProcess\n\n\n"
        "class Noted(InProcess):\n    def call(self):\n        from ..gpu import place\n",
        "runner/calls": "from ..gpu import Emulator\n\n\nclass InProcess: ...\nclass Recorded(InProcess): ...\n",
    }.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house = tmp_path / "house"
    assert sorted(run_by_judge(house)) == [
        "house/judge/compare.py:1 takes Emulator from gpu: have the runner call what it is for",
        "house/judge/compare.py:7 takes place from gpu: have the runner call what it is for",
    ]
    assert inherited(house) == ["house/judge/compare.py:5: Noted inherits InProcess of runner: call it"]


def test_what_crosses_a_wall_is_seen(tmp_path):
    """Of a small house with one fault of each kind."""
    for name, text in {
        "__init__": "from .runner.answer import call",
        "runner/__init__": "",
        "runner/call": "def call():\n    from ..exercises.record import Exercise\n",
        "runner/answer": "from .call import call",
        "exercises/__init__": "",
        "exercises/record": "from graded_kernels.autograder.runner.answer import _load\nfrom ..runner import answer\n"
        "answer._kept\n",
    }.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house = tmp_path / "house"
    assert upward(house) == ["house/runner/call.py:2 imports Exercise from exercises, which stands above it"]
    assert sorted(past_apis(house), reverse=True) == [
        "house/runner/call.py:2 imports Exercise from exercises.record: import it from exercises",
        "house/exercises/record.py:2 imports answer from runner.answer: import it from runner",
        "house/exercises/record.py:1 imports _load from runner.answer: import it from runner",
        "house/__init__.py:1 imports call from runner.answer: import it from runner",
    ]
    assert private(house) == [
        "house/exercises/record.py:1 imports _load of runner.answer",
        "house/exercises/record.py:3 reads answer._kept",
    ]
    assert set(crossings(house)) == {
        ("exercises.record", "Exercise"),
        ("runner.answer", "_load"),
        ("runner.answer", "call"),
        ("runner.answer", "answer"),
    }
    assert set(circle(arrows(house))) == {"runner.call", "runner.answer", "exercises.record"}


@pytest.mark.parametrize("folder", PACKAGE)
def test_the_folders_of_the_package_import_downward(folder):
    """course -> autograder -> kernels, solutions: whoever imports the grader does not get the course with it."""
    assert folders_above(ROOT / folder) == []


def test_an_import_of_a_folder_above_is_seen(tmp_path):
    path = tmp_path / "autograder" / "runner" / "call.py"
    path.parent.mkdir(parents=True)
    path.write_text("def call():\n    from ...course.desk import command\n    from ..judge import course\n")
    assert folders_above(tmp_path / "autograder") == ["autograder/runner/call.py imports course"]


@pytest.mark.parametrize("folder", ["autograder", "course"])
def test_a_docstring_begins_with_a_verb_or_a_noun(folder):
    none(noun_clauses(ROOT / folder))


def test_a_docstring_that_is_a_noun_clause_is_seen(tmp_path):
    (tmp_path / "a.py").write_text('"""What it is."""\n\n\ndef f():\n    """Returns what it is."""\n')
    assert noun_clauses(tmp_path) == ["a.py:1: begins with What: say it with a verb or the noun of what is returned"]
