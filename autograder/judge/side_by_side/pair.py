"""Reference, example and candidate, found and tried, for as long as they are compared."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runner import Callee, CandidateError, CompareError, Limits, Session, Worker, for_a_reader
from ..comparing.trial import arguments as case_arguments
from ..records.example import USUAL, Example, example_of
from ..records.record import Exercise
from ..records.settings import Settings
from ..records.table import EXERCISES
from .candidate import Candidate, candidate_of
from .code import Code
from .isolated_candidate import IsolatedCandidate, isolated_candidate
from .reference import Reference
from .sides import sides_of


@dataclass(frozen=True)
class How:
    """The options of `compare` that say how both are called, and judged."""

    settings: Settings
    isolated: bool
    simulated: bool | None
    worker: Worker | None
    limits: Limits
    gradients: bool | None


@dataclass(frozen=True)
class Both:
    """known: what is right. example: what all inputs are made from. tried: the candidate. gradients: whether they are
    compared. simulated: whether a GPU is.
    """

    known: Reference
    example: Example
    tried: Candidate | IsolatedCandidate
    gradients: bool
    simulated: bool


@contextlib.contextmanager
def pair_of(reference: Any, candidate: Any, arguments: Any, like: str | None, how: How) -> Iterator[Both]:
    """Both sides, each as `compare` takes it, called on the example. Raises CompareError."""
    isolated = how.isolated or isinstance(candidate, Code)
    gpu, seed = how.simulated, how.settings.seed
    if gpu is None:
        gpu = (isinstance(reference, str) or isinstance(candidate, str | Code)) and not torch.cuda.is_available()
    with contextlib.ExitStack() as stack:
        stack.enter_context(for_a_reader("candidate"))
        session = stack.enter_context(Session(bool(gpu)))
        with session.code():
            sides = sides_of(reference, candidate, arguments, like, seed, isolated)
            Callee.of(sides.reference, "reference")  # before arguments, which may stand in its place, are called
            example = example_for(sides.arguments, like)
            example = replace(example, make=session.code()(example.make))
            known = reference_of(sides.reference, example, seed)
        if gpu and not known.needs_no_gpu:  # else the candidate alone sees it, and a verdict takes half the time
            stack.enter_context(session.code())
        tried: Candidate | IsolatedCandidate
        if isolated:
            worker = how.worker or stack.enter_context(Worker())
            tried = isolated_candidate(sides.candidate, known, worker, how.limits, gpu, seed, example.form)
        else:
            tried = candidate_of(Callee.of(sides.candidate, "candidate", example.form), known, session)
        yield Both(known, example, tried, _gradients(how.gradients, known, tried), gpu)


def reference_of(given: Any, example: Example, seed: int) -> Reference:
    """The reference, called on the example. Raises CompareError."""
    args = example.make(seed, USUAL)
    return Reference(Callee.of(given, "reference", example.form), args)


def _gradients(asked: bool | None, known: Reference, tried: Candidate | IsolatedCandidate) -> bool:
    """Raises CompareError where gradients are asked for that do not exist."""
    if asked and not known.differentiable:
        raise CompareError("the reference has no gradients that could be compared")
    if asked and not tried.attached:
        raise CandidateError(f"the result of {tried.name} is not attached to the graph: it has no gradients")
    return tried.attached if asked is None else asked


def example_for(arguments: Any, like: str | None) -> Example:
    """The example that is given, or the first case of an exercise. Raises CompareError."""
    if (arguments is None) == (like is None):
        raise CompareError(
            "give an example, in one of two ways: --arguments FILE.py:NAME (in Python arguments=), a tensor, a tuple "
            "or a function that returns them; or --like (like=) and the name of an exercise that takes the same"
        )
    if like is None:
        return example_of(arguments)
    record = _exercise(like)
    number = next(n for n, case in enumerate(record.cases) if not case.raises)
    return example_of(case_arguments(record.cases[number], number, 0))


def _exercise(name: str) -> Exercise:
    for candidate in (name, f"{name}_forward"):
        record = EXERCISES.get(candidate)
        if isinstance(record, Exercise):
            return record
    raise CompareError(f"there is no exercise {name} (`graded-kernels list` shows them)")
