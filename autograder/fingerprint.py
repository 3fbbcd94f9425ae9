"""Whose bug is this? An answer that is wrong the way a library was wrong is told so."""

import torch

from .exercise import Exercise, WildBug
from .runner import as_tuple
from .ulp import ulp_error

ENOUGH = 0.99  # of the wrong elements; a few may round differently on their way to the same mistake
CLOSE = 4.0  # ulp between an answer and the bug it shares


def fingerprint(exercise: Exercise, failures: list[tuple[tuple, list]]) -> WildBug | None:
    """The wild bug that explains every failing call, or None.

    failures: for each failing call its arguments and, for each output, the pair (actual, mask of wrong elements).
    A bug explains a call where it gives the same values on the wrong elements, computed in the dtype of the inputs as
    it shipped, or in float32.
    """
    shares = {bug: [_share(bug, args, outputs) for args, outputs in failures] for bug in exercise.wild}
    likely = [bug for bug, share in shares.items() if share and min(share) >= ENOUGH]
    return max(likely, key=lambda bug: sum(shares[bug]), default=None)


def wild_outputs(bug: WildBug, args: tuple) -> list[tuple[torch.Tensor, ...]]:
    """What the bug computes from these arguments: in their dtype, and in float32 rounded at the end."""
    wide = tuple(a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args)
    as_shipped, in_single = as_tuple(bug.function(*args)), as_tuple(bug.function(*wide))
    return [as_shipped, tuple(o.to(like.dtype) for o, like in zip(in_single, as_shipped, strict=True))]


def _share(bug: WildBug, args: tuple, outputs: list) -> float:
    """The share of the wrong elements on which the bug computes the same, in whichever precision fits better."""
    best = 0.0
    for theirs in wild_outputs(bug, args):
        wrong = same = 0
        for (actual, mask), their in zip(outputs, theirs, strict=True):
            if mask.any():
                close = ulp_error(actual, their.double(), actual.dtype)[mask] <= CLOSE
                wrong, same = wrong + int(mask.sum()), same + int(close.sum())
        best = max(best, same / wrong if wrong else 0.0)
    return best
