"""triton-viz's branch at 4e2af488: its race prover, by its own command, on the launches of its own corpus.

`--checkouts` has the branch, in which `python setup.py build_py` has written triton_viz/version.py; `pip install
--no-deps z3-solver==4.15.3.0 ml_dtypes`, and what triton_viz.py names.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from ..row import Row
from ..said import Said
from ..subject import Cannot, checkout


def refuses(row: Row) -> str:
    return "" if row.how == "launch" else "asked for the launches of its own corpus alone"


def check(row: Row) -> Said:
    answer = Path("answer.json").resolve()
    command = [sys.executable, "-m", "evaluation.harness", "--corpus", "tritonracebench", "--spec", row.entry]
    told = subprocess.run(
        [*command, "--out", str(answer)],
        cwd=checkout(row),
        env={name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if not answer.is_file():
        raise Cannot(f"its command fails: {' '.join(told.stderr.split())[-200:]}")
    found = json.loads(answer.read_text(encoding="utf-8"))
    says = found["terminal"]
    if found["verdict"] == "race":
        pairs = (found.get("static") or {}).get("witnesses") or [{}]
        return Said(row.name, True, "race", str(pairs[0].get("first", "")), says)
    if found["verdict"] == "race-free":
        return Said(row.name, says=says)
    raise Cannot(
        f"{found['verdict']}, {says}: {found.get('harness_error') or (found.get('static') or {}).get('reason')}"
    )
