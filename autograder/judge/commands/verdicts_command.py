"""``graded-kernels verdicts``: what a course's store holds, and removing some of it. Imports no PyTorch."""

import argparse
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...words import Commands, Exit

if TYPE_CHECKING:
    from ..verdicts.store import Store

_AGE = re.compile(r"(\d+)([hdw])")
_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}


def add_to(commands: Commands) -> None:
    """Adds the command to the parser."""
    about = "show what the checks of a course found and kept, or remove it"
    command = commands.add_parser("verdicts", help=about, description=about)
    command.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    command.add_argument("--exercise", metavar="NAME", help="only of this one, silu_backward or silu_backward-torch")
    command.add_argument(
        "--older", type=seconds, default=0, metavar="AGE", help="only what is older than 12h, 30d or 8w"
    )
    command.add_argument("--clear", action="store_true", help="remove them: the next run checks these answers again")
    command.set_defaults(run=main)


def seconds(text: str) -> int:
    """Reads an age such as ``30d`` as seconds. Raises ArgumentTypeError."""
    age = _AGE.fullmatch(text)
    if not age:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age; write 12h, 30d or 8w")
    return int(age[1]) * _SECONDS[age[2]]


def main(options: argparse.Namespace) -> int:
    from ..verdicts.store import Store

    store = Store(options.course)
    if not (options.course / "nbgrader_config.py").is_file() and not store.folder.is_dir():
        print(
            f"graded-kernels: {options.course.absolute()} is not a course root. Go there, or name it: --course FOLDER",
            file=sys.stderr,
        )
        return Exit.USAGE
    latest = time.time() - options.older

    def wanted(path: Path) -> bool:
        name = path.parent.name
        named = options.exercise in (None, name, name.rpartition("-")[0])
        return named and (not options.older or path.stat().st_mtime < latest)

    paths = [path for path in store if wanted(path)]
    chosen = options.exercise or options.older
    print(table(paths, store) if paths or not chosen else f"None of the verdicts in {store.folder} is among these.")
    if options.clear:
        print(f"Removed {store.clear(wanted)}. `nbgrader autograde` makes again what it needs.")
    return Exit.PASSED


def table(paths: list[Path], store: "Store") -> str:
    """A line for each exercise: how many verdicts there are, how large they are, and what making them took."""
    if not paths:
        return f"No verdicts in {store.folder}."
    took: dict[str, float] = {}
    for entry in store.made():
        took[entry["key"]] = took.get(entry["key"], 0.0) + entry["seconds"]
    lines = [("answer", "verdicts", "size", "processor time")]
    for name in [*dict.fromkeys(path.parent.name for path in paths), "all"]:
        kept = [path for path in paths if name in ("all", path.parent.name)]
        size = sum(path.stat().st_size for path in kept) / 1000
        spent = sum(took.get(path.stem, 0.0) for path in kept)
        lines.append((name, str(len(kept)), f"{size:,.0f} kB", f"{spent:.0f} s"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines)
    return "\n".join(rows)
