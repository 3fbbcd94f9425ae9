"""The vocabulary of inputs: words that combine into the arguments of a case, or of a family of a comparison.

draw         where the numbers of a tensor come from: `draw.normal(5, 40)`, `draw.integers(5, low=0, high=39)`
`Values`     what is done to them, and how they lie in memory: `.scale(3).put(-inf, 0).to(torch.float16).transposed()`
`Arguments`  arguments by name, drawn in the order in which they are written, and changed together
case, also   a `Case` of such arguments; the same cases with more of them
"""

from . import draw
from .arguments import Arguments, Change
from .named_case import also, case
from .values import Values

__all__ = ["Arguments", "Change", "Values", "also", "case", "draw"]
