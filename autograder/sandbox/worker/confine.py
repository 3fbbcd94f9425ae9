"""What a process does to itself before it runs an answer: limits, and rights given up for good."""

import contextlib
import os
import resource
import signal
from dataclasses import dataclass

from . import landlock, linux, seccomp

PAGE = os.sysconf("SC_PAGE_SIZE")
_FILES = 64  # open files
SLACK = 64 << 20
_WRITTEN = 64 << 20  # the largest file of a compiler


@dataclass(frozen=True)
class Layers:
    """Which of the kernel's means to use. rules: of `landlock.rules`, or None to do without. programs: whether the
    process may start programs; which ones is for the rules to say.
    """

    rules: int | None
    seccomp: bool
    programs: bool = False


def limit(seconds: float, memory: int, shared: int, addresses: int = 0, programs: bool = False) -> None:
    """No more than this beyond what the process has already: processor seconds, bytes of its own, bytes shared with
    the parent, addresses where nothing lies.

    Works for root too, but for the number of processes, which `seccomp` holds at none.
    """
    with open("/proc/self/statm") as file:
        pages = [int(word) for word in file.read().split()]
    _lower(resource.RLIMIT_AS, pages[0] * PAGE + memory + 4 * shared + addresses + SLACK)
    _lower(resource.RLIMIT_DATA, pages[5] * PAGE + memory + SLACK)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)
    # An answer has no file to write, and one on a disk in memory is memory.
    _lower(resource.RLIMIT_FSIZE, _WRITTEN if programs else 0)
    _lower(resource.RLIMIT_NOFILE, _FILES)
    if not programs:
        _lower(resource.RLIMIT_NPROC, 0)
    _lower(resource.RLIMIT_CORE, 0)


def give_up_rights(layers: Layers) -> None:
    """After this the process reads what `paths` lists, writes nothing, starts nothing and reaches nobody."""
    linux.prctl(linux.SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.SET_DUMPABLE, 0)
    linux.prctl(linux.SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):
        os.setsid()
    linux.drop_capabilities()
    if layers.rules is not None:
        landlock.restrict(layers.rules)
        os.close(layers.rules)
    if layers.seccomp:
        seccomp.apply(layers.programs)


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
