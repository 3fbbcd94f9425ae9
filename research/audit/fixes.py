"""Repairs of released kernels, before and after: ``python research/audit/fixes.py [NAME ...]`` writes fixes.md.

Each call of fix_recipes.py runs under `graded-kernels sanitize` twice: with its library as of the commit before the
repair, which is to be flagged with what the repair is about, and as of the repair, which is to be clean. The two
commits are fetched by hash into folders that are thrown away. Results are kept in fixes.json as they come; those that
are named are made anew, without a name those that are missing.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import torch
import triton
from fetching import checkout, install, lines_of
from fix_recipes import FIXES

HERE = Path(__file__).resolve().parent
KEPT = HERE / "fixes.json"
SECONDS = 600
ABOUT = f"""# Repairs in libraries' histories, before and after

`python research/audit/fixes.py`, PyTorch {torch.__version__}, Triton {triton.__version__}, no GPU: one was simulated,
and kernels ran in the strict emulator. Each row is a commit that repaired a kernel, found in the library's own history.
A few lines of ours in fix_recipes.py call the kernel; `graded-kernels sanitize fix_recipes.py NAME` ran them with the
library as of the commit before, and as of the commit, on two cores that were shared. Goal: the first is flagged with
what was repaired, the second is clean. With `--only correct` are those in which a masked load without `other` goes into
a sum before and after: another finding, which the commit is not about.

| library, commit (before) | what was repaired | before | after | run |
|---|---|---|---|---|"""


def run(name: str, commit: str) -> dict:
    """What `sanitize` says of a recipe with its library as of a commit; ``unable`` where it cannot run."""
    fix = FIXES[name]
    with tempfile.TemporaryDirectory(prefix="fix-") as made:
        library, needs = Path(made, "library"), Path(made, "needs")
        needs.mkdir()
        why = checkout(f"https://github.com/{fix.repository}", commit, [fix.folder], library)
        why = why or (install(lines_of(fix.needs), needs) if fix.needs else "")
        if why:
            return {"unable": f"not run: {why}"}
        path = os.pathsep.join(map(str, (library / fix.on_path, needs)))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["HOME"] = made  # FlagGems keeps there which configuration of an autotuner it chose
        command = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", "--json", *fix.options]
        done = subprocess.run(
            [*command, str(HERE / "fix_recipes.py"), name],
            **{"cwd": library, "env": environment, "capture_output": True, "text": True, "timeout": SECONDS},
        )
    return read(done.returncode, done.stdout) | {"date": str(date.today())}


def read(status: int, told: str) -> dict:
    """The row of a run, from what `sanitize --json` printed."""
    try:
        data = json.loads(told)
    except ValueError:
        return {"unable": "not run: sanitize printed no JSON"}
    parts = "kind", "kernel", "tensor", "line"
    findings = [{part: one[part] for part in parts} for one in [*data["findings"], *data["not_judged"]]]
    return {"status": status, "launches": data["launches"], "failed": data["failed"], "findings": findings}


def flagged(row: dict, kind: str) -> bool:
    """Whether a run found what the repair is about."""
    return row.get("status") == 1 and any(one["kind"] == kind for one in row["findings"])


def cell(row: dict) -> str:
    if "unable" in row:
        return row["unable"]
    if not row["findings"]:
        why = " ".join((row["failed"] or "not judged").split())
        ended = f"status {row['status']}: {why}" if row["status"] else "clean"
        return f"{ended}, {row['launches']} launch{'es' * (row['launches'] != 1)}"
    return "; ".join(
        f"**{one['kind']}**"
        + (f" of `{one['tensor']}`" if one["tensor"] else "")
        + f", `{one['kernel']}` line {one['line']}"
        for one in row["findings"]
    )


def page(results: dict[str, dict]) -> str:
    lines, seen, clean = [ABOUT], 0, 0
    for name, fix in FIXES.items():
        before, after = (results.get(f"{name}/{one}", {"unable": "not run"}) for one in ("before", "after"))
        thread = f", #{fix.thread}" if fix.thread else ""
        what = f"`{name}`. {fix.fault}" + (f" With `{' '.join(fix.options)}`." if fix.options else "")
        cells = f"{fix.repository} {fix.commit[:8]} ({fix.parent[:8]}){thread}", what, cell(before), cell(after)
        lines.append(f"| {' | '.join(cells)} | {after.get('date', '')} |")
        seen += flagged(before, fix.kind)
        clean += after.get("status") == 0
    return "\n".join([*lines, "", f"Flagged before: {seen} of {len(FIXES)}. Clean after: {clean}.", ""])


def main(names: list[str]) -> int:
    results = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    for name in names or FIXES:
        fix = FIXES[name]
        for which, commit in (("before", fix.parent), ("after", fix.commit)):
            key = f"{name}/{which}"
            if key in results and name not in names:
                continue
            found = run(name, commit)
            print(f"{key}: {cell(found)}", file=sys.stderr, flush=True)
            if "unable" not in found or key not in results:
                results[key] = found
            KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (HERE / "fixes.md").write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
