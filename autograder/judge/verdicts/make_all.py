"""Many things made, one after the other or several at a time, on this machine: the files of a check of several, the
comparisons of a table. `verdicts.scheduler` makes them on a cluster.

Who asks keeps what was made, and asks again for what is missing. What comes of a job that fails says so, and the others
go on; `NoWorker` ends the run, since no other job would fare better.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

J = TypeVar("J")
F = TypeVar("F")


class NoWorker(RuntimeError):
    """No worker can be had, or the one that there is cannot make anything; the message says why."""


def make_all(
    jobs: deque[J], makers: Sequence[Callable[[J], F]], stop: Callable[[], None] | None = None
) -> Iterator[tuple[J, F]]:
    """Each job with what came of it, as they are done: each of the makers takes the next job. One alone works in
    this thread, several in one each. stop: ends what is under way, which is waited for where there is none.
    """
    if len(makers) == 1:
        while jobs:
            job = jobs.popleft()
            yield job, makers[0](job)
        return
    done: queue.SimpleQueue[tuple[J, F] | BaseException | None] = queue.SimpleQueue()
    ended = threading.Event()

    def work(make: Callable[[J], F]) -> None:
        try:
            while not ended.is_set():
                try:
                    job = jobs.popleft()
                except IndexError:
                    break
                done.put((job, make(job)))
            done.put(None)
        except BaseException as error:
            done.put(error)

    threads = [threading.Thread(target=work, args=(make,), daemon=True) for make in makers]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
    finally:
        ended.set()
        if stop:
            stop()
        else:
            for thread in threads:
                thread.join()
