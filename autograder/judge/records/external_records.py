"""Records from outside the course: from a file, and from packages that offer theirs by an entry point. And a teacher's
own cases of an exercise, from a file as well.

[project.entry-points."graded_kernels.exercises"]
my_ops = "my_package.exercises"            # a module with records, or "my_package.exercises:my_op": one, or a tuple

The course is a customer of the same door; a mistake in its own records is raised, one in others' is reported.
"""

import functools
import sys
import traceback
import types
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ...runner import Offers
from .record import Case, Exercise, RecordError, Witness
from .validation import of_cases, validate

Record = Exercise | Witness
NAME = "hidden: "  # begins the name of a teacher's case, so that a learner knows why the notebook's check lacks it


class Offer(NamedTuple):
    """Holds what an entry point offers. package: its name and version. problem: why it has no records, or ""."""

    package: str
    records: tuple[Record, ...]
    problem: str = ""


def read(path: Path, name: str) -> Record:
    """Returns the record of this name in a Python file, which is run: it must be trusted. Files in its folder can be
    imported. Raises RecordError.
    """
    if path.suffix != ".py" or not path.is_file():
        raise RecordError(f"there is no Python file {path} to read a record from")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return _named(name, path.read_bytes(), str(path))


@functools.lru_cache(maxsize=64)
def read_text(text: str, name: str) -> Record:
    """Returns the record of this name in the text of a file, which is run: it must be trusted. Raises RecordError."""
    return _named(name, text.encode(), f"{name}_record.py")


def read_cases(text: str, record: Record) -> tuple[Case, ...]:
    """Returns the cases in the text of a teacher's file for an exercise, hidden; it is run: it must be trusted.

    Every `Case` that the file's names hold counts, alone or in a list or tuple. Raises RecordError.
    """
    filename = f"{record.name}.py"
    if not isinstance(record, Exercise):
        raise RecordError(f"{filename}: {record.name} asks for an input, and has no cases to add to")
    cases = _cases_of(_module(text.encode(), filename))
    if not cases:
        raise RecordError(f"{filename} defines no case: write CASES = [Case(name, inputs, hint), ...]")
    hidden = tuple(replace(case, name=NAME + case.name, hidden=True) for case in cases)
    cases = record.with_cases(hidden).cases[len(record.cases) :]
    for mistake in of_cases(record, cases):
        raise RecordError(f"{filename}: {mistake}")
    return cases


def _cases_of(module: types.ModuleType) -> tuple[Case, ...]:
    held = (value if isinstance(value, list | tuple) else (value,) for value in vars(module).values())
    return tuple({id(case): case for values in held for case in values if isinstance(case, Case)}.values())


def _named(name: str, source: bytes, filename: str) -> Record:
    records = {record.name: record for record in _records_of(_module(source, filename))}
    if not records:
        raise RecordError(f"{filename} defines no record: write {name} = Exercise(name={name!r}, ...)")
    if name not in records:
        raise RecordError(f"{filename} has no record named {name!r}; it has {', '.join(records)}")
    validate(records[name])
    return records[name]


def _module(source: bytes, filename: str) -> types.ModuleType:
    """Returns the ``source`` as a module."""
    module = types.ModuleType(f"graded_kernels_record_{Path(filename).stem}")
    module.__file__ = filename
    sys.modules[module.__name__] = module  # where dataclasses and Triton look for it
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    except RecordError:
        raise
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
        lines += [error.lineno] if isinstance(error, SyntaxError) else []
        where = f", line {lines[-1]}" if lines else ""
        raise RecordError(f"{filename}{where}: {type(error).__name__}: {error}") from None
    return module


def _records_of(value: object) -> tuple[Record, ...]:
    if isinstance(value, Record):
        return (value,)
    values = vars(value).values() if isinstance(value, types.ModuleType) else value if isinstance(value, tuple) else ()
    return tuple({id(value): value for value in values if isinstance(value, Record)}.values())


@functools.cache
def offers() -> tuple[Offer, ...]:
    """The records of other installed packages, by name. What cannot be used is reported, not raised."""
    return tuple(map(_offer, Offers(course=False).points))


def course_records() -> tuple[Record, ...]:
    """The course's own. Raises RecordError where one of its files cannot be imported, or the package is not installed
    with its entry points.
    """
    for point in Offers(course=True).points:
        return _records_of(point.load())
    raise RecordError(
        "graded-kernels is installed without its entry point of the group graded_kernels.exercises: run `make doctor` "
        "in its checkout, or `pip install` the package again"
    )


def _offer(point: metadata.EntryPoint) -> Offer:
    package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    try:
        records = _records_of(point.load())
        for record in records:
            validate(record)
    except Exception as error:
        message = str(error) if isinstance(error, RecordError) else f"{type(error).__name__}: {error}"
        return Offer(package, (), f"the exercises of {package} ({point.value}) cannot be used: {message}")
    problem = "" if records else f"{point.value} of {package} holds no exercise: name a module with records, or one"
    return Offer(package, records, problem)
