"""A child's report on a call, checked against a schema. It was written by untrusted code: nothing in it is believed.

Text loses its control characters and what is beyond a length; a field of another type than it should be makes all of
it void.
"""

import math
from dataclasses import dataclass, field
from typing import get_args

import torch

from ..compiler import KernelLaunch
from ..emulator import KINDS as FINDINGS
from ..emulator import Finding
from ..run.outcome import Own, Trouble
from .wire import checked
from .wire.buffers import DTYPES

KINDS = frozenset(get_args(Own))
DETAILS = 8_000  # characters
MANY = 64
_LAUNCHES = 512  # distinct ones in one call; more are refused, not left out: the last might be the one that counts
_VALUE_LENGTH = 100


class Garbled(Exception):
    """A status that no child of ours writes."""


@dataclass(frozen=True)
class Described:
    """An output as the child describes it: a tensor's dtype and shape, or a number or text in ``value``."""

    dtype: torch.dtype | None
    shape: tuple[int, ...] = ()
    value: object = None

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize if self.dtype else 0


@dataclass(frozen=True)
class Status:
    trouble: Trouble | None = None
    outputs: tuple[Described, ...] | None = None
    aliased: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    hints: tuple[Finding, ...] = ()
    looser: tuple[str, ...] = ()
    traffic: dict[str, dict[str, int]] = field(default_factory=dict)
    launches: tuple[KernelLaunch | str, ...] = ()
    plan: object = None
    peak: int = 0
    undefined: bool = False


def read(raw: bytes, source: str) -> Status:
    """Raises Garbled. ``source``: the text that the launches' kernels were defined in."""
    try:
        said = checked.loads(raw)
        return Status(
            trouble=_trouble(said.get("trouble")),
            outputs=_outputs(said.get("outputs")),
            aliased=_texts(said.get("aliased", []), 100),
            findings=_findings(said.get("findings", [])),
            hints=_findings(said.get("hints", [])),
            looser=_texts(said.get("looser", []), _VALUE_LENGTH),
            traffic=_traffic(said.get("traffic", {})),
            launches=_launches(said.get("launches", []), source),
            plan=said.get("plan"),
            peak=checked.count(said.get("peak", 0)),
            undefined=said.get("undefined") is True,
        )
    except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise Garbled(f"{type(error).__name__}: {error}") from None


def _texts(values, limit: int) -> tuple[str, ...]:
    return tuple(checked.text(value, limit) for value in checked.items(values)[:MANY])


def _trouble(said) -> Trouble | None:
    if said is None:
        return None
    kind = said["kind"]
    if kind not in KINDS:
        raise TypeError("unknown trouble")
    message, details = checked.text(said["message"], checked.SENTENCE), checked.text(said["details"], DETAILS)
    error, cause = checked.text(said["error"], 100), checked.text(said["cause"], checked.SENTENCE)
    return Trouble(kind, message, details, error, cause, place=checked.text(said["place"], checked.SENTENCE))


def _findings(said) -> tuple[Finding, ...]:
    return tuple(_finding(one) for one in checked.items(said)[:MANY])


def _finding(said) -> Finding:
    if said["kind"] not in FINDINGS:
        raise TypeError("unknown finding")
    names, line = (
        (checked.text(said[name], _VALUE_LENGTH) for name in ("kernel", "tensor")),
        checked.count(said["line"]),
    )
    return Finding(
        said["kind"],
        checked.text(said["message"], checked.SENTENCE),
        *names,
        line=line,
        source=checked.text(said["source"], 200),
    )


def _outputs(said) -> tuple[Described, ...] | None:
    return None if said is None else tuple(_output(one) for one in checked.items(said)[:MANY])


def _output(said) -> Described:
    if "value" in said:
        value = said["value"]
        if isinstance(value, str):
            return Described(None, value=checked.clean(value, _VALUE_LENGTH))
        if not isinstance(value, int | float) or (isinstance(value, int) and abs(value) >= 2**63):
            raise TypeError("not a number")
        return Described(None, value=value)
    shape = tuple(checked.count(size) for size in checked.items(said["shape"]))
    if len(shape) > 64:
        raise TypeError("too many dimensions")
    return Described(DTYPES[said["dtype"]], shape)


def _traffic(said) -> dict[str, dict[str, int]]:
    rows = list(checked.fields(said).items())[:MANY]
    return {
        checked.name(name): {key: checked.count(moved[key]) for key in ("loaded", "stored")} for name, moved in rows
    }


def _launches(said, source: str) -> tuple[KernelLaunch | str, ...]:
    if len(checked.items(said)) > _LAUNCHES:
        raise TypeError("too many launches")
    return tuple(_launch(one, source) for one in said)


def _launch(said, source: str) -> KernelLaunch | str:
    if isinstance(said, str):
        return checked.clean(said)
    try:
        return KernelLaunch(**(said | {"source": source}))
    except ValueError as error:
        raise TypeError(str(error)) from None
