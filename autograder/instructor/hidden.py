"""An instructor's own cases: inputs that a file adds to the exercises, whose values learners never see.

    [[silu_backward]]                                     # an exercise; as many of these as wanted
    name = "two exact zeros"
    hint = "What does your formula divide by?"
    x = { values = [0.0, -0.0, 1.5], dtype = "float16" }
    dy = { normal = [0.0, 1.0], shape = [3], dtype = "float16" }

A parameter is a number, a string, a tensor, or a list of tensors, `[{ ... }, { ... }]`. A tensor has a `dtype` (by
default float32, or int64 for whole numbers), a `shape`, and one of `values` (nested lists, nan and inf among them),
`fill` (a number), `normal` ([mean, standard deviation]), `uniform` ([low, high]), `integers` ([low, high], high left
out) and `linspace` ([first, last]). `layout` lays it out "transposed", "strided" (every second column of a wider
matrix) or "expanded" (stride 0: its first row, again and again); `put = [{ at = [0, 3], value = nan }]` changes
elements. What the forward pass saves (`mean`, `rstd`, `lse`) is computed where it is left out. `bonus = true` makes a
distinction. `aim` is what the case is about: "plain", "point", "dtypes", "layouts" or "edges"; left out, it follows
from the inputs.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..exercises import find
from ..exercises.record import Case, Exercise
from ..exercises.validation import of_written
from ..judge.compare import expect
from ..judge.redaction import is_float, kind_of
from ..results.aim import Aim
from ..run.contract import Args
from .tables import HiddenCasesError, read_tables
from .tensor_spec import SpecError, tensor

NAME = "hidden: "  # begins the name of the case, so that a learner knows why the notebook's check does not have it


def read_cases(path: Path) -> dict[str, tuple[Case, ...]]:
    """The cases in the file at ``path``, by exercise, each tried on the exercise's own formula.

    Raises HiddenCasesError.
    """
    found: dict[str, tuple[Case, ...]] = {}
    for name, listed in read_tables(path).items():
        try:
            found[name] = cases_of(name, listed)
        except ValueError as error:
            raise HiddenCasesError(f"{path}: {error}") from None
    return found


def cases_of(name: str, tables: object) -> tuple[Case, ...]:
    """The cases that the ``tables`` of one exercise describe. Raises ValueError where one cannot be used."""
    record = find(name)
    if not isinstance(record, Exercise):
        raise ValueError(f"{name} asks for an input, and has no cases")
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise ValueError(f"{name}: write [[{name}]] above every case, with two brackets")
    cases = []
    for number, table in enumerate(tables, start=1):
        try:
            cases.append(_case(record, dict(table)))
        except ValueError as error:
            raise ValueError(f"{name}, case {number}: {error}") from None
    names = [case.name for case in cases]
    twice = [one for one in names if names.count(one) > 1]
    if twice:
        raise ValueError(f"{name}: two cases are named {twice[0].removeprefix(NAME)!r}")
    return tuple(cases)


def _case(record: Exercise, table: dict[str, Any]) -> Case:
    defaults: dict[str, Any] = {"name": "", "hint": "", "bonus": False, "aim": None}
    about = {key: table.pop(key, default) for key, default in defaults.items()}
    if about["aim"] not in (None, *Aim):
        raise ValueError(f"aim is {', '.join(Aim)}, not {about['aim']!r}")
    for key, kind in (("name", str), ("hint", str), ("bonus", bool)):
        if not isinstance(about[key], kind):
            raise ValueError(f"{key} is a {'true or false' if kind is bool else 'string'}, not {about[key]!r}")
    if not about["name"].strip():
        raise ValueError("it needs a name")
    inputs = _inputs(record, table)
    aim = about["aim"] and Aim(about["aim"])
    case = Case(NAME + about["name"], inputs, about["hint"], about["bonus"], hidden=True, aim=aim)
    _try(record, case)
    return case


def _inputs(record: Exercise, table: dict[str, Any]) -> Callable[[torch.Generator], Args]:
    """Makes the arguments that the table describes; those that the forward pass saves are computed where missing."""
    forward = record.forward
    saved = {o.name: number for number, o in enumerate(forward.outputs)} if forward else {}
    known = dict.fromkeys([*record.parameters, *(forward.parameters if forward else ())])
    unknown = [key for key in table if key not in known]
    if unknown:
        raise ValueError(f"{record.name} has no parameter {unknown[0]}; it has {', '.join(record.parameters)}")
    defaults = inspect.signature(record.oracle).parameters
    missing = [p for p in record.parameters if p not in table and defaults[p].default is inspect.Parameter.empty]
    lacking = [p for p in missing if p not in saved]
    if lacking:
        raise ValueError(f"{lacking[0]} is missing")

    def inputs(generator: torch.Generator) -> Args:
        given = {}
        for key, value in table.items():
            try:
                given[key] = _argument(value, generator)
            except SpecError as error:
                raise ValueError(f"{key}: {error}") from None
        if forward is not None:
            for name in missing:
                given[name] = _saved(forward, saved[name], given, name)
        stated = [p for p in record.parameters if p in given]
        last = record.parameters.index(stated[-1])
        return tuple(given.get(p, defaults[p].default) for p in record.parameters[: last + 1])

    return inputs


def _argument(value: Any, generator: torch.Generator) -> Any:
    if isinstance(value, list):
        return [_argument(part, generator) for part in value]
    return tensor(value, generator) if isinstance(value, dict) else value


def _saved(forward: Exercise, number: int, given: dict[str, Any], name: str) -> torch.Tensor:
    """The output ``number`` of the forward pass, as it would have been saved."""
    wanted = inspect.signature(forward.oracle).parameters
    lacking = [p for p, one in wanted.items() if p not in given and one.default is one.empty]
    if lacking:
        raise ValueError(f"{name} is computed by {forward.name}, which needs {lacking[0]}, too")
    wide = {p: v.double() if is_float(v) else v for p, v in given.items() if p in wanted}
    dtype = forward.outputs[number].like
    saved: torch.Tensor = forward.oracle(**wide)[number]
    return saved.to(dtype if isinstance(dtype, torch.dtype) else given[dtype].dtype)


def _try(record: Exercise, case: Case) -> None:
    """Raises ValueError unless the arguments are of the kinds that the exercise takes and its formula accepts them."""
    args = case.inputs(torch.Generator().manual_seed(0))
    usual = record.cases[0].inputs(torch.Generator().manual_seed(0))
    for name, given, wanted in zip(record.parameters, args, usual, strict=False):
        if kind_of(given) != kind_of(wanted):
            raise ValueError(f"{name} should be {kind_of(wanted)}, but is {kind_of(given)}")
    for mistake in of_written(record, args):
        raise ValueError(mistake)
    try:
        expect(record, case, args)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"the formula of {record.name} does not accept these: {reason}") from None
