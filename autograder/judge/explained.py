"""The error of an elementwise case over its input, for the picture."""

import numpy as np
import torch

from ..runner import dtype_name
from .closeness import Comparison, Expected
from .fingerprint import wild_outputs
from .results.case_result import Curve
from .trial import Trial
from .ulp import ulp_error

DRAWABLE = 500  # elements from which on an error curve shows more than the failing value does


def curve_of(trial: Trial, expected: Expected, comparisons: list[Comparison]) -> Curve | None:
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
