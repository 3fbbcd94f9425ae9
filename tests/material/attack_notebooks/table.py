"""Grades every hostile notebook through nbgrader at a level of isolation, and prints who got what: one row each.

    python tests/material/attack_notebooks [--level strong|good|weak ...] [--user] [name ...]

--user: as an unprivileged user, too, which only root can become. Exit status 1 where a row is not as designed.
The points are those of the small chapter's answers in order; ``-`` where a person gives them.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import classroom
from attacks.table import Row
from graded_kernels.autograder.runner.sandbox import probe
from graded_kernels.autograder.runner.sandbox.probe import LEVELS
from tampered import TAMPERED

from . import in_code, in_file, in_folder, in_kernels, on_the_judgement, on_the_memory, on_the_page
from .attack import Attack
from .batch import Batch, as_user

PARTS = (in_code, in_kernels, on_the_judgement, on_the_memory, in_file, in_folder, on_the_page)
OWN = [attack for part in PARTS for attack in part.ATTACKS]
ALL = OWN + [Attack(act, expect) for act, expect in TAMPERED.items()]
LEVELS_HERE = [
    level for level in reversed(LEVELS) if probe().level and LEVELS.index(level) <= LEVELS.index(probe().level)
]


def rows(batch: Batch, level: str, seconds: float) -> Iterator[Row]:
    who = "user" if batch.as_user or os.getuid() else "root"
    for attack in batch.attacks:
        yield Row(attack.name, level, who, batch.outcome(attack), batch.message(attack), 0, batch.wrong(attack))
    honest = sum(student.endswith("_honest") for student in batch.scores)
    yield Row("(afterwards)", level, who, "", f"{honest} honest students", seconds, batch.wrong_afterwards())


def run(made: Path, level: str, attacks: list[Attack], user: bool) -> list[Row]:
    """All attacks that are meant for this level, in one run of nbgrader for each chapter."""
    meant = [attack for attack in attacks if not (level == "weak" and attack.weak)]
    who = "user" if user else "root"
    found = [Row(attack.name, level, who, "not run", attack.weak) for attack in attacks if attack not in meant]
    for chapter in dict.fromkeys(attack.chapter for attack in meant):
        with tempfile.TemporaryDirectory(prefix="attack-notebooks-") as folder:
            begin = time.monotonic()
            batch = Batch(made, Path(folder), [one for one in meant if one.chapter == chapter], level, user)
            found += rows(batch, level, time.monotonic() - begin)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="attack_notebooks", description=__doc__.splitlines()[0])
    parser.add_argument("--level", choices=LEVELS_HERE, action="append", help="this level only; may be given again")
    parser.add_argument("--user", action="store_true", help="as an unprivileged user, too")
    parser.add_argument("name", nargs="*")
    options = parser.parse_args(arguments)
    if not LEVELS_HERE:
        print(probe())
        return 1
    attacks = [attack for attack in ALL if not options.name or attack.name in options.name]
    users = [False]
    if options.user:
        try:
            as_user()
            users.append(True)
        except RuntimeError as error:
            print(f"as an unprivileged user: {error}")
    found = []
    with tempfile.TemporaryDirectory(prefix="attack-notebooks-") as folder:
        made = classroom.make(Path(folder))
        for level in options.level or LEVELS_HERE:
            for user in users:
                new = run(made, level, attacks, user)
                print(*new, sep="\n", flush=True)
                found += new
    wrong = [row for row in found if row.wrong]
    ran = sum(row.outcome not in ("", "not run") for row in found)
    print(f"{ran} graded, {len(found) - ran} not run or summary, {len(wrong)} not as designed")
    return 1 if wrong else 0
