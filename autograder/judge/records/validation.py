"""Mistakes in a record that somebody wrote for an op of their own, each found before an answer is called."""

import inspect
import weakref
from collections.abc import Iterator

import torch

from ...runner import Args, Tree
from .category import Category
from .derived import FormulaError
from .record import (
    BIAS,
    EXACT,
    MEASURED,
    Case,
    Exercise,
    Large,
    Named,
    Output,
    RecordError,
    Tolerance,
    Witness,
)
from .ulp import HALVES

BACKENDS = ("torch", "triton")
_DRAWN = "inputs takes a torch.Generator and returns the tuple of the oracle's arguments"
_PLAIN = torch.Tensor | bool | int | float | str | None
_GIVEN = "an answer is given tensors, lists of tensors, numbers, strings and None"
_FREE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_validated: weakref.WeakSet[Exercise | Witness] = weakref.WeakSet()


def validate(record: Exercise | Witness) -> None:
    """Raises RecordError for a record with a mistake. Each case is drawn twice, and its right result computed."""
    if record not in _validated:
        exercises = [asked.exercise for asked in record.all] if isinstance(record, Witness) else [record]
        mistake = next(_of_names(record.name, record.backends), "")
        mistake = mistake or next(
            (m for exercise in exercises for m in _of(exercise, isinstance(record, Exercise))), ""
        )
        if mistake:
            raise RecordError(f"record {record.name}: {mistake}")
        _validated.add(record)


def _of_names(name: str, backends: tuple[str, ...]) -> Iterator[str]:
    if not name.isidentifier():
        yield f"{name!r} is not a valid name for a Python function, and an answer is a function of that name"
    unknown = [backend for backend in backends if backend not in BACKENDS]
    if unknown or not backends:
        yield f"backends are some of {BACKENDS}, not {tuple(backends)!r}"


def _of(record: Exercise, called: bool) -> Iterator[str]:
    """Yields what is wrong, beginning with what is seen without a call. called: whether the record needs cases."""
    yield from _of_types(record)
    try:
        kinds = {p.kind for p in record.oracle_signature.parameters.values()}
    except ValueError:  # of a function that is written in C
        yield "the oracle's parameters cannot be seen: wrap it, as in lambda x: torch.sinh(x)"
        return
    if kinds & set(_FREE) or not kinds:
        yield "the oracle's parameters are the signature: name each of them, without * and **"
    yield from _of_outputs(record)
    yield from _of_writes(record)
    names = [case.name for case in record.cases]
    if called and not names:
        yield 'it has no cases: give a Case, or a family of them such as elementwise(("x",), "x", tail)'
    yield from _of_names_of_cases(record.cases)
    for bug in record.wild:
        if bug.seen_by not in names:
            yield f"the bug of {bug.who} is seen by {bug.seen_by!r}, which is not the name of a case"
    for name in record.about:
        if name not in (*names, *MEASURED):
            yield f"it is about {name!r}, which is not the name of a case"
        elif name == BIAS and not record.unbiased:
            yield f"it is about {BIAS!r}, which is judged where unbiased=True"
    yield from _of_each(record, record.cases, called)
    if record.large:
        yield from _of_large(record.large, record.parameters)
    drawn = (case.inputs(torch.Generator().manual_seed(7)) for case in record.cases if record.unbiased)
    if record.unbiased and not any(dtype in HALVES for args in drawn for dtype in record.dtypes(args)):
        yield "unbiased=True judges how half precision is rounded, and no case has a result in float16 or bfloat16"


def of_cases(record: Exercise, cases: tuple[Case, ...]) -> Iterator[str]:
    """Yields what is wrong with more cases of an exercise, each drawn twice and its right result computed."""
    yield from _of_names_of_cases(record.cases + cases)
    yield from _of_each(record, cases, called=True)


def _of_names_of_cases(cases: tuple[Case, ...]) -> Iterator[str]:
    names = [case.name for case in cases]
    for name in [name for name in names if names.count(name) > 1][:1]:
        yield f"two cases are named {name!r}; a report tells cases by their names"


def _of_each(record: Exercise, cases: tuple[Case, ...], called: bool) -> Iterator[str]:
    for case in cases:
        if message := next(_of_case(record, case, called), ""):
            yield f"case {case.name!r}: {message}"


