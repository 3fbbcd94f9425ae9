"""The house, read from its source: which product imports what of which. ``python tests/material/house.py`` prints it.

`tests/judge/test_walls.py` holds it to its rules.
"""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUSE = ROOT / "autograder"
DOOR = ("cli", "__main__")
# From the top to the bottom: a module imports from its own product and from those that stand in a later line.
FLOORS = ("__main__", "cli", "classroom", "exercises", "judge", "runner", "gpu", "words")
PRODUCTS = ("gpu", "runner", "judge", "classroom", "words")


def sources(house: Path) -> dict[str, Path]:
    """Every module of a folder of Python files by its dotted name; the door itself, ``__init__``, is left out."""
    found = {}
    for path in sorted(house.rglob("*.py")):
        parts = path.relative_to(house).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


@functools.cache  # to parse the house takes more than a second, and to walk through it as long again
def statements(path: Path) -> list[ast.AST]:
    """The imports of a module and the attributes that it reads, wherever in its text."""
    kinds = (ast.Import, ast.ImportFrom, ast.Attribute)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]


def imported(name: str, path: Path, known: dict[str, Path]) -> list[tuple[int, str, str]]:
    """What a module imports from the same house, wherever in its text: the line, the module, and the name."""
    package = [part for part in name.split(".") if part][: None if path.name == "__init__.py" else -1]
    found = []
    for node in statements(path):
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


# The rooms of the judge, from the lowest up: a module imports from its own room and from those that stand before it.
ROOMS = ("records", "batches", "results", "report", "comparing", "explaining", "checking", "verdicts")
ROOMS += ("side_by_side", "commands")


def rooms_upward(house: Path) -> list[str]:
    """Imports inside of the judge that go from a room to a higher one, a sentence each; modules without a room."""
    known, sentences = sources(house), []
    for name, path in known.items():
        if product(name) != "judge" or name == "judge":
            continue
        where, (_, room, *_) = path.relative_to(house.parent), name.split(".")
        if room not in ROOMS:
            sentences.append(f"{where}:1: move it into a room of the judge ({', '.join(ROOMS)})")
            continue
        for line, other, alias in imported(name, path, known):
            above = other.split(".")[1] if other.startswith("judge.") else room
            if above in ROOMS and ROOMS.index(above) > ROOMS.index(room):
                sentences.append(f"{where}:{line} imports {alias} from {above}, which stands above {room}")
    return sentences


def repeated_classes(house: Path) -> dict[str, list[str]]:
    """Names of classes and of type aliases that stand in several modules, with these."""
    places: dict[str, list[str]] = {}
    for name, path in sources(house).items():
        if product(name) == "exercises":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            word = ""
            if isinstance(node, ast.ClassDef):
                word = node.name
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                word = node.targets[0].id
            if re.match(r"_?[A-Z]+[a-z]", word):
                places.setdefault(word, []).append(name)
    return {word: modules for word, modules in places.items() if len(modules) > 1}


def noun_clauses(folder: Path) -> list[str]:
    """Docstrings that begin with a word of a question in place of a verb or a noun, a sentence each."""
    sentences = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                word = re.match(r"(What|Whether|How|Which|Who|Whose)\b", ast.get_docstring(node) or "")
                if word:
                    place = f"{path.relative_to(folder)}:{getattr(node, 'lineno', 1)}"
                    remedy = "say it with a verb or the noun of what is returned"
                    sentences.append(f"{place}: begins with {word[1]}: {remedy}")
    return sentences


def crossings(house: Path) -> dict[tuple[str, str], list[str]]:
    """Names that are imported from another product, by module and name: who does so, with file and line. The house's
    own ``__init__`` is of none.
    """
    known, found = sources(house), {}
    for name, path in [*known.items(), *(("", path) for path in house.glob("__init__.py"))]:
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
        for node in statements(path):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                if re.match(r"_[a-z]", node.attr):
                    found.append(f"{where}:{node.lineno} reads {node.value.id}.{node.attr}")
    return found


