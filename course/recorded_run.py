"""Says what a GPU measured: ``recorded_run.shares("silu_forward")``, from the results that `make gpu` keeps.

A project without them, or an installed package, which has no benchmarks, says so.
"""

import json
from pathlib import Path
from typing import Any

from .learner import ROOT

RESULTS = ROOT / "benchmarks" / "gpu.jsonl"
NOTHING = "No GPU has run `make gpu` yet: there is nothing to compare with."


def shares(*names: str, results: Path = RESULTS) -> str:
    """For each of these exercises what the course's kernel reached of the device's copy bandwidth, or of its matrix
    product, at the largest size in bfloat16, beside PyTorch's; with the device. `NOTHING` where there are no results.
    """
    kept = _kept(results)
    if "machine" not in kept:
        return NOTHING
    lines = [f"Measured on {kept['machine']['device']}: share of a copy's bandwidth, or of a matrix product"]
    return "\n".join([*lines, *(_line(name, kept.get(f"speed {name}")) for name in names)])


def _kept(results: Path) -> dict[str, dict[str, Any]]:
    """Returns what each piece found, by its key, of those that ended well."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    pieces = [json.loads(line) for line in lines]
    return {piece["piece"]: piece["found"] for piece in pieces if piece["status"] == "done"}


def _line(name: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return f"{name:22} not run"
    last = {row["author"]: row for row in entry["rows"] if row["dtype"] == "bfloat16"}  # sizes grow
    cells = [f"{author} {_share(entry, last[author])}" for author in ("ours", "torch") if author in last]
    return f"{name:22} {', '.join(cells)}"


def _share(entry: dict[str, Any], row: dict[str, Any]) -> str:
    if "failed" in row:
        return "failed"
    limit = entry["matmul"]["bfloat16"] if row["flops"] else entry["copy"]
    return f"{(row['flops'] or row['bytes']) / (row['ms'][1] / 1e3) / limit:.2f}"
