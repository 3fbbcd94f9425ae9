"""Streams and events of the simulated GPU: which stream is current, and what comes before what.

Everything has happened when a call returns. What a GPU promises nothing about is kept as clocks: each stream counts its
launches, and knows of each other stream up to which of them it has waited.
"""

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from . import graphs
from .graph_memory import CapturedArguments
from .placement import GPU, is_cuda

Clock = dict[int, int]  # by stream, how many of its launches are over
_LEAST = 1e-3  # milliseconds: a GPU's clock has no finer ones, and programs divide by them


class Stream:
    """A stream with nothing to wait for. known: the launches, its own among them, that come before its next one."""

    _host: ClassVar[Clock] = {}  # what the host has waited for, and so comes before whatever is launched now
    _every: ClassVar[Clock] = {}
    _default: "Stream"
    _made = 0

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        is_cuda(f"cuda:{device}" if isinstance(device, int) else device)  # raises for a second GPU
        self.device, self.priority, self.device_index, self.device_type = GPU, priority, 0, 1
        self.stream_id = self.cuda_stream = self.native_handle = Stream._made
        Stream._made += 1
        self._before: list[Stream] = []
        self.known: Clock = {}

    def __enter__(self) -> "Stream":
        self._before.append(current())
        set_current(self)
        return self

    def __exit__(self, *error: object) -> None:
        set_current(self._before.pop())

    def query(self) -> bool:
        self.synchronize()
        return True

    def is_capturing(self) -> bool:
        return graphs.capturing()

    def synchronize(self) -> None:
        _join(Stream._host, self.known)

    def wait_event(self, event: "Event") -> None:
        graphs.noted(functools.partial(self.wait_event, event))
        _join(self.known, event.known)

    def wait_stream(self, stream: "Stream") -> None:
        graphs.noted(functools.partial(self.wait_stream, stream))
        _join(self.known, stream.known)

    def record_event(self, event: "Event | None" = None) -> "Event":
        event = event or Event()
        event.record(self)
        return event


def _join(clock: Clock, other: Clock) -> None:
    for stream, launches in other.items():
        clock[stream] = max(launches, clock.get(stream, 0))


Stream._default = Stream()  # number 0, as CUDA's
_others = threading.local()  # each thread has its own current stream, the default one at first


class Event:
    """An event that has happened. Times are this machine's, not a GPU's: a benchmark that repeats what is quick until
    100 ms are over repeats a launch that takes long here once.
    """

    def __init__(self, *args: object, **options: object):
        self.device, self.event_id = GPU, 0
        self._seconds = time.perf_counter()
        self.known: Clock = {}

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or current()
        graphs.noted(functools.partial(self.record, stream))
        self._seconds = time.perf_counter()
        self.known = dict(stream.known)

    def wait(self, stream: Stream | None = None) -> None:
        (stream or current()).wait_event(self)

    def query(self) -> bool:
        self.synchronize()
        return True

    def synchronize(self) -> None:
        _join(Stream._host, self.known)

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
    """The current stream of this thread."""
    stream: Stream = getattr(_others, "current", Stream._default)
    return stream


def default(device: Any = None) -> Stream:
    """The stream that is current at the start."""
    return Stream._default


def set_current(stream: Stream) -> None:
    """Makes a stream the current one of this thread."""
    _others.current = stream


class Graph(graphs.CUDAGraph):
    """A graph whose launches run in the order of the streams that they were captured on: all of them come after what
    the current stream had before a replay, and before what it has next.
    """

    def __init__(self, keep_graph: bool = False):
        super().__init__(keep_graph)
        self._streams: set[Stream] = set()

    def note(self, launch: Callable[..., object], captured: CapturedArguments) -> None:
        """Adds a launch to what is captured, on the current stream."""
        stream = current()
        self._streams.add(stream)
        self.steps.append(functools.partial(_on, stream, launch, captured))

    def replay(self) -> None:
        """Does all that was captured. Raises RuntimeError where nothing was, or within a capture."""
        graphs.forbid("a replay")
        here = current()
        for stream in self._streams:
            stream.wait_stream(here)
        super().replay()
        for stream in self._streams:
            here.wait_stream(stream)


def captured(kernel: Any, args: tuple[Any, ...], options: dict[str, Any], launch: Callable[..., object]) -> bool:
    """Returns whether a graph is being captured, and has ``launch`` of these arguments now for its replays."""
    graph = graphs.CUDAGraph.under_way
    if isinstance(graph, Graph):
        graph.note(launch, graph.arguments(kernel.fn.__name__, kernel.arg_names, args, options))
    return graph is not None


def _on(stream: Stream, launch: Callable[..., object], captured: CapturedArguments) -> None:
    args, options = captured.replayed()
    with stream:
        launch(*args, **options)


def wait_for_all() -> None:
    """The host waits for every stream, or PyTorch does what comes to the same, as in a backward pass."""
    _join(Stream._host, Stream._every)


def launched() -> tuple[int, int]:
    """Counts a launch on the current stream; returns the stream's number, and its own there."""
    stream = current()
    _join(stream.known, Stream._host)
    number = stream.known[stream.stream_id] = Stream._every[stream.stream_id] = (
        Stream._every.get(stream.stream_id, 0) + 1
    )
    return stream.stream_id, number


def comes_before(stream: int, number: int) -> bool:
    """Returns whether a launch comes before what the current stream does next."""
    return max(clock.get(stream, 0) for clock in (current().known, Stream._host)) >= number


def several() -> bool:
    """Returns whether a program has made a stream beside the default one."""
    return Stream._made > 1
