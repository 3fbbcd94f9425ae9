"""The public and the hidden half, by name; labels of the hidden one as hashes: ``python -m research.exam.half SALT``.

SALT is a secret text of whoever publishes a table. The first time `labels.txt` is written; from then on it is verified.
"""

import hashlib
import hmac
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
    """The rows whose label is another than was published, or that are new, or gone."""
    before = dict(line.split() for line in published.splitlines())
    now = labels(rows, salt)
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def main(salt: str, file: Path = LABELS) -> int:
    rows, _ = read()
    if not file.is_file():
        file.write_text("".join(f"{name} {value}\n" for name, value in labels(rows, salt).items()), encoding="utf-8")
        print(f"{file.name}: written")
        return 0
    others = changed(rows, salt, file.read_text(encoding="utf-8"))
    print("\n".join(others) or f"{len(labels(rows, salt))} labels are those that were published")
    return int(bool(others))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
