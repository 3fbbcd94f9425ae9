# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: memory=300000000, seconds=10
"""Maps shared memory, which a limit on private memory does not count."""

import mmap

kept = []


def silu_backward(dy, x):
    while True:
        kept.append(mmap.mmap(-1, 50_000_000))
        kept[-1].write(b"x" * 50_000_000)
