"""``graded-kernels list``: the exercises that there are.

The course's rows are kept in ``listing.json`` beside its records, which `make build` writes: to read the records
themselves takes PyTorch, and so seconds. Records of other packages are imported.
"""

import argparse
import json
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

from ...runner import Offers
from ...words import Commands, Exit

if TYPE_CHECKING:
    from ..records.record import Exercise, Witness

Row = dict[str, Any]
KEPT = "listing.json"


def add_to(commands: Commands) -> None:
    """Adds the command."""
    listing = commands.add_parser("list", help="show the exercises")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Prints the exercises, the course's first, as a table or as JSON; returns the exit status."""
    rows = [*kept_rows(), *_rows_of_others()]
    if options.json:
        print(json.dumps(rows, indent=2))
        return Exit.PASSED
    table = [("exercise", "backends", "points", "signature")]
    table += [(row["exercise"], ", ".join(row["backends"]), str(row["points"]), signed(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, backends, points, signature in table:
        print(f"{name:{widths[0]}}  {backends:{widths[1]}}  {points:>{widths[2]}}  {signature}")
    return Exit.PASSED


def kept_rows() -> list[Row]:
    """The course's exercises, from the file beside its records."""
    rows: list[Row] = []
    for point in Offers(course=True).points:
        package = point.module.rpartition(".")[0]
        rows += json.loads(resources.files(package).joinpath(KEPT).read_text(encoding="utf-8"))
    return rows


def row_of(record: "Exercise | Witness", package: str | None = None) -> Row:
    """A row of the listing. package: which offers the exercise, None for the course."""
    return {
        "exercise": record.name,
        "backends": list(record.backends),
        "points": record.points,
        "signature": record.signature,
        "summary": record.summary,
        "package": package,
    }


def _rows_of_others() -> list[Row]:
    """Exercises of other packages; what cannot be used is said on stderr."""
    if not Offers(course=False).points:
        return []
    from ..records.external_records import offers
    from ..records.table import offered

    package = {record.name: offer.package for offer in offers() for record in offer.records}
    for problem in filter(None, (offer.problem for offer in offers())):
        print(f"graded-kernels: {problem}", file=sys.stderr)
    return [row_of(record, package[record.name]) for record in offered().values()]


def signed(row: Row) -> str:
    """The signature, followed by the package that offers the exercise where that is not the course."""
    return f"{row['signature']}  [{row['package']}]" if row["package"] else row["signature"]
