"""What is right, and who decides: records, the check, its report, verdicts. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_face

if TYPE_CHECKING:
    from .make_all import NoWorker
    from .records.inputs import Arguments, Change, Values, also, case, draw
    from .records.record import (
        Case,
        CommonMistake,
        Convention,
        Exercise,
        Floors,
        Large,
        Output,
        RecordError,
        Subject,
        Tolerance,
        WildBug,
        Witness,
    )
    from .report.notebook import split
    from .report.phrases import STUB, count
    from .report.plot import drawn
    from .results.aim import Aim
    from .results.points import WEIGHTS, Points
    from .ulp import HALVES, PRECISION
    from .verdicts.job import Job, versions
    from .verdicts.make import load, make, read_own, shared_worker
    from .verdicts.scheduler import SETTINGS, Cluster, configured, remote
    from .verdicts.store import Store
    from .verdicts.task import verdicts_of
    from .verdicts.verdict import Verdict

__getattr__ = lazy_face(__name__, __file__)
