"""Says what a check found, as data."""

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...words import Quality
from .case_result import CaseResult
from .causes import Cause, causes
from .scoring import Cost

if TYPE_CHECKING:
    from ..batches.dependence import Neighbours


@dataclass(frozen=True)
class ReportData:
    """Holds what a check found: true when every case but distinctions passed, of the ``required`` qualities.

    correct, portable, efficient: whether it is, or None where that was not judged (`quality.Quality`).
    score: the share of the points earned, 0 to 1. costs: what the others went for (`scoring`). summary: one sentence.
    fingerprint: the wild bug that computes the same wrong values, if one does; mistake: the common mistake that does,
    or "". fingerprint_story: what it did.
    traffic: ``{"loaded", "stored", "least"}`` in bytes, ``"ratio"``, ``"allowed"`` (a ratio or None), ``"tensors"``.
    compile: ``{"status", "reason", "forms", "complete", "left_out", "compiled_for", "targets": [{target, kernel,
    launch, status, registers, spills, shared, load_bits, message}]}``, as the room `compiler` says.
    machine_code: ``{"about", "kernels": [{kernel, launch, elements, text, instructions, ...}]}``, as
    `compiler.machine_code_report` says; None where it was not asked for.
    environment: ``{"python", "torch", "triton", "device", "mode"}``, and ``"seed"`` of the random inputs.
    notes: sentences on what the emulator cannot show for the operations this answer used.
    tolerance: where it comes from, in a sentence, if it is an estimate.
    remarks: sentences on how a comparison without a record was made (`side_by_side`). computes: how its candidate
    does (`side_by_side.method.MethodKind`). neighbours: whether its rows depend on the rows beside them, None where
    that was not asked.
    stopped: the code of what stopped the whole answer, as its case has it: ``stub`` where it is as it was handed out,
    ``refused ...`` or ``unloadable ...``; or "".
    timed_out: whether a time limit ended a call; a second check of the same answer may find something else.
    stopped_in: ``{"cell", "reason"}`` where a cell's own statements broke a limit or ended the process while the answer
    was loaded.
    up_to: what the plain values that are wrong are right up to, in words (``one factor``), as far as points ask; or "".
    """

    MIME: ClassVar = "application/vnd.graded-kernels.report+json"  # the data among the forms of a cell's output

    exercise: str
    backend: str
    passed: bool
    score: float
    cases: tuple[CaseResult, ...]
    summary: str
    fingerprint: str | None
    fingerprint_story: str
    traffic: dict[str, Any] | None
    compile: dict[str, Any] | None
    environment: dict[str, Any]
    notes: tuple[str, ...] = ()
    correct: bool | None = None
    portable: bool | None = None
    efficient: bool | None = None
    required: tuple[Quality, ...] = tuple(Quality)
    conventions: str = "course"
    stopped: str = ""
    timed_out: bool = False
    stopped_in: dict[str, Any] | None = None
    up_to: str = ""
    tolerance: str = ""
    mistake: str = ""
    costs: tuple[Cost, ...] = ()
    remarks: tuple[str, ...] = ()
    computes: str = ""
    neighbours: "Neighbours | None" = None
    machine_code: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.passed

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of all failures, the one to mend first at the front."""
        return causes(self.cases, self.source)

    @property
    def source(self) -> str:
        """The bug or the mistake that the wrong values come from, where it is known."""
        return self.fingerprint or self.mistake

    def to_dict(self) -> dict[str, Any]:
        """The report as strictly valid JSON values: NaN and infinity are the strings "nan", "inf" and "-inf"."""
        causes = [vars(cause) | {"cases": [case.name for case in cause.cases]} for cause in self.causes]
        rows = None if self.neighbours is None else self.neighbours.to_dict()
        data: dict[str, Any] = plain(self) | plain({"causes": causes, "neighbours": rows})
        return data


def plain(value: object) -> Any:
    """``value`` as JSON holds it, without the curves: sixty-five thousand points are a picture, not data."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.name != "curve"}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)
