"""Released packages put to our exercises: ``python research/audit/audit.py [PACKAGE ...]`` writes audit.md.

Each package of pins.txt is installed by version and hash, alone, into a folder that is thrown away; PyTorch and Triton
are this environment's. What a run found is kept in audit.json: of packages that are named only their own lines are made
anew, and one that cannot be fetched keeps those it had, or is "not run".
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
from fetching import NEEDS, fetch, pins

HERE = Path(__file__).resolve().parent
KEPT = HERE / "audit.json"
SECONDS = 1200
NOT_RUN = "not run"
ABOUT = f"""# Released packages, audited

`make audit`, {{date}}, PyTorch {torch.__version__}, Triton {triton.__version__}, no GPU: kernels ran in the emulator.

*Passes*: with so many cases. *Not passed*: the needed cases whose values, shapes or memory accesses are not what the
exercise asks for, an error, or an input that is changed; in italics the first of them. *Conventions*: the choices (a
bad label, no token) in which the package does neither what the course asks for nor what PyTorch does; they are not
faults. *Not portable*: right only with 0 in masked-off lanes, or in one order of programs. A case that is not passed
accuses nobody: some packages round in between on purpose, and a loss in half precision is judged as the float32 that
the exercise asks for. pins.txt has versions and hashes, adapters.py says how each package is called, audit.json
has every message.
"""

FAULTS = """
What is a fault among these is a row of [the exam](../exam/README.md), `releases/`, called in a few lines beside
mathematics in float64: a sum in half precision, a first block of -inf, a loss of no rows, offsets beyond 2^31, strides
that are not looked at, masked-off lanes. The others accuse nobody, and are no rows: what is rounded in between on
purpose (RMS norm, the gate of SwiGLU, the logits of a head), a loss in the dtype of its logits and NaN behind a key
that nobody sees, as PyTorch has both, what a package refuses with a sentence (rows of more than 64 kB, gradients of
float32), and a SwiGLU of tensors without dimensions.
Two were run on an H100 as well: liger-kernel 0.8.5 gives NaN there for a row of cross-entropy that begins with a whole
block of -inf, and 0.5.4 for layer norm in float16 of 4,096 columns with a mean of 20, which it sums in float16.
"""


def audited(name: str, line: str) -> list[dict]:
    """What one version of one package does in each exercise it has a function for."""
    version = line.split()[0].partition("==")[2]
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        if why := fetch(line, Path(folder)):
            return [{"unable": f"{NOT_RUN}: {why}"}]
        return run(name, version, folder)


def run(name: str, version: str, path: str) -> list[dict]:
    command = [sys.executable, str(HERE / "one.py"), name, version]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=path or None, timeout=SECONDS
        )
        output, end = child.stdout, f"its process ended with status {child.returncode}: {child.stderr.strip()[-150:]}"
        ended = child.returncode == 0
    except subprocess.TimeoutExpired as error:
        output, end, ended = (error.stdout or b"").decode(), f"it took more than {SECONDS} s", False
    rows = [json.loads(text) for text in output.splitlines() if text.startswith("{")]
    return rows if ended else [*rows, {"unable": f"the rest was not judged: {end}"}]


def page(results: dict[str, list[dict]]) -> str:
    lines = [ABOUT.format(date=date.today()), "| package | passes | not passed | conventions |", "|---|---|---|---|"]
    for package, rows in results.items():
        for why in [row["unable"] for row in rows if "unable" in row]:
            why = " ".join(why.split())[:200].replace("|", "/")
            lines.append(f"| {package} | | {why if why.startswith(NOT_RUN) else f'does not run here: {why}'} | |")
        judged = [row for row in rows if "unable" not in row]
        if judged:
            passed = ", ".join(f"{row['exercise']} ({row['cases']})" for row in judged if not row["wrong"])
            wrong = ", ".join(map(refusal, (row for row in judged if row["wrong"])))
            lines.append(f"| {package} | {passed} | {wrong} | {conventions(judged)} |")
    return "\n".join(lines) + "\n" + FAULTS


def refusal(row: dict) -> str:
    lanes = row.get("unportable", 0)
    bug = f": {row['fingerprint'][:120]}" if row["fingerprint"] else ""
    more = f"; {lanes} more are not portable" if lanes else ""
    return f"{row['exercise']} ({len(row['wrong'])} of {row['cases']}, *{row['wrong'][0]}*{bug}{more})"


def conventions(rows: list[dict]) -> str:
    """The choices that the cases rest on, each once: what stands behind a case's name in parentheses."""
    names = [name for row in rows for name in row["conventions"]]
    return ", ".join(dict.fromkeys(name.rpartition("(")[2].rstrip(")") for name in names))


def main(names: list[str]) -> int:
    known = pins()
    results = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name, lines in [("torch", [f"torch=={torch.__version__}"]), *known.items()]:
        if (names and name not in names) or name in sum(NEEDS.values(), ()):
            continue
        for line in lines:
            package = f"{name} {line.split()[0].partition('==')[2][:12]}"  # of a commit the first digits
            print(package, file=sys.stderr, flush=True)
            found = run(name, torch.__version__, "") if name == "torch" else audited(name, line)
            if package in results and found[0].get("unable", "").startswith(NOT_RUN):
                print(f"  as before, {found[0]['unable']}", file=sys.stderr)
                continue
            results[package] = found
            KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            (HERE / "audit.md").write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
