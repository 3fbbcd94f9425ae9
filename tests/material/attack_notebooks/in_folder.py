"""Attacks by what lies where the notebook should be, and beside it. Each changes the folder of a right notebook."""

import json
import os
import socket
from pathlib import Path

from tampered import TORCH, UNREAD

from .attack import registry

ATTACKS, attack = registry()


# In place of the notebook


def replaced(notebook: Path, target: str) -> None:
    notebook.unlink()
    notebook.symlink_to(target)


@attack(UNREAD, "is a symbolic link", other_files=True)
def link_to_the_gradebook(notebook):
    replaced(notebook, "../../../gradebook.db")


@attack(UNREAD, "is a symbolic link", other_files=True)
def link_to_an_honest_notebook(notebook):
    honest = next(notebook.parents[2].glob("*honest"))
    replaced(notebook, f"../../{honest.name}/tiny/tiny.ipynb")


@attack(UNREAD, "is a symbolic link", other_files=True)
def link_to_a_device(notebook):
    replaced(notebook, "/dev/zero")


@attack(UNREAD, "lies in a folder that is a symbolic link", other_files=True)
def link_to_an_honest_folder(notebook):
    honest = next(notebook.parents[2].glob("*honest"))
    notebook.unlink()
    notebook.parent.rmdir()
    notebook.parent.symlink_to(f"../{honest.name}/tiny")


@attack(UNREAD, "is not a file", other_files=True)
def pipe(notebook):
    notebook.unlink()
    os.mkfifo(notebook)


@attack(UNREAD, other_files=True)
def unix_socket(notebook):
    notebook.unlink()
    here = os.getcwd()
    os.chdir(notebook.parent)  # the name of a socket may have 107 characters
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(notebook.name)
    finally:
        os.chdir(here)


@attack(UNREAD, "Is a directory", other_files=True)
def folder(notebook):
    notebook.unlink()
    notebook.mkdir()


@attack(UNREAD, "is 200 MB large", other_files=True)
def file_of_200_megabytes(notebook):
    with notebook.open("r+b") as file:
        file.truncate(200_000_000)


# Beside the notebook


@attack(other_files=True)
def modules(notebook):
    """Modules that an answer, the grader, Python or pytest would load before their own."""
    names = ("torch", "numpy", "triton", "helper", "sitecustomize", "usercustomize", "conftest", "nbgrader_config")
    for name in names + ("jupyter_nbconvert_config", "jupyter_config", "graded_kernels", "hidden_cases"):
        (notebook.parent / f"{name}.py").write_text("raise SystemExit('loaded')")
    (notebook.parent / "evil.pth").write_text("import os; os._exit(1)")
    (notebook.parent / "hidden_cases.toml").write_text("not toml [")
    (notebook.parent / "hidden_cases").mkdir()
    (notebook.parent / "hidden_cases" / "silu_forward.py").write_text("raise SystemExit('loaded')")
    (notebook.parent / "tiny").mkdir()
    (notebook.parent / "tiny" / "__init__.py").write_text("raise SystemExit('loaded')")


@attack({TORCH: 0}, "No module named 'helper'", other_files=True)
def answer_in_a_module(notebook):
    """An answer that needs a file beside it: only the notebook is graded, and the report says what is missing."""
    (notebook.parent / "helper.py").write_text("from torch.nn.functional import silu as silu_forward")
    nb = json.loads(notebook.read_text())
    for cell in nb["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == TORCH:
            cell["source"] = "from helper import silu_forward"
    notebook.write_text(json.dumps(nb))


@attack(says="is a symbolic link. It was left out.", other_files=True)
def links_beside(notebook):
    """To the gradebook, to nothing, and to a device whose copy would fill the disk."""
    targets = {"data.csv": "../../../gradebook.db", "gone": "nowhere", "zero.bin": "/dev/zero", "up": "../../.."}
    for name, target in targets.items():
        (notebook.parent / name).symlink_to(target)


@attack(says="is not a file. It was left out.", other_files=True)
def pipes_beside(notebook):
    """Pipes in folders, and under a name that is a pattern and one that is a script."""
    (notebook.parent / "data").mkdir()
    for name in ("data/pipe", "*", ".hidden", "<img src=x onerror=alert(1)>"):
        os.mkfifo(notebook.parent / name)


@attack(says="more files were left out", other_files=True)
def hundred_pipes_beside(notebook):
    for number in range(100):
        os.mkfifo(notebook.parent / f"pipe {number}")


@attack(says="is larger than 50 MB. It was left out.", other_files=True)
def huge_file_beside(notebook):
    """60 GB, of which a copy would fill the disk."""
    with (notebook.parent / "data.bin").open("wb") as file:
        file.truncate(60_000_000_000)


@attack(other_files=True)
def other_notebooks(notebook):
    """A second notebook, and names that are patterns, options, lines, scripts or no text."""
    names = ("extra.ipynb", "[tiny].ipynb", "*.ipynb", "-rf.ipynb", "a\nb.ipynb", "<script>.ipynb", "tiny.ipynb.ipynb")
    for name in names:
        (notebook.parent / name).write_text("{}")
    os.close(os.open(os.fsencode(notebook.parent) + b"/\xff.ipynb", os.O_CREAT | os.O_WRONLY))
    (notebook.parent / ".ipynb_checkpoints").mkdir()
    (notebook.parent / ".ipynb_checkpoints" / "tiny-checkpoint.ipynb").write_text("{}")


@attack(says="`timestamp.txt` holds no time that can be read", other_files=True)
def no_time(notebook):
    (notebook.parent / "timestamp.txt").write_text("yesterday <script>alert(1)</script>")


@attack(says="`timestamp.txt` holds no time that can be read", other_files=True)
def time_that_is_no_text(notebook):
    (notebook.parent / "timestamp.txt").write_bytes(b"\xff\xfe\0")


@attack(says="`timestamp.txt` is not a file", other_files=True)
def time_from_a_pipe(notebook):
    os.mkfifo(notebook.parent / "timestamp.txt")


@attack(says="`timestamp.txt` is a symbolic link", other_files=True)
def time_from_a_link(notebook):
    (notebook.parent / "timestamp.txt").symlink_to("/dev/zero")


@attack(says="`timestamp.txt` is larger", other_files=True)
def time_without_end(notebook):
    with (notebook.parent / "timestamp.txt").open("wb") as file:
        file.truncate(60_000_000_000)


@attack(other_files=True)
def empty_time(notebook):
    (notebook.parent / "timestamp.txt").touch()
