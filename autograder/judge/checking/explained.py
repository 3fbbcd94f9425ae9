"""Says what is said and shown beside a verdict: how wrong values are related to the right ones, and the error of an
elementwise case over its input, for the picture.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from ...runner import Args, dtype_name
from ..comparing.closeness import Comparison, Expected
from ..comparing.trial import Trial
from ..explaining.fingerprint import wild_outputs
from ..explaining.relation import relation
from ..records.ulp import ulp_error
from ..results.case_result import Curve
from .case_verdict import Judged

DRAWABLE = 500  # elements from which on an error curve shows more than the failing value does


def explained(trial: Trial, judged: Judged, earlier: dict[str, Args] | None = None, curve: bool = True) -> Judged:
    """The judgement with what explains its values.

    earlier: the results for the cases before, by name, among which a wrong one may be; None where nobody would read how
    a wrong result is related to the right one. curve: whether a result that passes has one.
    """
    result, expected, outcome = judged.result, judged.expected, judged.outcome
    if not judged.compared or expected is None or outcome is None:
        return judged
    if curve or result.status != "pass":
        result = replace(result, curve=_curve(trial, expected, judged.compared))
    sentence = ""
    if judged.unexplained and earlier is not None:
        evidence = trial.exercise, trial.case, trial.args, expected, judged.compared, outcome.outputs, earlier
        if sentence := relation(*evidence):
            hint = "" if trial.is_first else result.hint  # which says where to begin
            result = replace(result, message=f"{result.message} {sentence}", hint=hint)
    return replace(judged, result=result, compared=(), relation=sentence)


def _curve(trial: Trial, expected: Expected, comparisons: Sequence[Comparison]) -> Curve | None:
    """The first output's error over the swept input, and that of the first wild bug; None where nothing is swept, too
    little to draw, or integers are compared.
    """
    exercise, swept = trial.exercise, trial.case.swept
    error = comparisons[0].error
    if not swept or error is None or error.numel() < DRAWABLE or comparisons[0].whole:
        return None
    x = trial.named[swept]
    keep = x.isfinite().flatten()
    order = x.double().flatten()[keep].argsort()

    def over_x(values: torch.Tensor) -> np.ndarray:
        """The values at finite inputs, in the order of these."""
        return values.double().flatten()[keep][order].numpy()

    wild = None
    if exercise.wild:
        theirs = wild_outputs(exercise, exercise.wild[0], trial.args)[0][0]
        wild = over_x(
            ulp_error(theirs, expected.values[0], expected.dtypes[0]).masked_fill(expected.allowed[0].isinf(), 0.0)
        )
    return Curve(
        parameter=swept,
        dtype=dtype_name(expected.dtypes[0]),
        x=over_x(x),
        ulp=over_x(error),
        wild=wild,
        wild_name=exercise.wild[0].who if exercise.wild else "",
        allowed=over_x(expected.allowed[0]),
    )
