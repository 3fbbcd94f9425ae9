"""What is right, and who decides: records, the check, its report, verdicts. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_face

if TYPE_CHECKING:
    from .make_all import NoWorker, made_by
    from .records.bad_labels import IGNORE, OUT_OF_RANGE, BadLabel, bad_label
    from .records.common import (
        AGAIN,
        EPS,
        HALVES,
        KEEP_NOTHING,
        STEP_BY_STEP,
        MakeArguments,
        as_they_are,
        every_second,
        leaning_walk,
        walk,
    )
    from .records.elementwise import (
        BEYOND,
        BEYOND_HINT,
        ELEMENTWISE,
        VALUES,
        elementwise,
        gradient,
        normal,
    )
    from .records.external_records import read_cases, read_text
    from .records.inputs import Arguments, Change, Values, also, case, draw
    from .records.losses import CONVERT, batch, ignored, labelled, losses
    from .records.record import (
        Case,
        CommonMistake,
        Convention,
        Exercise,
        Floors,
        Large,
        Output,
        RecordError,
        Tolerance,
        WildBug,
        Witness,
    )
    from .records.rows import ORDINARY, backward, floors, offset, row_bytes, row_max, row_mean, rowwise, weights
    from .records.suspect import first, suspect
    from .records.table import find
    from .report import plot
    from .report.notebook import split
    from .report.phrases import STUB, count
    from .report.plot import ANSWER, MUTED, WILD, drawn
    from .results.aim import Aim
    from .results.data import plain
    from .results.points import WEIGHTS, Points
    from .ulp import PRECISION
    from .verdicts import task
    from .verdicts.job import Job, versions
    from .verdicts.make import make, shared_worker
    from .verdicts.scheduler import SETTINGS, Cluster, configured, remote
    from .verdicts.store import Store
    from .verdicts.task import FAILED
    from .verdicts.verdict import LATE, LOST, Verdict

__getattr__ = lazy_face(__name__, __file__)
