"""Keeps an answer's processes from call to call, so that it is loaded once, and its kernels are rewritten once."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from .host import Host
from .watch import Budget, Child, ChildExit, Limits, Task


class PersistentChildren:
    """Children of a worker, by a name of what they do. Each waits for its next task; one that ended is replaced."""

    def __init__(self, worker: Host):
        self._worker = worker
        self._children: dict[str, tuple[Child, int]] = {}

    def close(self) -> None:
        """Ends all of them."""
        for name in list(self._children):
            self.end(name)

    def end(self, name: str) -> None:
        """Ends the child of this name, so that the next task of the name begins in a new process."""
        if name in self._children:
            self._children.pop(name)[0].close()

    def run(self, name: str, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> ChildExit:
        """Runs a task as `Host.run` does, in the child of this name if it waits for one."""
        child = self._again(name, files, task)
        steps = task.steps if child else 0  # which were done for an earlier task
        if child is None:
            self.end(name)
            child = self._worker.begin(files, replace(task, persistent=True), limits, budgets)
            self._children[name] = child, self._worker.starts
        try:
            ended = self._worker.watched(child)
        except BaseException:
            self.end(name)
            raise
        if ended.status is not None:
            self.end(name)
        return replace(ended, loaded=ended.loaded + steps)

    def _again(self, name: str, files: dict[str, int], task: Task) -> Child | None:
        """The child of this name, which has begun the task, if it was waiting and has the room."""
        child, start = self._children.get(name, (None, 0))
        if child is None or start != self._worker.starts or not self._worker.runs() or task.shared > child.room:
            return None
        with contextlib.suppress(OSError):
            child.again(list(files.values()), replace(task, steps=0, persistent=True))
            return child
        return None