def _of_types(record: Exercise) -> Iterator[str]:
    if not callable(record.oracle):
        yield f"its oracle is {_kind(record.oracle)}: give a function of the arguments, in float64"
    if not isinstance(record.tolerance, Tolerance):
        yield f'its tolerance is {_kind(record.tolerance)}: write Tolerance(1, 8, "why"), or derived(oracle)'
    for name, parts, kind in (("outputs", record.outputs, Output), ("cases", record.cases, Case)):
        if not isinstance(parts, tuple) or not all(isinstance(part, kind) for part in parts):
            shown = f"({kind.__name__}(...),)"
            yield f"{name} is not a tuple of {kind.__name__}: write {name}={shown}, with a comma"
    if not isinstance(record.writes, tuple) or not all(isinstance(name, str) for name in record.writes):
        yield f'writes is {_kind(record.writes)}: give a tuple of names, such as writes=("param",), with a comma'


def _kind(value: object) -> str:
    return f"{value!r}, of type {type(value).__name__}"


def _of_outputs(record: Exercise) -> Iterator[str]:
    if not (record.outputs or record.writes) or not all(output.name for output in record.outputs):
        yield 'it names no output: write outputs=(Output("y"),), with a comma'
    for output in record.outputs:
        if not isinstance(output.like, torch.dtype) and output.like not in record.parameters:
            names = ", ".join(record.parameters)
            yield (
                f"output {output.name} is to have the dtype of {output.like!r}, which is not a parameter ({names}): "
                f'write Output("{output.name}", like="{record.parameters[0]}")'
            )


def _of_writes(record: Exercise) -> Iterator[str]:
    for name in record.writes:
        if name not in record.parameters:
            yield f"it writes {name!r}, which is not a parameter: name some of {', '.join(record.parameters)}"
    names = [*(output.name for output in record.outputs), *record.writes]
    for name in record.writes:
        if names.count(name) > 1:
            yield f"{name} is written, so it is a result already: name it once, in writes"


def _of_case(record: Exercise, case: Case, called: bool) -> Iterator[str]:
    draw = case.inputs.strictly if isinstance(case.inputs, Named) else case.inputs
    try:
        args, again = (draw(torch.Generator().manual_seed(7)) for _ in range(2))
    except RecordError:  # with file and line
        raise
    except Exception as error:
        yield f"its inputs raised {type(error).__name__}: {error}; {_DRAWN}"
        return
    if not isinstance(args, tuple):
        yield f"its inputs are a {type(args).__name__}; {_DRAWN}, such as (x,) with a comma"
        return
    try:
        record.oracle_signature.bind(*args)
    except TypeError as error:
        yield f"its {len(args)} arguments do not fit the oracle's parameters: {error}"
        return
    if case.category not in (None, *Category):
        yield f"its category is {case.category!r}: write one of {', '.join(Category)}"
    yield from _of_arguments(record, case, args, called)
    yield from _of_written(record, args)
    if not _alike(args, again):
        yield "drawn twice with one seed it differs: draw random numbers with the generator that inputs is given"
    if case.raises is None:
        yield from _of_values(record, case, args)


def _of_written(record: Exercise, args: Args) -> Iterator[str]:
    """Yields why a call with these arguments could not be written into."""
    by_name = dict(zip(record.parameters, args, strict=False))
    for name in record.writes:
        if not isinstance(value := by_name.get(name), torch.Tensor | list):
            yield f"{name} is written, and only tensors can be; it is {_kind(value)}"
            return
    for name, tensor in record.contract.written(args).items():
        if _overlaps(tensor):
            strides = f"of shape {tuple(tensor.shape)} and strides {tensor.stride()}"
            yield f"{name} is written, and elements of it lie in one place ({strides}): draw each a place of its own"


def _overlaps(tensor: torch.Tensor) -> bool:
    """Returns whether two elements may lie in one place: a dimension's step is shorter than what the smaller steps
    reach.
    """
    reach = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step < reach:
            return tensor.numel() > 0
        reach += step * (size - 1)
    return False


def _of_arguments(record: Exercise, case: Case, args: Args, called: bool) -> Iterator[str]:
    for name, value in zip(record.parameters, args, strict=False):
        if isinstance(value, list):
            yield from _of_list(record, case, name, value)
            if not called:
                yield f"{name} is a list, which a witness cannot return: it returns tensors, numbers and strings"
        elif not isinstance(value, _PLAIN):
            yield f"{name} is a {type(value).__name__}; {_GIVEN}"
        elif not isinstance(value, torch.Tensor):
            yield from (
                _no_dtype(output, name, type(value).__name__) for output in record.outputs if output.like == name
            )
    if (many := len(Tree(args).tensors)) > Tree.TENSORS:
        yield f"its arguments are {many:,} tensors; draw {Tree.TENSORS:,} at most"


