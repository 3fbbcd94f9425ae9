"""What the cases of all records draw, as a digest each: ``python tests/material/drawn_inputs.py [SEEDS] > FILE``, once
before and once after a change of how records are written. Two files that are the same mean the same arguments bit for
bit, in the same layout, at all of these seeds.
"""

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Exercise
from graded_kernels.autograder.judge.comparing.trial import arguments

SEEDS = 20


def parts(value: Any) -> Iterator[bytes]:
    """What an argument is, as bytes."""
    if isinstance(value, torch.Tensor):
        yield repr((value.dtype, value.shape, value.stride())).encode()
        yield value.contiguous().flatten().view(torch.uint8).numpy().tobytes() if value.numel() else b""
    elif isinstance(value, list | tuple):
        for one in value:
            yield from parts(one)
    else:
        yield repr(value).encode()


def lines(seeds: int) -> Iterator[str]:
    """A line for each case: exercise, case, and what it is and draws."""
    for name, record in EXERCISES.items():
        for number, case in enumerate(record.cases if isinstance(record, Exercise) else ()):
            digest = hashlib.sha256(
                repr(
                    (
                        case.hint,
                        case.bonus,
                        case.within,
                        case.swept,
                        case.subject,
                        case.family,
                        record.category(case, arguments(case, number, 0)),
                    )
                ).encode()
            )
            for seed in range(seeds):
                for part in parts(arguments(case, number, seed)):
                    digest.update(part)
            yield f"{name}  {case.name}  {digest.hexdigest()[:16]}"


if __name__ == "__main__":
    print(*lines(int(sys.argv[1]) if sys.argv[1:] else SEEDS), sep="\n")
