"""The few calls of the C library that Python's own modules do not offer."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

SET_PDEATHSIG, SET_DUMPABLE, SET_SECCOMP, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
CAPBSET_DROP = 24
_MADV_COLLAPSE, _HUGE = 25, 2 << 20
_MADV_HUGEPAGE = 14
_M_TOP_PAD, _M_MMAP_THRESHOLD = -2, -3
_PAD, _HEAP = 128 << 10, 128 << 20  # bytes that the heap grows by: the C library's own, and all that PyTorch takes
_CAPABILITY_VERSION_3 = 0x20080522
_OCCUPIED = b"\nRssAnon:", b"\nRssShmem:"
_STATUS = 1 << 16  # bytes, far more than such a file has
_TICKS = os.sysconf("SC_CLK_TCK")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def checked(result: int) -> int:
    """The value that a function of the C library returned. Raises OSError where it is an error."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def syscall(number: int, *arguments: object) -> int:
    """Makes a system call and returns its result. Raises OSError, as `prctl` and `drop_capabilities` do."""
    return checked(_libc.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, argument: int = 0, second: int = 0) -> None:
    """Changes an attribute of this process: see ``man 2 prctl``."""
    zero = ctypes.c_ulong(0)
    checked(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), ctypes.c_ulong(second), zero, zero))


def drop_capabilities() -> None:
    """Gives up whatever root may do beyond any other user, in every set of capabilities."""
    for capability in range(64):
        try:
            prctl(CAPBSET_DROP, capability)
        except OSError:  # above the last one, or no right to drop any: then there is none
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    checked(_libc.capset(header, (ctypes.c_uint32 * 6)()))


def use_huge_pages() -> None:
    """Puts this process's own memory on large pages, where the kernel can (Linux 6.1): a fork copies one entry for
    each, and one for each of 512 small ones. A page that is written to afterwards is copied by itself, as ever.
    """
    with open("/proc/self/maps") as file:
        fields = [line.split(maxsplit=5) for line in file]
    for place, rights, _, _, inode, *_ in fields:
        begin, end = (int(address, 16) for address in place.split("-"))
        if rights == "rw-p" and inode == "0":
            for page in range(-(-begin // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
                _libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(_HUGE), ctypes.c_int(_MADV_COLLAPSE))


def give_freed_memory_back() -> None:
    """Has the C library keep no large block that was freed: what a process holds is then what its tensors take. By
    default blocks up to 32 MiB stay in its heap, which holes and alignment blow up to several times that.
    """
    with contextlib.suppress(AttributeError):  # another C library, with other habits
        _libc.mallopt(ctypes.c_int(_M_MMAP_THRESHOLD), ctypes.c_int(1 << 20))


@contextlib.contextmanager
def heap_on_huge_pages() -> Iterator[None]:
    """Within it the C library's heap grows into large pages. Imports then fault in half as many pages, and what they
    leave lies where `use_huge_pages` would have to copy it to. What they do not need is given back.
    """
    try:
        _libc.mallopt(ctypes.c_int(_M_TOP_PAD), ctypes.c_int(_HEAP))
        _libc.malloc.restype = _libc.sbrk.restype = ctypes.c_void_p
        blocks: list[int] = []
        before = _libc.sbrk(ctypes.c_ssize_t(0))
        while len(blocks) < 100 and (end := _libc.sbrk(ctypes.c_ssize_t(0))) == before:  # until the heap grows
            blocks.append(_libc.malloc(ctypes.c_size_t(_PAD // 2)))
    except AttributeError:  # another C library
        yield
        return
    begin = -(-max(before, end - _HEAP) // _HUGE) * _HUGE
    _libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(max(0, end - begin)), ctypes.c_int(_MADV_HUGEPAGE))
    for block in blocks:
        _libc.free(ctypes.c_void_p(block))
    yield
    _libc.mallopt(ctypes.c_int(_M_TOP_PAD), ctypes.c_int(_PAD))
    _libc.malloc_trim(ctypes.c_size_t(_PAD))


def pid_of(handle: int) -> int:
    """Returns the number of the process behind a pidfd, as this process would call it."""
    with open(f"/proc/self/fdinfo/{handle}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


class ProcessStatus:
    """Holds what the kernel says of a process, as this process calls it. Its files stay open: to open them takes twice
    as long as to read them, and they never tell of another process that has got the same number. Raises OSError without
    a /proc.
    """

    def __init__(self, pid: int):
        os.stat("/proc/self/status")
        self._files = {name: _opened(f"/proc/{pid}/{name}") for name in ("status", "stat")}

    def close(self) -> None:
        """Closes its files."""
        while self._files:
            file = self._files.popitem()[1]
            if file is not None:
                os.close(file)

    def resident(self) -> int | None:
        """Returns the bytes of memory that it occupies, less the parts of files (code, mostly) that the system has
        loaded for it; None where it has just ended.
        """
        fields = self._read("status")
        try:
            return sum(int(fields.split(name, 1)[1].split(None, 1)[0]) << 10 for name in _OCCUPIED)
        except IndexError:
            return None

    def processor_time(self, of_children: bool = True) -> float | None:
        """Returns the seconds of processor time that it has taken, with all its threads, running and ended, and unless
        asked otherwise the children it has waited for; None where it has just ended. The kernel's own account: nothing
        a process does takes it back.
        """
        fields = self._read("stat").rpartition(b")")[2].split()  # the name before it is the process's own choice
        return sum(map(int, fields[11 : 15 if of_children else 13])) / _TICKS if fields else None

    def sleeps(self) -> bool:
        """Returns whether it waits for something other than a processor or a disk."""
        return self._read("stat").rpartition(b")")[2].split()[:1] == [b"S"]

    def _read(self, name: str) -> bytes:
        """Nothing of a process that has ended."""
        file = self._files.get(name)
        with contextlib.suppress(ProcessLookupError):
            return b"" if file is None else os.pread(file, _STATUS, 0)
        return b""


def _opened(path: str) -> int | None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return None
