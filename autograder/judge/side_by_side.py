"""On a machine with a GPU: the cases on the device, and the same cases in the emulator, in one report.

The device shows what hardware does; the emulator names what hardware keeps silent about. The process that holds the
function compiles its kernels, so the emulator runs in a worker, on the text of the code.
"""

import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..exercises.record import Exercise, Witness
from ..report.quality import both
from ..report.report import Report
from ..report.results import CaseResult
from ..run.answer import OURS, Answer, AnswerError, Cell, without_imports_of
from ..run.launches import own_texts
from ..run.runner import Runner
from ..sandbox import Isolated, SandboxError

EMULATED = "in the emulator"
SETUP = "import math\n\nimport torch\nimport triton\nimport triton.language as tl\n"


def emulated(
    function: Callable[..., Any], record: Exercise | Witness, judge: Callable[[Runner], Report]
) -> Report | str:
    """The emulator's report on a function of this process, or a sentence on why there is none."""
    try:
        with Isolated(answer_of(function, record.name), record.contract, "triton", results=record.results) as runner:
            return judge(runner)
    except (SandboxError, AnswerError, OSError, TypeError) as reason:
        return str(reason)


def answer_of(function: Callable[..., Any], exercise: str) -> Answer:
    """The code of a function and of the kernels it launches: its file, or their cells of a notebook, its own last.

    Raises TypeError where it is no plain function, which has no text.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"a {type(function).__name__} has no text that the emulator could run: check a plain function")
    texts = [without_imports_of(OURS, text) for text in reversed(own_texts(function))]
    return Answer(exercise, tuple(Cell(f"part {number}", text) for number, text in enumerate(texts, 1)), SETUP)


def combined(device: Report, emulator: Report | str) -> Report:
    """The device's report with the emulator's cases behind its own; right only where both are."""
    if isinstance(emulator, str):
        missing = CaseResult(EMULATED, "not-run", False, emulator, "")
        return dataclasses.replace(device, cases=(*device.cases, missing))
    cases = tuple(dataclasses.replace(c, name=f"{EMULATED}: {c.name}") for c in emulator.cases)
    return dataclasses.replace(
        device,
        cases=(*device.cases, *cases),
        passed=device.passed and emulator.passed,
        correct=both(device.correct, emulator.correct),
        portable=both(device.portable, emulator.portable),
        efficient=both(device.efficient, emulator.efficient),
        score=min(device.score, emulator.score),
        summary=device.summary if not device.passed else emulator.summary,
        fingerprint=device.fingerprint or emulator.fingerprint,
        fingerprint_story=device.fingerprint_story or emulator.fingerprint_story,
        traffic=emulator.traffic,
        compile=emulator.compile,
        notes=emulator.notes,
    )
