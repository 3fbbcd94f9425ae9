"""What a check found, as data. `text` shows it in a terminal, `html` in a notebook, ``to_dict`` to a program."""

import math
import numbers
import os
from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from .causes import Cause, causes
from .quality import Quality


@dataclass(frozen=True)
class Failure:
    """The worst element of a failing case.

    index: where it is in the output. ulp: distance from ``expected`` in ulp of the output's dtype, infinity where
    NaN or infinity disagree. wrong, total: how many elements lie outside the tolerance, of how many.
    inputs: the value, at that index, of every input that has the output's shape.
    allowed: the tolerance there, in ulp. step: one ulp there. Both NaN where they are not known.
    """

    output: str
    index: tuple[int, ...]
    got: float
    expected: float
    ulp: float
    wrong: int
    total: int
    inputs: dict[str, float]
    allowed: float = math.nan
    step: float = math.nan


@dataclass(frozen=True)
class Curve:
    """The error in ulp over one input of an elementwise case, for the picture.

    x: float64, sorted and finite. ulp: the answer's error at each x, infinity where NaN or infinity disagree.
    wild: the error of the wild bug that resembles the answer most, over the same x. allowed: the tolerance in ulp.
    """

    parameter: str
    dtype: str
    x: np.ndarray
    ulp: np.ndarray
    wild: np.ndarray | None
    wild_name: str
    allowed: np.ndarray


@dataclass(frozen=True)
class CaseResult:
    """One case.

    status: ``pass | fail | error | not-run``. bonus: a distinction, not needed to pass.
    hidden: an instructor's own, of which ``inputs`` are kinds without values.
    kind: the quality that a failure shows the answer to lack; None where the answer was not judged at all.
    cause: why it fails, in words that other cases that fail for this reason share; "" where the message says it.
    convention: what it rests on that is a library's choice (`exercise.Case`).
    """

    name: str
    status: str
    bonus: bool
    message: str
    inputs: str
    hint: str = ""
    failure: Failure | None = None
    worst_ulp: float | None = None
    details: str = ""
    curve: Curve | None = None
    hidden: bool = False
    kind: Quality | None = Quality.CORRECT
    cause: str = ""
    convention: str = ""


@dataclass(frozen=True)
class Report:
    """What ``check`` returns: true when every case but the distinctions passed, of the qualities that are ``required``.

    correct, portable, efficient: whether it is, or None where that was not judged (`quality.Quality`).
    score: the share of the points earned, 0 to 1. summary: one sentence.
    fingerprint: the wild bug that computes the same wrong values, if one does. fingerprint_story: what it did.
    traffic: ``{"loaded", "stored", "least"}`` in bytes, ``"ratio"``, ``"allowed"`` (a ratio or None), ``"tensors"``.
    compile: ``{"status", "reason", "targets": [{target, status, registers, spills, shared, load_bits, message}]}``.
    environment: ``{"python", "torch", "triton", "device", "mode"}``, and ``"seed"`` of the random inputs.
    notes: sentences on what the emulator cannot show for the operations this answer used.
    timed_out: whether a time limit ended a call; a second check of the same answer may find something else.
    stopped_in: ``{"cell", "reason"}`` where a cell's own statements broke a limit or ended the process while the answer
    was loaded.
    """

    exercise: str
    backend: str
    passed: bool
    score: float
    cases: tuple[CaseResult, ...]
    summary: str
    fingerprint: str | None
    fingerprint_story: str
    traffic: dict | None
    compile: dict | None
    environment: dict
    notes: tuple[str, ...] = ()
    correct: bool | None = None
    portable: bool | None = None
    efficient: bool | None = None
    required: tuple[Quality, ...] = tuple(Quality)
    conventions: str = "course"
    timed_out: bool = False
    stopped_in: dict | None = None

    def __bool__(self) -> bool:
        return self.passed

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Why cases fail, the cause to mend first at the front."""
        return causes(self.cases, self.fingerprint)

    def to_dict(self) -> dict:
        """The report as strictly valid JSON values: NaN and infinity are the strings "nan", "inf" and "-inf"."""
        causes = [{"kind": c.kind, "message": c.message, "cases": [x.name for x in c.cases]} for c in self.causes]
        return plain(self) | plain({"causes": causes})

    # Imported when asked for: matplotlib, which draws the picture, takes longer to import than a check runs.
    def __str__(self) -> str:
        from . import text

        return text.render(self, color=False)

    def _repr_pretty_(self, printer, cycle: bool) -> None:  # what IPython prints where it cannot show HTML
        printer.text(str(self))

    def _ipython_display_(self) -> None:
        """Nothing where nbgrader runs the notebook, which takes the output of a check for points; else IPython asks for
        the other forms.
        """
        if "NBGRADER_EXECUTION" not in os.environ:
            raise NotImplementedError

    def _repr_html_(self) -> str:
        from . import html

        return html.render(self)


def plain(value):
    """``value`` as JSON holds it, without the curves: sixty-five thousand points are a picture, not data."""
    if value is None:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        value = float(value)
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.name != "curve"}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return str(value)
