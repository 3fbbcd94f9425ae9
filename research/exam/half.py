"""The public and the hidden half, by name; the hidden labels as hashes: ``python -m research.exam.half [--add]``.

It asks for the salt, a secret text of whoever publishes a table, or takes it from the variable EXAM_SALT. Labels that
were published are verified; where they hold, ``--add`` publishes those of new rows.
"""

import argparse
import getpass
import hashlib
import hmac
import os
import sys
from pathlib import Path

from .row import HERE, Row, read

SEED = "exam 1"
LABELS = HERE / "labels.txt"


def hidden(row: Row) -> bool:
    """Whether the row, with its twin, is in the hidden half."""
    return hashlib.sha256(f"{SEED} {min(row.name, row.twin or row.name)}".encode()).digest()[0] % 2 == 1


def label(row: Row, salt: str) -> str:
    """A hash of what the row is said to be, which tells nothing without the salt."""
    told = f"{row.name}|{'wrong' if row.wrong else 'right'}|{row.kind}"
    return hmac.new(salt.encode(), told.encode(), hashlib.sha256).hexdigest()


def labels(rows: dict[str, Row], salt: str) -> dict[str, str]:
    return {row.name: label(row, salt) for row in rows.values() if hidden(row)}


def changed(rows: dict[str, Row], salt: str, published: str) -> list[str]:
    """The rows whose label is another than was published, or that are gone."""
    now = labels(rows, salt)
    return sorted(name for name, value in (line.split() for line in published.splitlines()) if now.get(name) != value)


def main(arguments: list[str] | None = None, file: Path = LABELS) -> int:
    options = argparse.ArgumentParser("python -m research.exam.half", description="Verifies the labels of hidden rows.")
    options.add_argument("--add", action="store_true", help="publish the labels of new rows, too")
    add = options.parse_args(arguments).add
    salt = os.environ.get("EXAM_SALT") or getpass.getpass("The table's salt: ")
    if not salt:
        options.error("the salt is empty: give it when asked, or in the variable EXAM_SALT")
    rows, _ = read()
    published = file.read_text(encoding="utf-8") if file.is_file() else ""
    if others := changed(rows, salt, published):
        print("Another label than was published, or another salt; nothing is written:", *others, sep="\n")
        return 1
    known = {line.split()[0] for line in published.splitlines()}
    new = [f"{name} {value}\n" for name, value in labels(rows, salt).items() if name not in known]
    if add:
        file.write_text(published + "".join(new), encoding="utf-8")
    told = "" if not new else f"; {len(new)} of new rows are {'added' if add else 'missing: --add publishes them'}"
    print(f"{len(known)} labels are those that were published{told}")
    return int(bool(new) and not add)


if __name__ == "__main__":
    sys.exit(main())
