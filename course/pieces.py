"""The pieces of the course fit together: records, answers, chapters.

`problems` finds all that is missing or too much, each in one sentence that begins with file and line.
"""

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..autograder.judge import Exercise as Function
from ..autograder.judge import RecordError, Witness
from ..autograder.judge.records.validation import validate
from .chapter import ChapterError, Exercise, parse
from .chapter_rules import Asked, breaches
from .regions import BACKENDS, Region, find_regions, hide_bodies

RECORDS = "autograder/exercises"
NAME = re.compile(r'^\s*name="(\w+)"')  # of a record, on a line of its own
QUOTED = re.compile(r"'([^']+)'")

Records = dict[str, Function | Witness]
Regions = dict[tuple[str, str], Region]
Places = dict[tuple[str, str], list["Place"]]  # of the lines that ask for each answer


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def problems(root: Path, exercises: Records, show: Callable[[str], None] = lambda text: None) -> list[str]:
    """Returns what is wrong with the records, answers and chapters below ``root``, in sentences with paths relative to
    it.

    ``exercises`` are what a chapter may ask for; a record is looked at where its text is below ``root``. ``show`` takes
    the name of each record before its cases are drawn, which is most of the time.
    """
    try:
        regions = find_regions(root)
    except ValueError as error:
        return [relative(str(error), root)]
    places = find_records(root)
    records = {name: record for name, record in exercises.items() if name in places}
    chapters, unread = _parsed(root)
    asked: Places = {}
    for path, lines in chapters.items():
        for line in lines:
            asked.setdefault(line.key, []).append(Place(path, line.line))
    sentences = [*unread, *_of_files(root, places), *_of_lines(asked, regions, exercises, places)]
    for count, (name, record) in enumerate(records.items(), start=1):
        show(f"record {count} of {len(records)}: {name}")
        sentences += _of_record(record, places[name])
        sentences += _of_answers(record, places[name], regions)
        sentences += _of_public_function(record, regions, root)
        sentences += _of_gradient(record, places[name], exercises)
        if not unread:  # of a chapter with a mistake nobody can say what it asks for
            sentences += _of_chapters(record, places[name], asked)
    sentences += _of_regions(regions, exercises)
    sentences += breaches({path: _all_asked(chapters[path], regions, exercises) for path in chapters}, root)
    return [relative(sentence, root) for sentence in sentences]


def _all_asked(lines: list[Exercise], regions: Regions, exercises: Records) -> list[Asked]:
    """Without an answer that has a mistake itself."""
    answers = ((line, regions.get(line.key), exercises.get(line.name)) for line in lines)
    return [
        Asked(line, None if region is None or any(_of_answer(region)) else region, _hints(record))
        for line, region, record in answers
    ]


def _hints(record: Function | Witness | None) -> frozenset[str]:
    """The hints that a report on it gives."""
    if record is None:
        return frozenset()
    return frozenset([record.hint, *(case.hint for case in getattr(record, "cases", ()))])


def relative(sentence: str, root: Path) -> str:
    """``sentence`` with its paths relative to ``root``."""
    return sentence.replace(f"{root}/", "")


