"""What the workers of a local cluster are forked from: a process that has imported all that a check needs. PyTorch and
Triton are then imported once and not by each worker, and their pages are shared.

Ctrl-C reaches all processes of a terminal, and the run ends its workers itself: they ignore it.
"""

import gc
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)  # before the imports that take seconds

gc.disable()  # what is imported stays: looking through it again and again is a sixth of the imports' time
import matplotlib.backends.backend_svg  # noqa: E402, F401  # a check imports it for the first answer that fails

from ..report import plot  # noqa: E402, F401
from ..sandbox import probe  # noqa: E402
from . import task  # noqa: E402

task.load()
probe()  # once for all workers
gc.enable()
gc.collect()
gc.freeze()  # a worker's garbage collector does not touch the pages of existing objects, so they are not copied
