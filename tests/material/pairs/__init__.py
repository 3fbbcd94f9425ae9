"""Pairs of programs for a GPU: a feature of Triton used right, and used with one mistake that a GPU would show.

A module here is a theme. A function is a pair: told whether to be wrong, it launches its kernels and returns
``(output, expected)``; ``@pair`` says what is found where it is wrong, and what Triton it needs.
"""

import contextlib

import torch
from graded_kernels.autograder.gpu import EmulatorError
from graded_kernels.autograder.gpu.sanitize.watching import watched

from . import addresses, language, launching, together, whole_blocks  # noqa: F401  their pairs
from .pair import PAIRS  # noqa: F401


def judged(program, wrong: bool) -> tuple[set[tuple[str, str]], tuple[torch.Tensor, torch.Tensor] | None]:
    """Level and kind of what `sanitize` finds, and what the program returns; None where a finding stopped it."""
    events, result = [], None
    with watched(events.append):
        torch.manual_seed(0)
        with contextlib.suppress(EmulatorError):
            result = tuple(tensor.cpu() for tensor in program(wrong))
    found = [event["finding"] for event in events if "finding" in event]
    return {(finding["level"], finding["kind"]) for finding in found}, result
