"""The twelve parts of a block in which a bug may be planted, to be tried out without reading them.

    suspects.contracts("scan_witness")                     what each of three is to compute, and for which arguments
    right, found = suspects.call("reverse_cumsum", x)      the contract in float64, and the planted one
    suspects.line_up("scan_witness", scan_witness)         who is convicted so far

The course's own answers are not here; a suspect's story is told once it is convicted.
"""

import textwrap
from collections.abc import Callable
from typing import Any

import torch

from ..autograder import EXERCISES, check
from ..autograder.judge.records.record import Witness
from ..autograder.judge.witness import complaint_about
from ..autograder.runner.call.arguments import duplicate
from ..autograder.runner.call.contract import map_tensors

WITNESSES = ("precision_witness", "router_witness", "scan_witness", "sampler_witness")


def contracts(witness: str) -> None:
    """Prints what each suspect of a witness is to compute: its call, its result and what its arguments may be."""
    for one in _record(witness).all:
        call = one.exercise.signature.partition(" -> ")[0]
        print(textwrap.fill(f"{call}: {one.exercise.summary}", 100, subsequent_indent="    "))


def names(witness: str) -> list[str]:
    """The names of the suspects of a witness."""
    return [one.exercise.name for one in _record(witness).all]


def call(block: str, *args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """(right, found): what the contract asks for, in float64, and what the suspect of that name returns.

    Raises ValueError for a name of no suspect, and for arguments that its contract does not allow, with the sentence
    that a check has for them.
    """
    everyone = {one.exercise.name: one for name in WITNESSES for one in _record(name).all}
    if block not in everyone:
        raise ValueError(f"there is no suspect {block!r}; there are {', '.join(everyone)}")
    if message := complaint_about(everyone[block], args):
        raise ValueError(message)
    return everyone[block].exercise.exact(args)[0], everyone[block].bug.function(*map_tensors(duplicate, args))


def line_up(witness: str, function: Callable[[str], Any]) -> None:
    """Prints for each suspect of a witness whether ``function(name)`` convicts it, and if so who shipped the bug."""
    record = _record(witness)
    for seed in range(len(record.all)):
        one, report = record.drawn(seed), check(record, function, seed=seed)
        said = f"convicted. {one.bug.story} {one.bug.thread}" if report else f"not yet. {_last(report.cases)}"
        print(textwrap.fill(f"{one.exercise.name}: {said}", 100, subsequent_indent="    "))


def _last(cases: Any) -> str:
    return next(str(case.message) for case in cases if case.status in ("fail", "error"))


def _record(name: str) -> Witness:
    record = EXERCISES.get(name)
    if name not in WITNESSES or not isinstance(record, Witness):
        raise ValueError(f"there is no line-up {name!r}; there are {', '.join(WITNESSES)}")
    return record
