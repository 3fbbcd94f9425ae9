"""Says what the kernels of the course cost: ``kernel_costs.yours()``, a line for each as it is known.

Of an exercise that the learner's notebooks hold a passing report on, its bytes, registers and spills are those of the
report; of the others those of the course's own kernel. A check does not count operations, so these are always those of
the course's kernel.
"""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..autograder import EXERCISES
from ..autograder.judge import Exercise
from . import measure
from .desk.chapter_progress import Report, read_reports
from .learner import ROOT
from .regions import find_regions

Args = tuple[Any, ...]
HALF = torch.bfloat16


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=HALF, generator=torch.Generator().manual_seed(sum(shape)))


def _losses() -> Args:
    return _normal(8, 32000), torch.randint(32000, (8,), generator=torch.Generator().manual_seed(0))


ARGUMENTS: dict[str, Callable[[], Args]] = {
    "silu_forward": lambda: (_normal(64, 1024),),
    "silu_backward": lambda: (_normal(64, 1024), _normal(64, 1024)),
    "swiglu_forward": lambda: (_normal(64, 1024), _normal(64, 1024)),
    "layer_norm_forward": lambda: (_normal(16, 4096), _normal(4096), _normal(4096)),
    "cross_entropy_forward": _losses,
    "matmul": lambda: (_normal(256, 256), _normal(256, 256)),
    "attention_forward": lambda: (_normal(1, 1, 512, 64), _normal(1, 1, 512, 64), _normal(1, 1, 512, 64)),
}


@dataclass(frozen=True)
class Cost:
    """One kernel. moved: bytes over those of all arguments and results, None where these are not stated. intensity:
    operations a byte moved. registers a thread, and spills in bytes, of its largest form. yours: whether the learner's.
    """

    name: str
    moved: float | None
    intensity: float
    registers: int
    spills: int
    load_bits: int
    yours: bool

    def __str__(self) -> str:
        moved = f"{self.moved:.2f} times the bytes" if self.moved else "bytes not stated"
        spilled = f"{self.spills} bytes spilled" if self.spills else "no spills"
        line = f"{self.name:22} {moved:17} {self.intensity:6.1f} operations a byte"
        return f"{line}  {self.registers:3} registers, {spilled}, {self.load_bits}-bit loads  ({self.whose})"

    @property
    def whose(self) -> str:
        """``"yours"`` or ``"the course's"``."""
        return "yours" if self.yours else "the course's"


def yours(folder: Path | None = None) -> Iterator[Cost]:
    """The costs of `ARGUMENTS`' exercises. folder: where the learner's notebooks are; the current one."""
    reports = read_reports(folder or Path.cwd())
    for name in ARGUMENTS:
        report = reports.get((name, "triton"), {})
        yield _cost(name, report if report.get("passed") is True else None)


def _cost(name: str, report: Report | None) -> Cost:
    function, args = _ours(name), ARGUMENTS[name]()
    bytes_moved, operations = measure.bytes_moved(function, *args), measure.flops(function, *args)
    record = EXERCISES[name]
    assert isinstance(record, Exercise)
    least = record.least_bytes(*args) if record.least_bytes else None
    moved = bytes_moved / least if least else None
    rows = measure.compiled(function, *args)
    if report:
        moved = report["traffic"]["ratio"] if moved and report.get("traffic") else moved
        rows = _rows(report) or rows
    registers, spills, bits = (max(row[key] or 0 for row in rows) for key in ("registers", "spills", "load_bits"))
    intensity = operations / (moved * least if moved and least else bytes_moved)
    return Cost(name, moved, intensity, registers, spills, bits, report is not None)


def _ours(name: str) -> Callable[..., object]:
    region = find_regions(ROOT)["kernels", name]
    function: Callable[..., object] = getattr(
        importlib.import_module(f"graded_kernels.kernels.{region.path.stem}"), name
    )
    return function


def _rows(report: Report) -> list[dict[str, Any]]:
    """The forms that compiled, of the first target."""
    rows: list[dict[str, Any]] = [
        row for row in (report.get("compile") or {}).get("targets", ()) if row.get("registers")
    ]
    return [row for row in rows if row["target"] == rows[0]["target"]]
