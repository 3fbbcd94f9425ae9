"""A child's report on a call, checked against a schema. It was written by untrusted code: nothing in it is trusted.

Text loses its control characters and is shortened; one field of a wrong type makes the whole report invalid.
"""

import math
from dataclasses import dataclass, field
from typing import Any, get_args

import torch

from ...gpu import Finding, KernelLaunch
from ..call.outcome import Own, Trouble
from ..call.tree import Tree
from .wire import checked
from .wire.buffers import DTYPES

KINDS = frozenset(get_args(Own))
DETAILS = 8_000  # characters
MANY = 64
_OUTPUTS = MANY + Tree.TENSORS  # with the arguments that are written in place
_LAUNCHES = 512  # distinct launches in one call; more are refused rather than truncated: the last one may matter
_VALUE_LENGTH = 100


class MalformedReport(Exception):
    """A report that the worker's own code would not have written."""


@dataclass(frozen=True)
class Described:
    """An output as the child describes it: a tensor's dtype and shape, or a number, a text or None in ``value``."""

    dtype: torch.dtype | None
    shape: tuple[int, ...] = ()
    value: object = None

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize if self.dtype else 0


@dataclass(frozen=True)
class Status:
    """A report that was checked; see `Outcome` for most of its fields. plan: what a recorder wrote, not checked yet."""

    trouble: Trouble | None = None
    outputs: tuple[Described, ...] | None = None
    relisted: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    aliased: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    hints: tuple[Finding, ...] = ()
    looser: tuple[str, ...] = ()
    traffic: dict[str, dict[str, int]] = field(default_factory=dict)
    launches: tuple[KernelLaunch | str, ...] = ()
    plan: object = None
    peak: int = 0
    undefined: bool = False
    parting: tuple[str, ...] = ()  # as `Examined.parting` has it, of the call that was followed before and of this one


def read(raw: bytes, source: str) -> Status:
    """The content of a report. source: the text that defines the launches' kernels. Raises MalformedReport."""
    try:
        report = checked.loads(raw)
        return Status(
            trouble=_trouble(report.get("trouble")),
            outputs=_outputs(report.get("outputs")),
            relisted=_parts(report.get("relisted", [])),
            reshaped=_parts(report.get("reshaped", [])),
            aliased=_parts(report.get("aliased", [])),
            findings=_findings(report.get("findings", [])),
            hints=_findings(report.get("hints", [])),
            looser=_texts(report.get("looser", []), _VALUE_LENGTH),
            traffic=_traffic(report.get("traffic", {})),
            launches=_launches(report.get("launches", []), source),
            plan=report.get("plan"),
            peak=checked.count(report.get("peak", 0)),
            undefined=report.get("undefined") is True,
            parting=_texts(report.get("parting", []), checked.SENTENCE)[:2],
        )
    except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise MalformedReport(f"{type(error).__name__}: {error}") from None


def _texts(values: Any, limit: int) -> tuple[str, ...]:
    return tuple(checked.text(value, limit) for value in checked.items(values)[:MANY])


def _parts(values: Any) -> tuple[str, ...]:
    return tuple(checked.part(value) for value in checked.items(values)[:MANY])


def _trouble(record: Any) -> Trouble | None:
    if record is None:
        return None
    kind = record["kind"]
    if kind not in KINDS:
        raise TypeError("unknown trouble")
    message, details = checked.text(record["message"], checked.SENTENCE), checked.text(record["details"], DETAILS)
    error, code = checked.text(record["error"], 100), checked.text(record["code"], 100)
    at, place = (checked.text(record[name], checked.SENTENCE) for name in ("at", "place"))
    operator = checked.text(record["operator"], 100)
    purpose = record["on_purpose"] is True
    return Trouble(kind, message, details, error, code, at, place=place, operator=operator, on_purpose=purpose)


def _findings(records: Any) -> tuple[Finding, ...]:
    return tuple(_finding(item) for item in checked.items(records)[:MANY])


def _finding(record: Any) -> Finding:
    if record["kind"] not in Finding.KINDS:
        raise TypeError("unknown finding")
    return Finding(
        record["kind"],
        checked.text(record["message"], checked.SENTENCE),
        kernel=checked.text(record["kernel"], _VALUE_LENGTH),
        tensor=checked.text(record["tensor"], _VALUE_LENGTH),
        line=checked.count(record["line"]),
        source=checked.text(record["source"], 200),
    )


def _outputs(records: Any) -> tuple[Described, ...] | None:
    return None if records is None else tuple(_output(item) for item in checked.items(records)[:_OUTPUTS])


def _output(record: Any) -> Described:
    if "value" in record:
        value = record["value"]
        if isinstance(value, str):
            return Described(None, value=checked.clean(value, _VALUE_LENGTH))
        if not isinstance(value, int | float | None) or (isinstance(value, int) and abs(value) >= 2**63):
            raise TypeError("not a number")
        return Described(None, value=value)
    shape = tuple(checked.count(size) for size in checked.items(record["shape"]))
    if len(shape) > 64:
        raise TypeError("too many dimensions")
    return Described(DTYPES[record["dtype"]], shape)


def _traffic(record: Any) -> dict[str, dict[str, int]]:
    rows = list(checked.fields(record).items())[:MANY]
    return {
        checked.part(name): {key: checked.count(moved[key]) for key in ("loaded", "stored")} for name, moved in rows
    }


def _launches(records: Any, source: str) -> tuple[KernelLaunch | str, ...]:
    if len(checked.items(records)) > _LAUNCHES:
        raise TypeError("too many launches")
    return tuple(_launch(launch, source) for launch in records)


def _launch(record: Any, source: str) -> KernelLaunch | str:
    if isinstance(record, str):
        return checked.clean(record)
    try:
        return KernelLaunch(**(record | {"source": source}))
    except ValueError as error:
        raise TypeError(str(error)) from None
