"""A learner's notebook as a file: read with a clear error, replaced in one step, its old version kept."""

import os
import tempfile
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ...autograder.words import UsageError

RELOAD = "A notebook that is open in JupyterLab: File > Reload Notebook from Disk."
KEPT = "kept"  # the folder beside the notebooks for older versions


class DeskError(UsageError):
    """Something about a learner's notebooks that cannot be carried out; the message names the remedy."""


def read(path: Path) -> NotebookNode:
    """Returns the notebook. Raises DeskError for a file that is missing or is not a notebook."""
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise DeskError(f"there is no notebook {path}; `make lab` makes it") from None
    except (OSError, ValueError, AttributeError, nbformat.ValidationError) as error:
        said = str(error).splitlines()[0][:200]
        raise DeskError(f"{path} cannot be read as a notebook and was left alone ({said})") from None
    return notebook


def write(path: Path, notebook: NotebookNode) -> None:
    """Writes the whole file or nothing: a full disk leaves the old one in place."""
    text = nbformat.writes(notebook, version=4) + "\n"
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep(folder: Path, name: str, suffix: str, content: bytes) -> Path:
    """Writes ``content`` to a new, dated file in ``folder/kept``; returns its path."""
    kept = folder / KEPT
    kept.mkdir(exist_ok=True)
    stem = f"{name}.{datetime.now():%Y-%m-%dT%H-%M-%S}"
    number = 1
    while True:
        path = kept / (f"{stem}{suffix}" if number == 1 else f"{stem}.{number}{suffix}")
        try:
            with path.open("xb") as file:  # "x" fails rather than overwrite
                file.write(content)
            return path
        except FileExistsError:
            number += 1


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name of a cell that it knows: `silu_forward-triton`, `silu_forward-triton-check`, `setup`."""
    name: str | None = cell.metadata.get("nbgrader", {}).get("grade_id")
    return name
