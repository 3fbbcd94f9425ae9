"""An answer in the sandbox, for the tests of it."""

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import Answer, Cell, Isolated, Limits

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
