"""A submission that attacks the grader, and what it deserves."""

from collections.abc import Callable
from dataclasses import dataclass

from attacks.submissions import attacks
from tampered import BOTH, FULL, MEMORY, TORCH, find

RIGHT = {"tiny": FULL, "both": BOTH, "memory": MEMORY}  # points by answer, of each chapter
NO_FILES = "not run: nothing at this level keeps an answer from files and processes"


@dataclass(frozen=True)
class Attack:
    """act changes a right notebook, or returns the bytes of a file; `beside` changes what lies around the file.

    expect: score by answer. says: a sentence that the graded notebook shows. weak: why it is not run on that level.
    chapter: ``tiny``; ``both``, which asks for a kernel as well; or ``memory``, which limits the answer's memory.
    """

    act: Callable
    expect: dict[str, float | None]
    says: str = ""
    weak: str = ""
    other_files: bool = False
    chapter: str = "tiny"

    @property
    def name(self) -> str:
        return self.act.__name__


def registry(chapter: str = "tiny") -> tuple[list[Attack], Callable]:
    """A list of attacks on a chapter, and the decorator that adds to it."""
    attacks: list[Attack] = []

    def attack(expect=None, says: str = "", weak: str = "", other_files: bool = False):
        def register(act):
            attacks.append(Attack(act, RIGHT[chapter] | (expect or {}), says, weak, other_files, chapter))
            return act

        return register

    return attacks, attack


def from_file(attack: Callable, answer: str, name: str, expect: dict | None = None, says: str = "") -> None:
    """Registers one of tests/material/attacks as the ``answer`` in the notebook."""
    submission = attacks()[name]

    def act(nb):
        find(nb, answer)["source"] = submission.source

    act.__name__, act.__doc__ = name, submission.what
    attack(expect, says)(act)


def before_answer(nb: dict, code: str) -> None:
    """Puts ``code`` at the top of the answer's own cell: no matter what else there is, it runs at every call."""
    cell = find(nb, TORCH)
    cell["source"] = f"{code}\n\n{cell['source']}"


def attempts(nb: dict, *expressions: str) -> None:
    """Tries all of them in front of a right answer. What succeeds raises an error that tells what was got."""
    tries = ",\n    ".join(f"lambda: {expression}" for expression in expressions)
    before_answer(
        nb,
        f"""import ctypes, glob, os, shutil, signal, socket, subprocess, sys
try:
    import sqlite3
except ImportError:  # it needs a library of its own
    pass
loot = []
for number, attempt in enumerate([
    {tries},
]):
    try:
        loot.append(f"{{number}}: {{attempt()!r}}"[:200])
    except BaseException:
        pass
if loot:
    raise RuntimeError("ESC" + "APED " + "; ".join(loot))""",
    )
