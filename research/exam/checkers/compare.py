"""graded-kernels' `compare`: a function judged by its reference, on inputs made from example arguments."""

import inspect

from graded_kernels.autograder import CompareError
from graded_kernels.autograder import compare as judge

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject


def refuses(row: Row) -> str:
    return "no reference and example of its own" if row.how not in ("file", "arrays") else ""


def check(row: Row) -> Said:
    one = subject(row)
    if not one.reference:
        raise Cannot("no reference and example of its own")
    given = one.reference, one.function, one.example
    if one.file:
        beside, name = inspect.getfile(one.reference), one.reference.__name__
        given = f"{beside}:{name}", f"{one.file}:{name}", f"{beside}:arguments"
    try:
        report = judge(*given, compiler=False, any_method=not one.file, simulated=one.shim or None)
    except CompareError as error:
        raise Cannot(str(error)[:200]) from None
    if report.passed:
        return Said(row.name)
    failing = [case for case in report.cases if case.status in ("fail", "error")]
    place, message = (failing[0].name, failing[0].message) if failing else ("", "")
    return Said(row.name, True, "", place, f"{report.summary}; {message}"[:300])
