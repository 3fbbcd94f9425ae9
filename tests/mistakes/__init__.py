"""Mistakes that learners make, in answers of their own kind: plainer than ours, of which the mutants are patches.

`KINDS` says what a case is when hints are judged: one kind of input of one family of exercises, since the cases of a
family that are about one subject share a hint, or ask the same in other numbers. For each there are at least three
mistakes, mutants included, of which it is the case that a learner reads first (`tests/test_hints.py`).
"""

import re
from collections.abc import Iterator

from broken import mutants

from .arithmetic import ARITHMETIC
from .calls import CALLS
from .kernels import KERNELS
from .mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (*ARITHMETIC, *CALLS, *KERNELS)

FAMILIES = {
    "elementwise": "silu|swiglu|gelu|axpy",
    "rows": "layer_norm|rms_norm|row_sum",
    "losses": "cross_entropy|label_logits|token_mean|linear_cross_entropy",
    "attention": "attention|masked_softmax|merge",
    "matmul": "matmul",
    "floats": "ulp_distance",
}
# The first that fits a case's name. Every value of a half format holds NaN and infinity: that case comes first.
KINDS = {
    "the same shape again": "same shape again",
    "ordinary values": "ordinary values|two pieces of one attention",
    "nothing": "no elements|no rows|no columns|no sequences|no queries|no keys|K is 0|all rows ignored|no token|nobody"
    "|without keys|of nothing|nothing at all|empty",
    "half precision": "float16|bfloat16|20,000 ones",
    "several blocks": r"odd shape|longer|long row|alone|first block|tiles|columns|\d classes|\d rows|many rows|features"
    "|more than a block|130 queries|300 queries",
    "NaN and infinity": "NaN|infinity|-inf|masked classes",
    "layout": r"transposed|every second|gaps|stride 0|strides of|side by side|shared|beyond 2\^31|inside larger",
    "one": "one element|no dimensions|one row$|one column|1 column|1 class|one feature|one key$|one query|a row times"
    "|a matrix times|K is 1",
    "range": "large|tiny|far below|huge|outlier|near |turning|up to|equal|zero|unlikely|certain|ends of|apart|lse of"
    "|constant rows|variance|eps|ones|powers|both sides|Z =|a is 0|scale",
    "what counts": "ignored|counts|ignore_index|label|num_items|lengths|causal|padding|one token|tokens|everything",
}


def family(exercise: str) -> str:
    return next(name for name, pattern in FAMILIES.items() if re.match(pattern, exercise))


def kind(case: str) -> str:
    """Of a case, by its name; empty where none fits, as for memory and traffic."""
    return next((name for name, pattern in KINDS.items() if re.search(pattern, case)), "")


def read_first() -> Iterator[tuple[str, str]]:
    """(exercise, the case that its learner reads first) of every mistake and mutant."""
    for (exercise, _), rows in mutants().items():
        yield from ((exercise, row.dies_in) for row in rows)
    yield from ((mistake.exercise, mistake.case) for mistake in MISTAKES)
