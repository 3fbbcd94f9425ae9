"""What records and families of cases share."""

from collections.abc import Callable

import torch

View = Callable[[torch.Tensor], torch.Tensor]  # of a tensor's memory

EPS = 2.0**-23  # one ulp of float32 at 1
HALVES = (torch.float16, torch.bfloat16)

AGAIN = "the same shape again"
KEEP_NOTHING = "A shape seen before, with other values: the result must come from these values alone."
