"""What the workers of a local cluster are forked from: a process that has imported all that a check needs. PyTorch and
Triton are then imported once and not by each worker, and their pages are shared.

Ctrl-C reaches all processes of a terminal, and the run ends its workers itself: they ignore it.
"""

import gc
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)  # before the imports that take seconds

from ..runner import no_garbage  # noqa: E402

with no_garbage():
    import matplotlib.backends.backend_svg  # noqa: F401  # a check imports it for the first answer that fails

    from ..judge import load
    from ..runner import probe

    load(drawing=True)
    probe()  # once for all workers
    gc.collect()  # a worker's own collector does not touch the pages of what is left, so they are not copied
