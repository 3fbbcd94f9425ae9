"""The worker: a process that has made its imports and forks children for calls. Run as a script, isolated.

The worker never reads a child's job, so it cannot keep anything of an answer: it receives descriptors and forks a
process that has them.

    python -I -S -B main.py SETTINGS      SETTINGS: JSON, see `main`

Over the socket, one datagram each: to the worker ``{"seconds", "memory", "shared", "addresses", "modules", "basic"}``
with the descriptors `zygote.FILES` and that of a pipe; back, with a pidfd, ``{"started": pid, "seconds": its own
processor time since the last one}``. When the child has ended, over the pipe ``{"ended": exit status, "seconds":
processor time}``, the status negative for a signal. Any number of children run at a time.
"""

import importlib
import json
import os
import sys
import types
from typing import Any


def make_packages(machine: str) -> None:
    """Makes the grader's packages importable without running their __init__.py, which would import what is not here."""
    for name, path in {
        "graded_kernels": [],
        "graded_kernels.autograder": [machine],
        "graded_kernels.autograder.runner": [os.path.join(machine, "runner")],
        "graded_kernels.autograder.runner.sandbox": [os.path.join(machine, "runner", "sandbox")],
    }.items():
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = path
        outer, _, inner = name.rpartition(".")
        if outer:
            setattr(sys.modules[outer], inner, package)


def main(settings: dict[str, Any]) -> None:
    """settings: ``machine`` and ``site`` (folders to import from), ``socket`` (descriptor), ``rules``, ``basic``,
    ``seccomp``, ``probe``, ``role`` (a module of this package) and ``folder`` (one to write to).
    """
    sys.path += settings["site"]
    make_packages(settings["machine"])
    if settings.get("probe"):
        from graded_kernels.autograder.runner.sandbox.worker import escape_attempts

        return escape_attempts.run(settings)
    from graded_kernels.autograder.runner.sandbox.worker import linux, zygote
    from graded_kernels.autograder.words import no_garbage

    with no_garbage(), linux.heap_on_huge_pages():
        role = importlib.import_module(f"graded_kernels.autograder.runner.sandbox.worker.{settings['role']}")
    zygote.serve(settings, role)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