def find_records(root: Path) -> dict[str, Place]:
    """Where the record of each exercise says its name."""
    places: dict[str, Place] = {}
    for path in sorted((root / RECORDS).glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if match := NAME.match(line):
                places[match[1]] = Place(path, number)
    return places


def _parsed(root: Path) -> tuple[dict[Path, list[Exercise]], list[str]]:
    """Returns what each chapter asks for, and the mistakes in the directives of those that cannot be read."""
    chapters: dict[Path, list[Exercise]] = {}
    unread = []
    for path in sorted((root / "course" / "chapters").glob("*.md")):
        try:
            pieces = parse(path, path.read_text(encoding="utf-8"))
            chapters[path] = [piece for piece in pieces if isinstance(piece, Exercise)]
        except ChapterError as error:
            unread.append(str(error))
    return chapters, unread


def _of_files(root: Path, places: dict[str, Place]) -> Iterator[str]:
    """The files of the shelf without a record; what gathers them names none."""
    with_records = {place.path for place in places.values()}
    for path in sorted((root / RECORDS).glob("*.py")):
        if path not in with_records and path.name not in ("__init__.py", "shelf.py"):
            yield f"{path}:1: has no record: write one, or move what several records share to {RECORDS}/cases"


def _of_lines(asked: Places, regions: Regions, exercises: Records, places: dict[str, Place]) -> Iterator[str]:
    """Yields what is asked for and is neither answered nor recorded; of what is one of both, the other is told
    elsewhere.
    """
    for (folder, name), (place, *more) in asked.items():
        if name not in exercises and (folder, name) not in regions:
            close = " or ".join(difflib.get_close_matches(name, exercises))
            yield f"{place}: no exercise is called `{name}`: {f'is it {close}?' if close else 'write its record'}"
        elif name in exercises and BACKENDS[folder] not in exercises[name].backends:
            yield f"{place}: exercise `{name}` is not answered in {BACKENDS[folder]}"
        elif name not in places and (folder, name) not in regions:
            yield f"{place}: no file in {folder}/ has a region `# %% {name}`"
        yield from (f"{again}: `{name}` is already in {place}: take one of the lines out" for again in more)


def _of_chapters(record: Function | Witness, place: Place, asked: Places) -> Iterator[str]:
    for folder, backend in BACKENDS.items():
        if backend in record.backends and (folder, record.name) not in asked:
            yield f"{place}: no chapter has a line {{exercise}}`{folder}/{record.name}`: write it into one"


def _of_record(record: Function | Witness, place: Place) -> Iterator[str]:
    try:
        validate(record)
    except RecordError as error:
        quoted = QUOTED.search(str(error))
        yield f"{_line_of(quoted[1], place) if quoted else place}: {error}"


def _line_of(word: str, place: Place) -> Place:
    """Where a record has ``word`` in quotes: from its name on, or else before it; its name's line if nowhere."""
    lines = place.path.read_text(encoding="utf-8").splitlines()
    order = [*range(place.line - 1, len(lines)), *range(place.line - 1)]
    return next((Place(place.path, at + 1) for at in order if f'"{word}"' in lines[at]), place)


def _of_answers(record: Function | Witness, place: Place, regions: Regions) -> Iterator[str]:
    for folder, backend in BACKENDS.items():
        region = regions.get((folder, record.name))
        if backend not in record.backends:
            if region is not None:
                yield f"{_of(region)}: {record.name} is not answered in {backend}: add it to backends, or delete this"
        elif region is None:
            yield f'{place}: {record.name} is answered in {backend}, but {folder}/ has no region "# %% {record.name}"'
        elif wrong := [*_of_answer(region)]:
            yield from wrong
        else:
            yield from _of_stub(record, region)


def _of_stub(record: Function | Witness, region: Region) -> Iterator[str]:
    """Yields what a learner is handed of an answer, signature and docstring, has to be what a check asks for."""
    for node in ast.parse(region.source).body:
        if isinstance(node, ast.FunctionDef) and node.name == region.name:
            place, given, asked = Place(region.path, region.line + node.lineno), _given(node), _asked_by(record)
            if given != asked:
                yield f"{place}: {region.name}{given} has another signature than its record, {asked}: give both one"
            if not ast.get_docstring(node):
                yield f"{place}: {region.name} has no docstring, which is all that a learner knows of it: write one"


def _given(function: ast.FunctionDef) -> str:
    """The signature of an answer, without annotations."""
    names = [argument.arg for argument in function.args.args]
    defaults = [f"={ast.unparse(default)}" for default in function.args.defaults]
    first = [""] * (len(names) - len(defaults))
    return f"({', '.join(map(str.__add__, names, first + defaults))})"


def _asked_by(record: Function | Witness) -> str:
    """That of a record: its oracle's; of a witness nothing, or the block in which it has one of several suspects."""
    if isinstance(record, Witness):
        return "(block)" if record.others else "()"
    given = inspect.signature(record.oracle).parameters.values()
    return f"({', '.join(one.name if one.default is one.empty else f'{one.name}={one.default!r}' for one in given)})"


def _of_gradient(record: Function | Witness, place: Place, exercises: Records) -> Iterator[str]:
    """Yields what is called a gradient is proven to be one only where the record says of which function."""
    forward = f"{record.name.removesuffix('_backward')}_forward"
    if forward in exercises and record.name.endswith("_backward") and getattr(record, "forward", None) is None:
        yield f"{place}: {record.name} does not say whose gradient it is: add forward={forward}"


def _of(region: Region) -> Place:
    return Place(region.path, region.line)


def _of_answer(region: Region) -> Iterator[str]:
    try:
        hide_bodies(region)
        body = ast.parse(region.source).body
    except SyntaxError as error:
        yield f"{Place(region.path, region.line + (error.lineno or 0))}: {error.msg}"
        return
    except ValueError as error:
        yield str(error)
        return
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == region.name and _is_stub(node):
            yield f"{Place(region.path, region.line + node.lineno)}: {region.name} is a stub: write its body"


def _is_stub(function: ast.FunctionDef) -> bool:
    last = function.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...


def _of_public_function(record: Function | Witness, regions: Regions, root: Path) -> Iterator[str]:
    """A forward and its gradient in Triton are also one function that a training script imports."""
    region = regions.get(("kernels", record.name))
    if region is None or isinstance(record, Witness) or record.forward is None:
        return
    name = record.forward.name.removesuffix("_forward")
    files = [root / "kernels" / f"{stem}.py" for stem in (name, f"{name}_function", "__init__")]
    *modules, package = (path.read_text(encoding="utf-8") if path.is_file() else "" for path in files)
    if not any(re.search(rf"^def {name}\(", text, flags=re.MULTILINE) for text in modules):
        yield (
            f"{_of(region)}: {record.forward.name} and {record.name} have no function `{name}` that training scripts "
            f"import: write it, differentiable, in kernels/{name}.py or kernels/{name}_function.py"
        )
    elif not re.search(rf"^from \.\w+ import {name}$", package, flags=re.MULTILINE):
        yield f"{_of(region)}: training scripts cannot import `{name}` yet: import it in kernels/__init__.py"


def _of_regions(regions: Regions, exercises: Records) -> Iterator[str]:
    """Answers without a record. A function that training scripts import is none."""
    names = {name for _, name in regions} | exercises.keys()
    reported = set()
    for (folder, name), region in regions.items():
        public = folder == "kernels" and f"{name}_forward" in names
        if name not in exercises and not public and name not in reported:
            reported.add(name)
            yield f"{_of(region)}: no record in {RECORDS}/ is named {name}: write one, or rename this region"
