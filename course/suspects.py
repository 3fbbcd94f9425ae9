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
from ..autograder.judge import Witness
from ..autograder.judge.checking.witness import complaint_about
from ..autograder.runner import Tree

WITNESSES = ("precision_witness", "router_witness", "scan_witness", "sampler_witness")


def contracts(witness: str) -> None:
    """Prints what each suspect of a witness is to compute: its call, its result and what its arguments may be."""
    for suspect in _record(witness).all:
        call = suspect.exercise.signature.partition(" -> ")[0]
        print(textwrap.fill(f"{call}: {suspect.exercise.summary}", 100, subsequent_indent="    "))


def names(witness: str) -> list[str]:
    """The names of the suspects of a witness."""
    return [suspect.exercise.name for suspect in _record(witness).all]


def call(block: str, *args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """(right, found): what the contract asks for, in float64, and what the suspect of that name returns.

    Raises ValueError for a name of no suspect, and for arguments that its contract does not allow, with the sentence
    that a check has for them.
    """
    everyone = {suspect.exercise.name: suspect for name in WITNESSES for suspect in _record(name).all}
    if block not in everyone:
        raise ValueError(f"there is no suspect {block!r}; there are {', '.join(everyone)}")
    if message := complaint_about(everyone[block], args):
        raise ValueError(message)
    return everyone[block].exercise.exact(args)[0], everyone[block].bug.function(*Tree(args).copied())


def line_up(witness: str, function: Callable[[str], Any]) -> None:
    """Prints for each suspect of a witness whether ``function(name)`` convicts it: if so who shipped the bug, if not
    what was found, and a hint.
    """
    record = _record(witness)
    report = check(record, function)
    for suspect in record.all:
        name = suspect.exercise.name
        open_cases = [case for case in report.cases if case.suspect == name and case.status != "pass"]
        said = f"convicted. {suspect.bug.story} {suspect.bug.thread}"
        if open_cases:
            message = open_cases[0].message
            said = f"not yet. {message[:1].upper()}{message[1:]} {open_cases[0].hint}".rstrip()
        print(textwrap.fill(f"{name}: {said}", 100, subsequent_indent="    "))


def _record(name: str) -> Witness:
    record = EXERCISES.get(name)
    if name not in WITNESSES or not isinstance(record, Witness):
        raise ValueError(f"there is no line-up {name!r}; there are {', '.join(WITNESSES)}")
    return record
