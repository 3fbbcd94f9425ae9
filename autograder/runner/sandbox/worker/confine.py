"""Says what a process does to itself before it runs an answer: it sets limits and drops privileges for good."""

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
    """Holds which mechanisms of the operating system to use. rules: of `landlock.rules`, or None without Landlock.
    programs: whether the process may start programs; the rules say which. basic: rules by which it does not read the
    files of PyTorch that compose either, where they are set.
    """

    rules: int | None
    seccomp: bool
    programs: bool = False
    basic: int | None = None


def limit(seconds: float, memory: int, shared: int, addresses: int = 0, programs: bool = False) -> None:
    """Limits on top of what the process already uses: processor seconds, private bytes, bytes shared with the parent,
    bytes of unmapped address space.

    They hold for root too, except that on the number of processes, of which `seccomp` allows none.
    """
    with open("/proc/self/statm") as file:
        pages = [int(word) for word in file.read().split()]
    _lower(resource.RLIMIT_AS, pages[0] * PAGE + memory + 4 * shared + addresses + SLACK)
    _lower(resource.RLIMIT_DATA, pages[5] * PAGE + memory + SLACK)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)
    # An answer has no file to write, and files on a tmpfs are memory.
    _lower(resource.RLIMIT_FSIZE, _WRITTEN if programs else 0)
    _lower(resource.RLIMIT_NOFILE, _FILES)
    if not programs:
        _lower(resource.RLIMIT_NPROC, 0)
    _lower(resource.RLIMIT_CORE, 0)


def give_up_rights(layers: Layers) -> None:
    """After this the process can read what `paths` lists; it cannot write, start processes or reach other ones."""
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
