"""``graded-kernels list``: the exercises that there are."""

import argparse
import json
import sys
from typing import Any

from ...words import Commands, Exit


def add_to(commands: Commands) -> None:
    """Adds the command."""
    listing = commands.add_parser("list", help="show the exercises")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Prints the exercises, the course's first, as a table or as JSON; returns the exit status."""
    from ..records.external_records import offers
    from ..records.table import EXERCISES, offered

    package = {record.name: offer.package for offer in offers() for record in offer.records}
    rows: list[dict[str, Any]] = [
        {
            "exercise": record.name,
            "backends": list(record.backends),
            "points": record.points,
            "signature": record.signature,
            "summary": record.summary,
            "package": None if record.name in EXERCISES else package[record.name],
        }
        for record in (*EXERCISES.values(), *offered().values())
    ]
    for problem in filter(None, (offer.problem for offer in offers())):
        print(f"graded-kernels: {problem}", file=sys.stderr)
    if options.json:
        print(json.dumps(rows, indent=2))
        return Exit.PASSED
    table = [("exercise", "backends", "points", "signature")]
    table += [(row["exercise"], ", ".join(row["backends"]), str(row["points"]), signed(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, backends, points, signature in table:
        print(f"{name:{widths[0]}}  {backends:{widths[1]}}  {points:>{widths[2]}}  {signature}")
    return Exit.PASSED


def signed(row: dict[str, Any]) -> str:
    """The signature, followed by the package that offers the exercise where that is not the course."""
    return f"{row['signature']}  [{row['package']}]" if row["package"] else row["signature"]
