"""A run as one JSON object, which the JSON Schema beside this file describes.

A field may be added within a schema's number; one that goes, or changes what it means, takes the next number.
"""

from pathlib import Path
from typing import Any

from .reached import FunctionLines
from .run_report import Run

SCHEMA = 1
FILE = Path(__file__).with_name("schema.json")


def data(run: Run, status: int) -> dict[str, Any]:
    """The run for ``--json``. status: the exit status."""
    since = {"revision": run.since, "judged": sorted(run.judged), "left_out": run.set_aside}
    return {
        "schema": SCHEMA,
        "program": run.program,
        "status": status,
        "launches": run.launches,
        "kernels": run.kernels,
        "findings": run.findings,
        "not_judged": run.unable,
        "known": run.known,
        "allowed": run.allowed,
        "remarks": run.remarks,
        "since": since if run.since else None,
        "hints": run.hints,
        "cuda": run.shim or None,
        "failed": run.failed or None,
        "unusable": run.unusable or None,
        "interrupted": run.interrupted,
        "stopped": run.stopped,
        "not_watched": run.spawned,
        "not_tried": run.skipped.data(),
        "one_at_a_time": [{"kernel": k, "why": why, "times": times} for (k, why), times in run.alone.items()],
        "machine_code": run.machine_code,
        "coverage": [_named(function) for function in run.coverage],
    }


def _named(function: FunctionLines) -> dict[str, Any]:
    return {
        **{name: function[name] for name in ("kernel", "file", "line")},
        "lines": [{"line": line, "ran": ran} for line, ran in function["lines"]],
        "branches": [{"line": line, "true": true, "false": false} for line, true, false in function["branches"]],
        "masks": [{"line": line, "all": a, "some": s, "none": n} for line, a, s, n in function["masks"]],
    }