def _of_list(record: Exercise, case: Case, name: str, parts: list[object]) -> Iterator[str]:
    others = [type(part).__name__ for part in parts if not isinstance(part, torch.Tensor)]
    if others:
        yield f"{name} holds a {others[0]}; {_GIVEN}"
    yield from (_no_dtype(output, name, "list") for output in record.outputs if output.like == name)
    for what, parameter in (("gradient_of", record.gradient_of), ("swept", case.swept)):
        if parameter == name:
            yield f"{what} is {name!r}, which is a list: name a parameter that is one tensor"


def _no_dtype(output: Output, name: str, kind: str) -> str:
    cure = f'Output("{output.name}", torch.float32)'
    return f"output {output.name} is to have the dtype of {name}, of type {kind}: write {cure}"


def _of_large(large: Large, parameters: tuple[str, ...]) -> Iterator[str]:
    args = large.inputs(torch.Generator().manual_seed(7))
    for number in large.rows:
        if number >= len(args):
            yield f"large.rows names argument {number}, and its inputs are {len(args)}: count them from 0"
        elif not isinstance(args[number], torch.Tensor):
            what = f"argument {number}, {parameters[number]}, of type {type(args[number]).__name__}"
            yield f"large.rows names {what}: name arguments that are one tensor each, with rows as the outputs have"


def _alike(args: Args, again: Args) -> bool:
    """Returns whether two draws are the same, but for what a NaN holds."""
    kinds = [repr(Tree(drawn).map(lambda t: (t.dtype, t.shape))) for drawn in (args, again)]
    pairs = zip(Tree(args).tensors, Tree(again).tensors, strict=False)
    return kinds[0] == kinds[1] and all(bool((a.eq(b) | a.ne(a)).all()) for a, b in pairs)


def _of_values(record: Exercise, case: Case, args: Args) -> Iterator[str]:
    wide = record.widened(args)
    before = Tree(wide).map(torch.clone)
    try:
        values = Tree.of(record.oracle(*wide)).leaves
    except Exception as error:
        yield f"the oracle raised {type(error).__name__}: {error}"
        return
    for name, value, was in zip(record.parameters, wide, before, strict=False):
        if not _alike((value,), (was,)):
            yield f"the oracle writes into its argument {name}: return a new tensor, after what outputs names"
            return
    written, wanted = record.contract.written(args), len(record.results(args))
    if len(values) != wanted:
        named_in = "outputs and writes name" if record.writes else "outputs names"
        yield f"the oracle returns {len(values)} tensors and {named_in} {wanted}: name every one, in order"
        return
    for output, dtype, value in zip(record.results(args), record.dtypes(args), values, strict=True):
        if not isinstance(value, torch.Tensor):
            yield f"the oracle's {output.name} is a {type(value).__name__}, not a tensor"
        elif value.is_floating_point() and not dtype.is_floating_point:
            yield f"the oracle's {output.name} is {value.dtype}, its output {dtype}: return integers, or a mask"
        elif value.is_floating_point() and value.dtype != torch.float64:
            yield f"the oracle's {output.name} is {value.dtype}: its inputs come in float64, and are to stay so"
        elif dtype.is_floating_point and record.tolerance is EXACT:
            yield f'{output.name} is {dtype}, which is rounded: say how close is right, as in Tolerance(1, 8, "why")'
        elif value.requires_grad:
            yield f"the oracle's {output.name} is attached to a graph: return {output.name}.detach()"
        elif output.name in written and value.shape != (target := written[output.name]).shape:
            shapes = f"has shape {tuple(value.shape)}, and the tensor that is written {tuple(target.shape)}"
            yield f"the oracle's {output.name} {shapes}: return all of its new values"
    floor_of = record.tolerance.distinction if case.bonus else record.tolerance.floor
    if floor_of is None:
        return
    try:
        floors = floor_of(*wide)
    except FormulaError as error:
        yield str(error)
        return
    except Exception as error:
        yield f"the tolerance's floor raised {type(error).__name__}: {error}; it takes the oracle's arguments"
        return
    if not isinstance(floors, tuple) or len(Tree(floors).leaves) != wanted:
        yield f"the tolerance's floor is a tuple of {wanted}: one number or tensor an output"
