"""``graded-kernels check EXERCISE package.module:function``: a function as it is, called in this process.

Only values and memory accesses are judged, not method: it may use autotuners, autograd and PyTorch around its kernels.
"""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...gpu import shimmed
from ...runner import InProcess
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
) -> Report:
    """The report on the function that ``text`` names. root: as `found` has it. Raises UsageError."""

    simulated = not torch.cuda.is_available()
    with shimmed() if simulated else contextlib.nullcontext():
        function = found(text, root)
        runner = InProcess(function, record.contract, settings.backend, guarded=False, simulated=simulated)
        report = judge(record, runner, settings)
    if simulated:
        report.environment["device"] = "cpu"
    return Report.of(report)
