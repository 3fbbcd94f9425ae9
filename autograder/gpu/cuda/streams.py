"""Streams and events of the simulated GPU: which stream is current, and nothing to wait for."""

import itertools
import time
from typing import Any

from . import graphs
from .placement import GPU, is_cuda

_LEAST = 1e-3  # milliseconds: a GPU's clock has no finer ones, and programs divide by them


class Stream:
    """A stream with nothing to wait for: everything has happened when a call returns."""

    _current: "Stream"
    _default: "Stream"
    _numbers = itertools.count()

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        is_cuda(f"cuda:{device}" if isinstance(device, int) else device)  # raises for a second GPU
        self.device, self.priority, self.device_index, self.device_type = GPU, priority, 0, 1
        self.stream_id = self.cuda_stream = self.native_handle = next(self._numbers)
        self._before: list[Stream] = []

    def __enter__(self) -> "Stream":
        self._before.append(Stream._current)
        Stream._current = self
        return self

    def __exit__(self, *error: object) -> None:
        Stream._current = self._before.pop()

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return graphs.capturing()

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: "Event") -> None:
        pass

    def wait_stream(self, stream: "Stream") -> None:
        pass

    def record_event(self, event: "Event | None" = None) -> "Event":
        event = event or Event()
        event.record(self)
        return event


Stream._current = Stream._default = Stream()  # number 0, as CUDA's


class Event:
    """An event that has happened. Times are this machine's, not a GPU's: a benchmark that repeats what is quick until
    100 ms are over repeats a launch that takes long here once.
    """

    def __init__(self, *args: object, **options: object):
        self.device, self.event_id = GPU, 0
        self.record()

    def record(self, stream: Stream | None = None) -> None:
        graphs.noted(self.record)
        self._seconds = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds."""
        return max((end._seconds - self._seconds) * 1e3, _LEAST)


class Entered:
    """Stands for `torch.cuda.stream(stream)` and `StreamContext`; None enters no stream."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


def current(device: Any = None) -> Stream:
    """The current stream."""
    return Stream._current


def default(device: Any = None) -> Stream:
    """The stream that is current at the start."""
    return Stream._default


def set_current(stream: Stream) -> None:
    """Makes a stream the current one."""
    Stream._current = stream
