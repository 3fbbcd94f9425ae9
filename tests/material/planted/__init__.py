"""Planted bugs: small Triton kernels, each wrong in one way a GPU would show, and what two interpreters say about it.

A function here is one bug: its docstring says what is wrong, and ``@bug`` what sees it.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

import graded_kernels.autograder  # noqa: F401  before triton
import torch
from graded_kernels.autograder.gpu import Emulator, EmulatorError
from torch.utils._python_dispatch import TorchDispatchMode

from . import out_of_bounds, races, refused, values  # noqa: F401  their bugs
from .bug import BUGS, Bug


@dataclass(frozen=True)
class Verdict:
    """How the emulator took a bug: ``kinds`` it named, and whether the output was right, None without output."""

    kinds: tuple[str, ...]
    sentence: str
    right: bool | None
    output: torch.Tensor | None = None


class Uninitialised(TorchDispatchMode):
    """Has the emulator poison what ``torch.empty`` and its kin return."""

    def __init__(self, emulator: Emulator):
        super().__init__()
        self.emulator = emulator

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if "empty" in func._schema.name and not self.emulator.launching:
            self.emulator.poison_(result)
        return result


def bugs() -> list[Bug]:
    return sorted(BUGS, key=lambda bug: bug.name)


def named(name: str) -> Bug:
    return next(bug for bug in BUGS if bug.name == name)


def same(output: torch.Tensor, expected: torch.Tensor) -> bool:
    return output.shape == expected.shape and bool(torch.isclose(output.double(), expected.double(), rtol=1e-3).all())


def emulate(bug: Bug, shuffle: int | None = None) -> Verdict:
    emulator = Emulator(shuffle=shuffle)
    output, expected, missing = None, None, []
    try:
        with emulator, Uninitialised(emulator):
            output, expected = bug.run()
            missing = [f for f in (emulator.unwritten(output),) if f]
    except EmulatorError:
        pass
    notes = [*emulator.findings, *missing, *emulator.hints]
    right = None if output is None else same(output, expected)
    return Verdict(tuple(f.kind for f in notes), notes[0].message if notes else "", right, output)


def seen(bug: Bug, verdict: Verdict) -> bool:
    """The emulator gives the bug away as ``bug`` promises."""
    if bug.kind == "wrong-value":
        return verdict.right is False
    if bug.kind == "order":
        return any(not same(emulate(bug, shuffle=seed).output, verdict.output) for seed in range(4))
    if bug.kind in ("masked-load", "uninitialised-read", "gathered-outside") and verdict.right is not False:
        return False
    return verdict.kinds[:1] == (bug.kind,) and re.search(bug.says, verdict.sentence) is not None


def word(bug: Bug) -> str:
    """What the emulator says of a bug, in a line; MISSED where that does not give it away."""
    verdict = emulate(bug)
    if not seen(bug, verdict):
        return "MISSED"
    by_output = {"wrong-value": "the output is wrong", "order": "another order of programs gives another output"}
    return by_output.get(bug.kind, f"{bug.kind}: {verdict.sentence}")


def plain(bug: Bug) -> str:
    """What Triton's own interpreter says, in a process of its own: it may die."""
    code = f"import planted; print(planted.plainly({bug.name!r}))"
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__path__[0]), "TRITON_INTERPRET": "1"}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if child.returncode < 0:
        return f"dies with signal {-child.returncode}"
    return child.stdout.strip().splitlines()[-1] if child.stdout.strip() else child.stderr.strip().splitlines()[-1]


def plainly(name: str) -> str:
    try:
        output, expected = named(name).run()
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "right answer, no complaint" if same(output, expected) else "wrong answer, no complaint"
