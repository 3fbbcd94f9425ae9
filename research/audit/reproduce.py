"""Runs the reproductions: ``python research/audit/reproduce.py [NAME ...]`` writes reproductions.md.

Each gets its own version of the package, fetched by hash into a folder that is thrown away. `--here NAME` runs one with
the package that is installed, which has to be that version. Kernels run on the GPU where there is one, otherwise in the
strict emulator. What a run found is kept in reproductions.json, also where the package cannot be fetched later.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import date
from importlib import metadata
from pathlib import Path

import reproductions_of_others  # noqa: F401  after those of PyTorch and liger-kernel, which it imports
import torch
from fetching import fetch, pins
from graded_kernels.autograder.gpu.cuda import shimmed
from reproduction import REPRODUCTIONS, SIMULATED

HERE = Path(__file__).resolve().parent
KEPT = HERE / "reproductions.json"
WHERE = "no GPU: kernels ran in the strict emulator" if SIMULATED else "on a GPU"
SHOWN = 100  # letters of what one printed
ABOUT = f"""# Reproduced against float64

`python research/audit/reproduce.py`, {{date}}, PyTorch {torch.__version__}, {WHERE}.

The ten lines of each are in reproductions.py and reproductions_of_others.py. *Refused in*: the exercises of audit.md
that it is about.

| package | reproduction | what it printed | refused in | upstream |
|---|---|---|---|---|"""


def here(name: str) -> str:
    """What one prints with the package of this environment, or why it cannot run."""
    one = REPRODUCTIONS[name]
    with contextlib.suppress(metadata.PackageNotFoundError):
        installed = metadata.version(one.package)
        if one.version and installed != one.version:
            cure = f"pip install --no-deps --target FOLDER {one.package}=={one.version}, then PYTHONPATH=FOLDER"
            return f"not run: it is about {one.package} {one.version}, and {installed} is installed: {cure}"

    def refuse(text: str) -> None:
        raise NotImplementedError(text)

    with shimmed(refuse) if SIMULATED and one.package != "torch" else contextlib.nullcontext():
        try:
            return one.function()
        except ModuleNotFoundError as error:
            return f"not run: {error}"


def apart(name: str) -> str:
    """What one prints in a process of its own, with its package in a folder of its own."""
    one = REPRODUCTIONS[name]
    with tempfile.TemporaryDirectory(prefix="reproduction-") as folder:
        for line in pins().get(one.package, ()):
            if line.split()[0] == f"{one.package}=={one.version}" and (why := fetch(line, Path(folder))):
                return f"not run: {why}"
        environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1"}
        command = [sys.executable, str(HERE / "reproduce.py"), "--here", name]
        child = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    return (
        child.stdout.strip().splitlines()[-1] if child.returncode == 0 else f"it ended: {child.stderr.strip()[-200:]}"
    )


def page(results: dict[str, str]) -> str:
    rows = []
    for name, one in REPRODUCTIONS.items():
        package = f"{one.package} {one.version[:12] or torch.__version__}"
        printed = re.sub(r"\s+", " ", results.get(name, "not run")).replace("|", "/")[:SHOWN]
        refused = ", ".join(f"`{exercise}`" for exercise in one.exercises)
        rows.append(f"| {package} | `{one.function.__name__}` | {printed} | {refused} | {one.upstream} |")
    return "\n".join([ABOUT.format(date=date.today()), *rows, ""])


def main(names: list[str]) -> None:
    if names[:1] == ["--here"]:
        print(here(names[1]))
        return
    results = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name in names or REPRODUCTIONS:
        printed = apart(name)
        print(f"{name}: {printed}", flush=True)
        if printed.startswith("not run") and name in results:
            continue
        results[name] = printed
        KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (HERE / "reproductions.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
