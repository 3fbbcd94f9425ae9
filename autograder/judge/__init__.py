"""Says what is right, and who decides: records, the check, its report, verdicts. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_api

if TYPE_CHECKING:
    from .batches import neighbours
    from .checking.check import check
    from .records.category import Category
    from .records.derived import derived
    from .records.inputs import Arguments, Values, also, case, draw
    from .records.record import (
        COMBINING,
        Case,
        CommonMistake,
        Exercise,
        Floors,
        Large,
        Output,
        RecordError,
        Tolerance,
        WildBug,
        Witness,
    )
    from .records.settings import Settings
    from .records.table import EXERCISES
    from .records.ulp import HALVES, ulp_error, ulp_size
    from .report.plot import svg_of
    from .report.report import Report
    from .results.data import ReportData
    from .results.scoring import Points, changed_costs
    from .side_by_side import compare
    from .verdicts.job import Job
    from .verdicts.make import make_verdict, preload, shared_worker
    from .verdicts.make_all import NoWorker
    from .verdicts.scheduler import Cluster
    from .verdicts.store import Store
    from .verdicts.verdict import Verdict

__getattr__ = lazy_api(__name__, __file__)
