"""Says what the workers of a local cluster are forked from: a process that has imported all that a check needs. PyTorch
and Triton are then imported once and not by each worker, and their pages are shared.

Ctrl-C reaches all processes of a terminal, and the run ends its workers itself: they ignore it.
"""

import gc
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)  # before the imports that take seconds

from ..words import no_garbage  # noqa: E402

with no_garbage():
    from ..judge import preload

    preload(shared=True)
    gc.collect()  # a worker's own collector does not touch the pages of what is left, so they are not copied
