"""The rooms of `autograder/`: what runs an answer must not know what is right. The order is drawn from the source."""

import ast
import functools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from graded_kernels import autograder

HOUSE = Path(autograder.__file__).parent
DOOR = ("cli", "__main__", "check", "ulp")
# From the top to the bottom: a module imports from its own room and from rooms that stand in a later line.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("classroom",),
    ("nbgrader", "side_by_side"),
    ("verdicts", "sanitize"),
    ("commands",),
    ("check",),
    ("judge", "report"),  # who decides, and who shows: neither imports the other
    ("exercises",),
    ("results",),
    ("sandbox",),
    ("run", "doctor"),
    ("compiler",),
    ("emulator",),
    ("ulp",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def sources(house: Path) -> dict[str, Path]:
    """Every module of a folder of Python files by its dotted name; the door itself, ``__init__``, is left out."""
    found = {}
    for path in sorted(house.rglob("*.py")):
        parts = path.relative_to(house).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that one imports from the same house, wherever in its text it does so."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
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
                found.add(whole if whole in known else prefix)
    return {one for one in found if one in known and one != name}


@functools.cache  # parsing the house takes more than a second
def arrows(house: Path) -> dict[str, set[str]]:
    known = sources(house)
    return {name: imports(name, path, known) for name, path in known.items()}


def upward(graph: dict[str, set[str]]) -> list[str]:
    """Imports that go up, or across to another room of the same floor."""
    room = {name: name.split(".")[0] for name in graph}
    return [
        f"{one} imports {other}"
        for one, others in graph.items()
        for other in sorted(others)
        if room[one] != room[other] and FLOOR[room[one]] >= FLOOR[room[other]]
    ]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a circle, if there is one. A package and what its ``__init__`` gathers are no circle."""
    plain = {one: {o for o in others if not one.startswith(f"{o}.")} for one, others in graph.items()}
    try:
        TopologicalSorter(plain).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_module_has_a_room():
    assert {name.split(".")[0] for name in sources(HOUSE)} == set(FLOOR)
    assert {path.stem for path in HOUSE.glob("*.py")} == {"__init__", *DOOR}


def test_imports_run_downward():
    assert upward(arrows(HOUSE)) == []


@pytest.mark.parametrize("folder", ["autograder", "course", "kernels", "solutions", "pytest_plugin"])
def test_no_imports_in_a_circle(folder):
    assert circle(arrows(HOUSE.parent / folder)) == []


@pytest.mark.parametrize("room", ["run", "emulator", "compiler", "sandbox"])
def test_what_runs_an_answer_does_not_know_what_is_right(room):
    """Nor does anything that it imports, as far as the arrows go."""
    graph = arrows(HOUSE)
    queue, reached = [name for name in graph if name.split(".")[0] == room], set()
    while queue:
        name = queue.pop()
        if name not in reached:
            reached.add(name)
            queue += graph[name]
    assert {name.split(".")[0] for name in reached} & {
        "exercises",
        "judge",
        "results",
        "report",
        "check",
    } == set()


def test_an_arrow_upward_and_a_circle_are_seen(tmp_path):
    """Of a small house with one fault of each kind."""
    for name, text in {
        "run/__init__": "",
        "run/runner": "def call():\n    from ..exercises.record import Exercise\n",
        "run/answer": "from .runner import call",
        "exercises/__init__": "",
        "exercises/record": "from graded_kernels.autograder.runner.call.answer import load",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    graph = arrows(tmp_path)
    assert upward(graph) == ["run.runner imports exercises.record"]
    assert set(circle(graph)) == {"run.runner", "run.answer", "exercises.record"}


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
    assert folders_above(HOUSE.parent / folder) == []


def test_an_import_of_a_folder_above_is_seen(tmp_path):
    path = tmp_path / "autograder" / "run" / "runner.py"
    path.parent.mkdir(parents=True)
    path.write_text("def call():\n    from ...course.desk import command\n    from ..judge import course\n")
    assert folders_above(tmp_path / "autograder") == ["autograder/runner/call/runner.py imports course"]
