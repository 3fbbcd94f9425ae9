"""graded-kernels' `neighbours`: whether a row's bits depend on the rows beside it, a position's on those behind it."""

from graded_kernels.autograder import CompareError
from graded_kernels.autograder import neighbours as judge

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject


def refuses(row: Row) -> str:
    return "" if row.how in ("rows", "batch", "sequence", "positions") else "no function of a batch"


def check(row: Row) -> Said:
    one = subject(row)
    try:
        told = judge(one.function, one.example(0), one.batch, causal=one.causal, simulated=one.shim or None)
    except CompareError as error:
        raise Cannot(str(error)[:200]) from None
    if not told:
        return Said(row.name)
    kind = "causality" if told.causality else "order"
    return Said(row.name, True, kind, told.reason[1].strip() if told.reason else "", str(told).splitlines()[0][:300])
