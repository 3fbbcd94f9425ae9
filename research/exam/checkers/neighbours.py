"""graded-kernels' `neighbours`: whether a row's bits depend on the rows beside it."""

from graded_kernels.autograder import CompareError
from graded_kernels.autograder import neighbours as judge

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject


def refuses(row: Row) -> str:
    return "no function of a batch" if row.how not in ("rows", "batch") else ""


def check(row: Row) -> Said:
    one = subject(row)
    try:
        told = judge(one.function, one.example(0), batch=one.batch, simulated=one.shim or None)
    except CompareError as error:
        raise Cannot(str(error)[:200]) from None
    if not told:
        return Said(row.name)
    return Said(row.name, True, "order", told.reason[1].strip() if told.reason else "", str(told).splitlines()[0][:300])
