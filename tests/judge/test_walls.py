"""The walls of `autograder/`: four products and a shelf. Imports run downward, and across a border through a face."""

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from graded_kernels import autograder

HOUSE = Path(autograder.__file__).parent
ROOT = HOUSE.parent
DOOR = ("cli", "__main__")
# From the top to the bottom: a module imports from its own product and from those that stand in a later line.
FLOORS = ("__main__", "cli", "classroom", "exercises", "judge", "runner", "gpu", "words")
FACES = {"gpu": 48, "runner": 76, "judge": 95, "classroom": 0, "words": 18}  # the most names that others import
TESTS = ("gpu", "runner", "judge", "classroom", "exercises", "course", "material")


def sources(house: Path) -> dict[str, Path]:
    """Every module of a folder of Python files by its dotted name; the door itself, ``__init__``, is left out."""
    found = {}
    for path in sorted(house.rglob("*.py")):
        parts = path.relative_to(house).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> list[tuple[int, str, str]]:
    """What a module imports from the same house, wherever in its text: the line, the module, and the name."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1] if node.level <= len(package) + 1 else None
                if base is None:  # out of the house: kernels and solutions have an order of their own
                    continue
            elif (node.module or "").startswith("graded_kernels.autograder"):
                base = []
            else:
                continue
            module = (node.module or "").removeprefix("graded_kernels.autograder").strip(".")
            prefix = ".".join([*base, *filter(None, [module])])
            for alias in node.names:
                whole = f"{prefix}.{alias.name}".strip(".")
                found.append((node.lineno, whole if whole in known else prefix, alias.name))
    return [(line, one, alias) for line, one, alias in found if one in known and one != name]


@functools.cache  # parsing the house takes more than a second
def arrows(house: Path) -> dict[str, set[str]]:
    known = sources(house)
    return {name: {one for _, one, _ in imported(name, path, known)} for name, path in known.items()}


def product(name: str) -> str:
    return name.split(".")[0]


def upward(house: Path) -> list[str]:
    """Imports that go up, a sentence each."""
    known = sources(house)
    floor = {name: number for number, name in enumerate(FLOORS)}
    return [
        f"{path.relative_to(house.parent)}:{line} imports {alias} from {product(other)}, which stands above it"
        for name, path in known.items()
        for line, other, alias in imported(name, path, known)
        if floor[product(name)] > floor[product(other)]
    ]


def crossings(house: Path) -> dict[tuple[str, str], list[str]]:
    """Names that are imported from another product, by module and name: who does so, with file and line."""
    known, found = sources(house), {}
    for name, path in known.items():
        for line, other, alias in imported(name, path, known):
            if product(name) != product(other):
                found.setdefault((other, alias), []).append(f"{path.relative_to(house.parent)}:{line}")
    return found


def private(house: Path) -> list[str]:
    """Private names that are imported from another product, or read of a module or a name that was."""
    known, found = sources(house), []
    for name, path in known.items():
        foreign = [one for one in imported(name, path, known) if product(one[1]) != product(name)]
        where = path.relative_to(house.parent)
        found += [f"{where}:{line} imports {alias} of {other}" for line, other, alias in foreign if alias[0] == "_"]
        names = {alias for _, _, alias in foreign}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                if re.match(r"_[a-z]", node.attr):
                    found.append(f"{where}:{node.lineno} reads {node.value.id}.{node.attr}")
    return found


def past_faces(house: Path) -> list[str]:
    """Imports from the inside of another product. The command line enters each by its commands."""
    return [
        f"{where} imports {alias} from {module}: import it from {product(module)}"
        for (module, alias), places in crossings(house).items()
        for where in places
        if module != product(module) and not where.startswith(tuple(f"autograder/{name}.py" for name in DOOR))
    ]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a circle, if there is one. A package and what its ``__init__`` gathers are no circle."""
    plain = {one: {o for o in others if not one.startswith(f"{o}.")} for one, others in graph.items()}
    try:
        TopologicalSorter(plain).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_module_has_a_product():
    assert {product(name) for name in sources(HOUSE)} == set(FLOORS)
    assert {path.stem for path in HOUSE.glob("*.py")} == {"__init__", *DOOR}


def test_every_test_has_a_product():
    assert [str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py")] == []
    assert {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} <= set(TESTS)


def test_imports_run_downward():
    assert upward(HOUSE) == []


def test_borders_are_crossed_through_faces():
    assert past_faces(HOUSE) == []


@pytest.mark.parametrize("name", FACES)
def test_a_face_has_few_names(name):
    found = {alias for module, alias in crossings(HOUSE) if module == name}
    assert len(found) <= FACES[name]


def test_nothing_private_is_read_across_a_border():
    assert private(HOUSE) == []


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


def test_what_crosses_a_wall_is_seen(tmp_path):
    """Of a small house with one fault of each kind."""
    for name, text in {
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
    assert sorted(past_faces(house), reverse=True) == [
        "house/runner/call.py:2 imports Exercise from exercises.record: import it from exercises",
        "house/exercises/record.py:2 imports answer from runner.answer: import it from runner",
        "house/exercises/record.py:1 imports _load from runner.answer: import it from runner",
    ]
    assert private(house) == [
        "house/exercises/record.py:1 imports _load of runner.answer",
        "house/exercises/record.py:3 reads answer._kept",
    ]
    assert set(crossings(house)) == {
        ("exercises.record", "Exercise"),
        ("runner.answer", "_load"),
        ("runner.answer", "answer"),
    }
    assert set(circle(arrows(house))) == {"runner.call", "runner.answer", "exercises.record"}


# The folders of the package, from the top: each may import from those that stand in a later line.
PACKAGE = {"course": 0, "pytest_plugin": 0, "autograder": 1, "kernels": 2, "solutions": 3}


def folders_above(folder: Path) -> list[str]:
    """Imports from a folder of the package that stands above or on the same floor as ``folder``, wherever they are."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        depth = len(path.relative_to(folder.parent).parts) - 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                modules = [node.module] if node.module else [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            targets = {module.removeprefix("graded_kernels.").split(".")[0] for module in modules}
            found += [
                f"{path.relative_to(folder.parent)} imports {target}"
                for target in sorted(targets & set(PACKAGE))
                if target != folder.name and PACKAGE[target] <= PACKAGE[folder.name]
            ]
    return found


@pytest.mark.parametrize("folder", PACKAGE)
def test_the_folders_of_the_package_import_downward(folder):
    """course -> autograder -> kernels, solutions: whoever imports the grader does not get the course with it."""
    assert folders_above(ROOT / folder) == []


def test_an_import_of_a_folder_above_is_seen(tmp_path):
    path = tmp_path / "autograder" / "runner" / "call.py"
    path.parent.mkdir(parents=True)
    path.write_text("def call():\n    from ...course.desk import command\n    from ..judge import course\n")
    assert folders_above(tmp_path / "autograder") == ["autograder/runner/call.py imports course"]
