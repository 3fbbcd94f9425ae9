"""Arguments that nobody can foresee, on which an isolated answer is called as well."""

import os

import torch

from ..call.contract import Args, map_tensors
from ..call.examination import Call
from ..call.outcome import Decoy
from .wire import buffers


def decoy_of(call: Call) -> Decoy:
    """Another decoy for a call: its own, or else any numbers in the layout of its arguments."""
    return call.decoy() if call.decoy else any_numbers(call.args)


def any_numbers(args: Args) -> Decoy:
    """Random arguments in the layout of ``args``, which the exercise's contract may not cover."""
    chance = torch.Generator().manual_seed(int.from_bytes(os.urandom(7)))
    return Decoy(map_tensors(lambda a: buffers.decoy(a, chance), args), valid=False)
