"""The house, read from its source: which product imports what of which. ``python tests/material/house.py`` prints it.

`tests/judge/test_walls.py` holds it to its rules.
"""

import ast
import functools
import re
import sys
import tokenize
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUSE = ROOT / "autograder"
DOOR = ("cli", "__main__")
# From the top to the bottom: a module imports from its own product and from those that stand in a later line.
FLOORS = ("__main__", "cli", "classroom", "exercises", "judge", "runner", "gpu", "words")
FACES = ("gpu", "runner", "judge", "classroom", "words")
SEEN_FROM = (  # modules of which one asks how much stands behind them
    *("judge.checking.case_verdict", "judge.verdicts.make", "judge.side_by_side.comparison", "runner.sandbox.proof"),
    *("gpu.sanitize.sanitizer", "classroom.nbgrader.grade_cells"),
)


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
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
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
        for node in statements(path):
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


def behind(name: str, house: Path = HOUSE) -> set[str]:
    """The modules that one imports, and those that they import, as far as the faces of other products: a face counts,
    what stands behind it does not.
    """
    graph, queue, found = arrows(house), [name], set[str]()
    while queue:
        for other in graph[queue.pop()]:
            if other not in found:
                found.add(other)
                queue += [other] if other not in FACES or other == product(name) else []
    return found - {name}


RECORDS, BUGS = ("Exercise", "Witness"), ("WildBug", "CommonMistake")
MATHEMATICS = ("oracle", "peer", "tolerance")  # the fields of a record whose functions are its mathematics


def beside(path: Path) -> float:
    """The lines that a file of the shelf has beside its mathematics, for each of its functions.

    They are those of its records, inputs and cases that say something to Python. Mathematics are the functions that
    `MATHEMATICS` name and all that these call. Neither count bugs that shipped and common mistakes, which are their
    authors', nor imports, nor lines that hold nothing but what people read: docstrings, hints, names of cases.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    records = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in RECORDS]
    bugs = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in BUGS]
    fields = [word.value for call in records for word in call.keywords if word.arg in MATHEMATICS]
    queue, reached = [*fields, *bugs], set[str]()
    while queue:
        named = {node.id for node in ast.walk(queue.pop()) if isinstance(node, ast.Name)}
        queue += [functions[name] for name in named & functions.keys() - reached]
        reached |= named
    left_out = [functions[name] for name in functions.keys() & reached] + bugs
    left_out += [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = {line for node in left_out for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    with tokenize.open(path) as file:
        tokens = [token for token in tokenize.generate_tokens(file.readline)]
    code = {token.start[0] for token in tokens if token.type in (tokenize.NAME, tokenize.NUMBER)}
    return len(code - lines) / max(len(records), 1)


def shelf(house: Path = HOUSE) -> dict[str, float]:
    """`beside` of each file of the shelf, the longest first."""
    files = [path for path in (house / "exercises").glob("*.py") if path.stem not in ("__init__", "shelf")]
    return dict(sorted(((path.stem, beside(path)) for path in files), key=lambda item: -item[1]))


def table(house: Path = HOUSE) -> Iterator[str]:
    """What `main` prints: names across each border, what goes up or is private, and what stands behind some modules."""
    crossed = crossings(house)
    for name in FACES:
        yield f"names imported from {name} by other products: {sum(product(module) == name for module, _ in crossed)}"
    yield f"names that cross a border: {sum(module not in DOOR for module, _ in crossed)}"
    yield f"past a face: {len(past_faces(house))}, upward: {len(upward(house))}, private: {len(private(house))}"
    yield f"names of modules that occur twice: {len(repeated(house))}"
    longest = list(shelf(house).items())[:5]
    yield f"lines beside the mathematics, a function: {', '.join(f'{name} {lines:.0f}' for name, lines in longest)}"
    for name in SEEN_FROM:
        yield f"modules behind {name}: {len(behind(name, house))}"


if __name__ == "__main__":
    print(*table(), sep="\n")
    sys.exit(0)
