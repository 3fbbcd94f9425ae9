"""Kernels counted by their machine code: no kernel of ours gets slower unseen, and what is counted is what there is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "benchmarks/machine_code.py")]
SLACK = 1.02  # a compiler of another version


def page() -> dict[tuple[str, str, str], list[str]]:
    """The cells behind the name of each kernel of ours, by operation, dtype and kernel."""
    text = (ROOT / "benchmarks/machine_code.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    return {(row[0], row[1], row[3].split(" ")[0]): row[4:] for row in rows if row[2] == "ours"}


def counted(*words: str) -> list[dict]:
    done = subprocess.run([*COMMAND, "--json", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def slower(found: list[dict], said: dict[tuple[str, str, str], list[str]]) -> list[str]:
    """Kernels of ours that take more instructions than the page says, spill more, or load less at once."""
    worse = []
    for one in (one for one in found if one["whose"] == "ours"):
        instructions, _, _, spills, _, widths, _ = said[one["operation"], one["dtype"], one["name"]]
        widest = max(map(int, re.findall(r"x(\d+)", widths.partition(";")[0])))
        if one["instructions"] > float(instructions) * SLACK + 0.05 or one["spills"] > int(spills):
            worse.append(
                f"{one['operation']}, {one['dtype']}: {one['instructions']:.1f} of {instructions} instructions"
            )
        if max(map(int, one["loads"])) < widest:
            worse.append(f"{one['operation']}, {one['dtype']}: loads of {one['loads']} bits, {widest} before")
    return worse


def test_a_kernel_that_became_slower_is_named():
    one = {"operation": "f", "dtype": "float32", "whose": "ours", "name": "f_kernel", "instructions": 12.0, "spills": 0}
    said = {("f", "float32", "f_kernel"): ["10.0", "10.0", "32", "0", "0", "2x128; 1x128", "1.00, 1.00"]}
    assert slower([{**one, "loads": {"32": 4}}], said) == [
        "f, float32: 12.0 of 10.0 instructions",
        "f, float32: loads of {'32': 4} bits, 128 before",
    ]
    assert slower([{**one, "instructions": 10.1, "loads": {"128": 2}}], said) == []


@pytest.mark.release
def test_every_kernel_is_as_the_page_says():
    said, found = page(), [one for one in counted() if one["whose"] == "ours"]
    assert {(one["operation"], one["dtype"], one.get("name")) for one in found} == said.keys()
    assert slower(found, said) == []
    # each element is read and written once
    assert all(one["traffic"] == pytest.approx(1) for one in found if one["operation"] == "silu forward")
