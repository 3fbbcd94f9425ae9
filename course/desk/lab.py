"""``make lab``: the learner's notebooks as they have to be, then JupyterLab on the start page.

JupyterLab gets its settings from ``course/lab/`` and keeps what it remembers (open tabs, settings that you change,
trust in notebooks) in ``.lab/`` of the project; nothing is written to the home folder. What a start needs and has not
changed since the last one is not done again: importing nbgrader and jupytext alone takes seconds.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from .. import first_cell
from ..learner import ROOT, give, notebooks, version
from .start import NAME, refresh

# What the built notebooks are made of, and what releases them.
INPUTS = ("course/**/*.md", "course/**/*.py", "solutions/*.py", "kernels/**/*.py", "autograder/exercises/**/*.py")

ADVICE = Path(__file__).resolve().parents[1] / "AGENTS.md"  # for a code model that works beside the learner

HELP = """usage: make lab [LAB_ARGS="OPTIONS OF JUPYTERLAB"]

Builds what has changed of the chapters, gives them out into my-notebooks/, where nothing is overwritten, and starts
JupyterLab on the start page; Ctrl-C, twice, stops it. Options are JupyterLab's: jupyter lab --help lists them.
example: make lab LAB_ARGS="--no-browser --port=8899"
"""


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Prepares the learner's notebooks and becomes JupyterLab; returns only where that fails, or help is asked for, an
    exit status.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if {"-h", "--help"} & set(arguments):
        print(HELP, end="")
        return 0
    folder, state = root / "my-notebooks", root / ".lab"
    if status := prepare(root, folder, state):
        return status
    print("Starting JupyterLab. Ctrl-C here, twice, stops it.", flush=True)
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder}", *arguments]
    os.execve(command[0], command, settings(root, state, os.environ))


def prepare(root: Path, folder: Path, state: Path) -> int:
    """Builds, gives out and refreshes what has changed; prints what it does. Returns an exit status."""
    stamp, now = state / "built", fingerprint(root)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != now:
        print("Building the notebooks of the chapters ...", flush=True)
        from .. import build

        if status := build.main([], root):
            return status
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(fingerprint(root), encoding="utf-8")
    sources = notebooks(root)
    missing = [source for source in sources if not (folder / source.name).exists()]
    if missing:
        print(f"Putting {len(missing)} notebooks into {folder} ...", flush=True)
    if any(version(folder / source.name) not in (None, version(source)) for source in sources):
        from .update import renew  # which imports nbgrader

        for line in renew(sources, folder):
            print(line)
    for line in give(sources, folder):
        if not line.startswith("kept") or "changed" in line:
            print(line)
    if not (folder / ADVICE.name).exists():
        shutil.copy(ADVICE, folder)
    refresh(folder / NAME, [source for source in sources if source.name != NAME])
    first_cell.configure_this_environment()
    return 0


def fingerprint(root: Path) -> str:
    """Changes whenever a file does that a notebook is built from."""
    digest = hashlib.sha256()
    for pattern in INPUTS:
        for path in sorted(root.glob(pattern)):
            state = path.stat()
            digest.update(f"{path.relative_to(root)} {state.st_mtime_ns} {state.st_size}\n".encode())
    return digest.hexdigest()


def settings(root: Path, state: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a JupyterLab for learners that keeps to the project. A user's own JUPYTER_CONFIG_PATH counts,
    after the settings of the project.
    """
    folders = [str(root / "course" / "lab" / layer) for layer in ("learner", "quiet")]
    folders += filter(None, [environment.get("JUPYTER_CONFIG_PATH")])
    return {
        **environment,
        "JUPYTER_CONFIG_PATH": os.pathsep.join(folders),
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "IPYTHONDIR": str(state / "ipython"),
    }


if __name__ == "__main__":
    sys.exit(main())
