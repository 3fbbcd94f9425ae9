"""One report on the cases on a GPU and the same cases in the emulator, on a machine that has one.

The device shows what hardware does; the emulator names what hardware keeps silent about. The process that holds the
function compiles its kernels, so the emulator runs in a worker, on the text of the code.
"""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager

from ...runner import Runner, SandboxError
from ..results.case_result import CaseResult
from ..results.data import ReportData

EMULATED = "in the emulator"


def emulated(
    twin: Callable[[], AbstractContextManager[Runner]], judge: Callable[[Runner], ReportData]
) -> ReportData | str:
    """The emulator's report, or a sentence on why there is none. twin: `runner.Facts.in_emulator`."""
    try:
        with twin() as runner:
            return judge(runner)
    except (SandboxError, OSError) as reason:
        return str(reason)


def combined(device: ReportData, emulator: ReportData | str) -> ReportData:
    """The device's report with the emulator's cases behind its own; right only where both are."""
    if isinstance(emulator, str):
        missing = CaseResult(EMULATED, "not-run", False, emulator, "")
        return dataclasses.replace(device, cases=(*device.cases, missing))
    worse = min(device, emulator, key=lambda report: report.score)
    cases = tuple(dataclasses.replace(c, name=f"{EMULATED}: {c.name}") for c in emulator.cases)
    return dataclasses.replace(
        device,
        cases=(*device.cases, *cases),
        passed=device.passed and emulator.passed,
        correct=both(device.correct, emulator.correct),
        portable=both(device.portable, emulator.portable),
        efficient=both(device.efficient, emulator.efficient),
        score=worse.score,
        costs=worse.costs,
        up_to=worse.up_to,
        summary=device.summary if not device.passed else emulator.summary,
        fingerprint=device.fingerprint or emulator.fingerprint,
        mistake=device.mistake or emulator.mistake,
        fingerprint_story=device.fingerprint_story or emulator.fingerprint_story,
        traffic=emulator.traffic,
        compile=emulator.compile,
        notes=emulator.notes,
    )


def both(one: bool | None, other: bool | None) -> bool | None:
    """Returns whether two judgements together hold; None where neither was made."""
    judgements = [judgement for judgement in (one, other) if judgement is not None]
    return all(judgements) if judgements else None
