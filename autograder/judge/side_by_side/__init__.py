"""Side by side: any function judged by its reference, without a record.

compare(reference, candidate, arguments)   a `Report`, as `check` returns one
reproduce(reference, candidate, family=..) one call of it: the arguments, what came of them, and what is right
reproduce_job(table, id, family=..)        the same for a job of a table
inputs(reference, arguments, family)       the arguments alone
Code                                       a candidate as text, for the sandbox
CompareError                               why reference, candidate or arguments cannot be compared, in a sentence
CandidateError                             one that the candidate is the reason for

The reference in float64 says what is right, its own arithmetic how close is right (`records.derived`), and families
of inputs are made from the example arguments. All of it becomes an `Exercise`, which is judged like any other.
"""

from typing import TYPE_CHECKING

from ...words import lazy_api

if TYPE_CHECKING:
    from ...runner import CandidateError, CompareError
    from .code import Code
    from .comparison import inputs, reproduce
    from .table_process import reproduce_job
    from .values_and_rows import compare

__all__ = ["CandidateError", "Code", "CompareError", "compare", "inputs", "reproduce", "reproduce_job"]

__getattr__ = lazy_api(__name__, __file__)  # the parser needs none of them, and PyTorch takes seconds