def inherited(house: Path) -> list[str]:
    """Classes that inherit from a class of another product: a callback says what is wanted of it."""
    known, found = sources(house), []
    for name, path in known.items():
        foreign = {alias: other for _, other, alias in imported(name, path, known) if product(other) != product(name)}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                word = ast.unparse(base).partition("[")[0].partition(".")[0]
                if word in foreign:
                    where = f"{path.relative_to(house.parent)}:{base.lineno}"
                    found.append(f"{where}: {node.name} inherits {ast.unparse(base)} of {foreign[word]}: call it")
    return found


# What the judge takes from gpu: data, what compilers say as data, and a decorator of its own modes of PyTorch.
DATA = frozenset(
    "ATEN CANNOT_SHOW CannotCompile Finding KernelLaunch LANE_VALUES RULES Target compile_report lazily".split()
)


def run_by_judge(house: Path) -> list[str]:
    """Names of gpu in the judge that are no data: what runs code is the runner's."""
    return [
        f"{where} takes {alias} from {module}: have the runner call what it is for"
        for (module, alias), places in crossings(house).items()
        for where in places
        if product(module) == "gpu" and alias not in DATA and where.startswith(f"{house.name}/judge/")
    ]


def past_apis(house: Path) -> list[str]:
    """Imports from the inside of another product. The command line enters each by its commands."""
    return [
        f"{where} imports {alias} from {module}: import it from {product(module)}"
        for (module, alias), places in crossings(house).items()
        for where in places
        if module != product(module) and not where.startswith(tuple(f"autograder/{name}.py" for name in DOOR))
    ]


def past_apis_in_tests(tests: Path, house: Path) -> dict[str, list[str]]:
    """Imports of test modules from the inside of another product than their folder's, a sentence each, by module."""
    known, sentences = sources(house), {}
    for path in sorted(tests.glob("*/test_*.py")):
        for line, module, alias in imported("", path, known):
            if module not in (*FLOORS, "") and product(module) != path.parent.name:
                where, owner = path.relative_to(tests).as_posix(), product(module)
                remedy = f"ask {owner} for it, or move the test there"
                sentences.setdefault(where, []).append(f"{where}:{line} imports {alias} from {module}: {remedy}")
    return sentences


def repeated(house: Path) -> dict[str, list[str]]:
    """The names of modules that stand in several places, with these; but for the words that each product or case has:
    its commands, what it borrows, and on the shelf the case that a file is about.
    """
    places: dict[str, list[str]] = {}
    for name, path in sources(house).items():
        *_, word = name.split(".")
        if product(name) != "exercises" and word not in ("borrowed", "command") and path.name != "__init__.py":
            places.setdefault(word, []).append(name)
    return {word: found for word, found in places.items() if len(found) > 1}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a circle, if there is one. A package and what its ``__init__`` gathers are no circle."""
    plain = {one: {o for o in others if not one.startswith(f"{o}.")} for one, others in graph.items()}
    try:
        TopologicalSorter(plain).prepare()
    except CycleError as error:
        return error.args[1]
    return []


# The folders of the package, from the top: each may import from those that stand in a later line.
PACKAGE = {"course": 0, "pytest_plugin": 0, "autograder": 1, "kernels": 2, "solutions": 3}


def folders_above(folder: Path) -> list[str]:
    """Imports from a folder of the package that stands above or on the same floor as ``folder``, wherever they are."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        depth = len(path.relative_to(folder.parent).parts) - 1
        for node in statements(path):
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


def table(house: Path = HOUSE) -> Iterator[str]:
    """Lines that the script prints: names across each border, and what goes up or is private."""
    crossed = crossings(house)
    for name in PRODUCTS:
        yield f"names imported from {name} by other products: {sum(product(module) == name for module, _ in crossed)}"
    yield f"names that cross a border: {sum(module not in DOOR for module, _ in crossed)}"
    yield f"past a public API: {len(past_apis(house))}, upward: {len(upward(house))}, private: {len(private(house))}"
    yield f"names of modules that occur twice: {len(repeated(house))}"


if __name__ == "__main__":
    print(*table(), sep="\n")
    sys.exit(0)
