"""``graded-kernels check EXERCISE package.module:function``: a function as it is, called in this process.

Only values and memory accesses are judged, not method: it may use autotuners, autograd and PyTorch around its kernels.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...runner import InProcess, Session
from ..checking.judge import judge
from ..records.named import found
from ..records.settings import Settings
from ..report.report import Report

if TYPE_CHECKING:
    from ..records.record import Exercise, Witness


def report_on(
    record: "Exercise | Witness",
    text: str,
    settings: Settings,
    root: Path | None = None,
    at: Callable[[str], None] = lambda where: None,
) -> Report:
    """The report on the function that ``text`` names. root: as `found` has it. at: is called with what is checked next.
    Raises UsageError.
    """
    simulated = not torch.cuda.is_available()
    with Session(simulated) as session:
        with session.code():
            function = found(text, root)
        runner = InProcess(function, record.contract, settings.backend, guarded=False, simulated=session)
        report = judge(record, runner, settings, at)
    if simulated:
        report.environment["device"] = "cpu"
    return Report.of(report)
