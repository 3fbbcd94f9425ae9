"""The number of threads that PyTorch computes with during a check."""

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Has PyTorch compute in the calling thread alone. A check makes thousands of short operations: threads that wait
    beside each other for the next one take several times its processor time, and on a busy machine its time, too.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
