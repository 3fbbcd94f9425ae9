"""An answer in the sandbox, for the tests of it, and whether this machine has one."""

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import Answer, Cell, Isolated, Limits
from graded_kernels.autograder.runner.sandbox import probe

LEVEL = probe().level  # the best that this machine has: strong, good, weak, or None
needs_isolation = pytest.mark.skipif(LEVEL is None, reason=f"not run: {probe()}")
needs_good_isolation = pytest.mark.skipif(LEVEL in (None, "weak"), reason=f"not run: nothing is isolated. {probe()}")

X = torch.tensor([0.0, -0.5, 3.0])
RIGHT = "import torch\n\n\ndef silu_forward(x):\n    return x * torch.sigmoid(x)\n"


def isolated(source: str, worker, exercise="silu_forward", backend="torch", **limits) -> Isolated:
    code = Answer(exercise, (Cell("cell", source),))
    return Isolated(
        code,
        EXERCISES[exercise].contract,
        backend,
        limits=Limits(**{"wall_factor": 1000.0} | limits),  # processor time is the limit, however busy the machine is
        worker=worker,
    )
