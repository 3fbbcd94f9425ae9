"""PyTorch's `torch.cuda._sanitizer`: races between streams, by watching PyTorch's operators. Needs a GPU."""

import torch

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject


def check(row: Row) -> Said:
    if not torch.cuda.is_available():
        raise Cannot("not run: needs a GPU")
    from torch.cuda._sanitizer import CUDASanitizer, SynchronizationError

    watcher = CUDASanitizer()
    watcher.enable()
    try:
        subject(row).run(0)
        torch.cuda.synchronize()
    except SynchronizationError as error:
        return Said(row.name, True, "race", "", str(error)[:300])
    return Said(row.name)
