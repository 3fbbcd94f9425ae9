"""The command: `python -m research.exam --help`."""

import argparse
import os
import sys
import time
from pathlib import Path

from .row import KINDS, Row, chosen, read
from .said import Said, keep, kept


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser("python -m research.exam", description="Puts rows of the exam to a checker.")
    options.add_argument("--checker", help="a module of research/exam/checkers")
    options.add_argument("--kind", default="", help=f"how a kind begins: {', '.join(KINDS)}")
    options.add_argument("--family", default="", help="how the name of a row begins: wild, pairs, tritonbench, ...")
    options.add_argument("--only", default="", help="what a row's name has in it")
    options.add_argument("--again", action="store_true", help="run what has a result, too")
    options.add_argument("--seconds", type=int, default=60, help="of processor time, a row")
    options.add_argument("--gigabytes", type=int, default=12, help="of address space, a row")
    options.add_argument("--checkouts", type=Path, help="the folder of checkouts, each named owner+name")
    options.add_argument("--page", action="store_true", help="write the page of results, and run nothing")
    asked = options.parse_args(arguments)
    if asked.page:
        from .page import write

        write()
        return 0
    from .examine import CHECKERS

    checker = (asked.checker or "").replace("-", "_")
    if checker not in CHECKERS:
        what = f"there is no checker {asked.checker}" if asked.checker else "nothing is asked: --page, or --checker"
        options.error(f"{what}: name one of {', '.join(CHECKERS)}")
    if asked.checkouts:
        os.environ["EXAM_CHECKOUTS"] = str(asked.checkouts.resolve())
    rows, complaints = read()
    for complaint in complaints:
        print(f"left out: {complaint}", file=sys.stderr)
    wanted = list(chosen(rows, asked.kind, asked.family, asked.only))
    if not wanted:
        options.error("no row is of that kind, family and name")
    run(checker, wanted, asked.again, asked.seconds, asked.gigabytes)
    return 1 if complaints else 0


def run(checker: str, wanted: list, again: bool, seconds: int, gigabytes: int) -> None:
    """Runs what has no result, and writes each as it comes; where one is not run, what was said before stays."""
    from .examine import examined

    said = kept(checker)
    todo = [row for row in wanted if again or row.name not in said or said[row.name].cannot.startswith("not run")]
    print(f"{checker}: {len(wanted) - len(todo)} of {len(wanted)} rows have a result", file=sys.stderr)
    begun = time.monotonic()
    for number, row in enumerate(todo, 1):
        one = examined(checker, row, seconds, gigabytes)
        stays = row.name in said and one.cannot.startswith("not run")
        if not stays:
            keep(checker, kept(checker) | {row.name: one})  # another run may have written meanwhile
        left = (time.monotonic() - begun) / number * (len(todo) - number)
        told = verdict(row, one) + (f"; what was said on {said[row.name].date} stays" if stays else "")
        time_left = f"({one.seconds:.1f} s; {left / 60:.0f} min left)"
        print(f"{number}/{len(todo)} {row.name}: {told} {time_left}", file=sys.stderr, flush=True)


def verdict(row: Row, said: Said) -> str:
    if said.cannot:
        return f"cannot: {said.cannot}"
    right = "" if said.found == row.wrong else "MISSED, " if row.wrong else "FALSE ALARM, "
    return right + (f"found {said.kind}" if said.found else "nothing found")


if __name__ == "__main__":
    sys.exit(main())
