"""A line of a table of comparisons: what is compared and how, checked before anything of it runs."""

import functools
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from ...words import Quality, UsageError
from ..verdicts import source
from ..verdicts.job import Work
from .method import COMPUTES, KINDS

FIELDS = ("id", "reference", "candidate", "arguments", "like", "seed", "options")


@dataclass(frozen=True)
class Side:
    """A reference, a candidate or arguments. named: as the shell has it; of what is text, the name in it. text: of the
    module, "" where ``named`` is of an installed package. inline: whether the text lay in the table.
    """

    named: str
    text: str = ""
    inline: bool = False

    @property
    def name(self) -> str:
        """The name in the module; "" in KernelBench's form."""
        return self.named if self.inline else self.named.partition(":")[2]

    @property
    def file(self) -> str:
        """The path, where it is a file."""
        path = self.named.partition(":")[0]
        return path if path.endswith(".py") and not self.inline else ""


@dataclass(frozen=True)
class Options:
    """without: names of families to leave out. forward_only: gradients are not compared. only: what decides.
    compiler: whether launches are compiled. computes: how a candidate may compute; any_method: in any way.
    """

    without: tuple[str, ...] = ()
    forward_only: bool = False
    only: tuple[str, ...] = ("correct", "portable")
    compiler: bool = True
    any_method: bool = False
    computes: tuple[str, ...] = COMPUTES


@dataclass(frozen=True)
class ComparisonJob(Work):
    """A comparison. id: the table's, or the number of its line. table: where it was read. Other files that its texts
    import do not decide: they are not in its key.
    """

    id: str | int
    reference: Side
    candidate: Side
    arguments: Side | None = None
    like: str | None = None
    seed: int = 0
    options: Options = Options()
    isolated: bool = False
    table: str = ""

    @property
    def name(self) -> str:
        """For a dashboard."""
        return f"compare-{self.id}"

    def decides(self) -> dict[str, Any]:
        """Texts and options."""
        return {name: value for name, value in self.data().items() if name not in ("id", "table")}

    @staticmethod
    @functools.cache
    def versions() -> dict[str, str]:
        """As `Work.versions`, and the digest of what compares."""
        return Work.versions() | {"compare": source.digest(decides=("judge/side_by_side",))}

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """As `Work.of`."""
        sides = {name: data[name] and Side(**data[name]) for name in ("reference", "candidate", "arguments")}
        options: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data["options"].items()}
        return cls(**data | sides | {"options": Options(**options)})


def read(path: str, isolated: bool) -> list[ComparisonJob]:
    """The jobs of a table, a JSON object a line. Raises UsageError, which names the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise UsageError(f"{path} cannot be read: {why}") from None
    jobs: dict[str | int, ComparisonJob] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                job = replace(_job(line, number, isolated), table=path)
                if job.id in jobs:
                    raise ValueError(f"another line has the id {job.id!r} as well: give each its own")
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}, line {number}: {error}") from None
            jobs[job.id] = job
    if not jobs:
        raise UsageError(
            f'{path} has no line: write a job a line, as in {{"reference": "problem.py", "candidate": "solution.py"}}'
        )
    return [*jobs.values()]


def _job(line: str, number: int, isolated: bool) -> ComparisonJob:
    """Raises ValueError."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON ({error.msg}, column {error.colno})") from None
    if not isinstance(data, dict):
        raise ValueError('a job is an object, as in {"reference": ..., "candidate": ...}')
    if unknown := data.keys() - set(FIELDS):
        raise ValueError(f"there is no field {min(unknown)!r}; there are {', '.join(FIELDS)}")
    for needed in ("reference", "candidate"):
        if needed not in data:
            raise ValueError(f"{needed} is missing")
    reference, candidate = (_side(data[name], name) for name in ("reference", "candidate"))
    if bool(reference.name) != bool(candidate.name):
        raise ValueError("reference and candidate have different forms: name a function in both, or in neither")
    arguments = None if data.get("arguments") is None else _arguments(data["arguments"], reference)
    like = data.get("like")
    if reference.name and (arguments is None) == (like is None):
        raise ValueError("give arguments, or like and the name of an exercise that takes the same: one of the two")
    if not reference.name and (arguments or like):
        raise ValueError("in KernelBench's form the arguments are those of get_inputs: leave out arguments and like")
    job = ComparisonJob(
        _of_type(data, "id", (str, int), number),
        reference,
        candidate,
        arguments,
        _of_type(data, "like", (str,), None),
        _of_type(data, "seed", (int,), 0),
        _options(data.get("options", {})),
        isolated,
    )
    return job


def _of_type(data: dict[str, Any], name: str, types: tuple[type, ...], default: Any) -> Any:
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, types) or isinstance(value, bool):
        raise ValueError(f"{name} should be {' or '.join(_WORDS[kind] for kind in types)}, not {value!r:.60}")
    return value


_WORDS = {str: "a text", int: "an integer", bool: "true or false", list: "a list of texts"}


def _side(given: Any, what: str) -> Side:
    """Raises ValueError. A file that is not there is told when its job's turn comes."""
    if isinstance(given, dict):
        if given.keys() - {"source", "name"} or not isinstance(given.get("source"), str):
            raise ValueError(f'{what} as an object has its text as "source" and, but for KernelBench\'s form, a "name"')
        name = given.get("name", "")
        if name and not (isinstance(name, str) and name.isidentifier()):
            raise ValueError(f"the name of {what} should be that of a function in its source, not {name!r:.60}")
        return Side(name, given["source"], inline=True)
    if not isinstance(given, str) or not given:
        raise ValueError(f"{what} should be a path, FILE.py:NAME, or an object with its source, not {given!r:.60}")
    if "\n" in given:
        return Side("", given, inline=True)
    side = Side(given)
    if not side.file and not side.name:
        raise ValueError(f"{what} should be FILE.py, FILE.py:NAME or package.module:NAME, not {given!r:.60}")
    return Side(given, _text(side.file))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _arguments(given: Any, reference: Side) -> Side:
    """A side; a name alone is one in the reference's module."""
    if isinstance(given, str) and given.isidentifier():
        module = reference.named.partition(":")[0]
        return Side(given, reference.text, True) if reference.inline else Side(f"{module}:{given}", reference.text)
    return _side(given, "arguments")


def _options(given: Any) -> Options:
    known = {field.name: field.default for field in fields(Options)}
    if not isinstance(given, dict):
        raise ValueError(f"options should be an object, not {given!r:.60}")
    if unknown := given.keys() - known.keys():
        raise ValueError(f"there is no option {min(unknown)!r}; there are {', '.join(known)}")
    options: dict[str, Any] = {}
    for name, value in given.items():
        wanted: type = list if isinstance(known[name], tuple) else bool
        if not isinstance(value, wanted) or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
            raise ValueError(f"the option {name} should be {_WORDS[wanted]}, not {value!r:.60}")
        options[name] = tuple(value) if isinstance(value, list) else value
    if unknown := set(options.get("computes", ())) - set(KINDS):
        raise ValueError(f"no candidate computes {min(unknown)!r}; there are {', '.join(KINDS)}")
    if "only" in options:
        options["only"] = tuple(quality.value for quality in Quality.named(options["only"]))
    return Options(**options)
