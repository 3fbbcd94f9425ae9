"""``graded-kernels new OP --like FAMILY``: a record, a stub and a test for an op of one's own, which run at once."""

import argparse
import keyword
import os
from pathlib import Path

from ...words import Commands, Exit, UsageError

TEMPLATES = Path(__file__).parent / "templates"
FAMILIES = ("elementwise", "rowwise", "loss", "nothing")  # the last: cases of its own
FILES = {"OP_record.py": "record", "OP.py": "stub", "test_OP.py": "test"}  # what is written, and from which template


def add_to(commands: Commands) -> None:
    """Adds the command."""
    about = "write the record, a stub and a test for an op of your own"
    command = commands.add_parser("new", help=about, description=about)
    command.add_argument("op", metavar="OP", help="its name, which is that of the function, too")
    command.add_argument("--like", choices=FAMILIES, required=True, help="which family of cases it begins with")
    command.add_argument("--into", metavar="FOLDER", type=Path, default=Path(), help="where to (here)")
    command.add_argument("--solved", action="store_true", help="with a kernel that passes in place of the stub")
    command.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Writes the files; returns the exit status. Raises UsageError where one of them exists or cannot be written."""
    written = written_of(function_name(options.op), options.like, options.solved)
    taken = [options.into / name for name in written if os.path.lexists(options.into / name)]
    if taken:
        raise UsageError(f"{taken[0]} exists and stays as it is; choose another name, or another --into FOLDER")
    try:
        options.into.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            with open(options.into / name, "x", encoding="utf-8") as file:  # through no link, should one appear now
                file.write(text)
    except OSError as error:
        raise UsageError(f"{options.into} cannot be written to: {error}") from None
    record, stub, test = (options.into / name for name in written)
    print(f"{record}: what the op is. Change the formula; the cases are a family's, add your own.")
    there = (
        "" if options.into == Path() else f"cd {options.into} && "
    )  # where pytest finds the modules, however configured
    print(f"{stub}: write the kernel here.")
    print(f"{test}: run it with `{there}python -m pytest {test.name}`, or check the kernel alone:")
    print(f"    graded-kernels check --record {record} {options.op} {stub}")
    return Exit.PASSED


def function_name(text: str) -> str:
    """``text`` as it is. Raises UsageError where no Python function can be called so."""
    if not text.isidentifier() or keyword.iskeyword(text):
        raise UsageError(f"{text!r} is not a name for a Python function; use letters, digits and _, as in my_op")
    return text


def written_of(op: str, family: str, solved: bool = False) -> dict[str, str]:
    """The texts of the files, keyed by their names."""
    files = {}
    for name, template in FILES.items():
        template = "answer" if solved and template == "stub" else template
        folder = TEMPLATES if template == "test" else TEMPLATES / family
        text = (folder / f"{template}.py.txt").read_text(encoding="utf-8")
        files[name.replace("OP", op)] = text.replace("my_op", op)
    return files
