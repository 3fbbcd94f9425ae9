"""What only a GPU can say of this project, measured in one run and written on one page, benchmarks/gpu.md.

    make gpu                                  on a machine with a CUDA device; at most 25 minutes; goes on where it was
    python -m benchmarks.gpu --dry-run        without one: every piece on a simulated device; times mean nothing

`plan` names the pieces. Each runs in a process of its own (`child`), since a stray access ends a process's use of the
device, and its result is kept as it ends (`kept`). `page` writes the page from what is kept.
"""

import graded_kernels.autograder  # noqa: F401  before triton
