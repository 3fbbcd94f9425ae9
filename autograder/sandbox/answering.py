"""What a worker of answers does: it imports PyTorch and Triton, and its children call answers."""

import torch
import torch._dynamo  # noqa: F401  the first operator that is watched would import it, in every child

from . import warm
from .child import run

__all__ = ["prepare", "run"]


def prepare() -> None:
    torch.set_num_threads(1)  # a child hangs on its first operator if a pool of threads was left behind in its parent
    warm.up()
