"""The few calls of the C library that Python's own modules do not offer."""

import contextlib
import ctypes
import os

SET_PDEATHSIG, SET_DUMPABLE, SET_SECCOMP, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
CAPBSET_DROP = 24
_MADV_COLLAPSE, _HUGE = 25, 2 << 20
_M_MMAP_THRESHOLD = -3
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def syscall(number: int, *arguments) -> int:
    """Raises OSError, as `prctl` and `drop_capabilities` do."""
    return checked(_libc.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, argument: int = 0, second: int = 0) -> None:
    zero = ctypes.c_ulong(0)
    checked(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), ctypes.c_ulong(second), zero, zero))


def drop_capabilities() -> None:
    """What root may do beyond any other user: all of it is given up, in every set."""
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


def pid_of(handle: int) -> int:
    """The number of the process behind a pidfd, as this process would call it."""
    with open(f"/proc/self/fdinfo/{handle}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def resident(pid: int) -> int | None:
    """Bytes of memory that a process occupies, less the parts of files (code, mostly) that the system has loaded for
    it; None where it has just ended. Raises OSError without a /proc.
    """
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = file.read()
        return sum(int(fields.split(name, 1)[1].split(None, 1)[0]) << 10 for name in (b"\nRssAnon:", b"\nRssShmem:"))
    except (FileNotFoundError, ProcessLookupError, IndexError):
        os.stat("/proc/self/status")
        return None


def processor_time(pid: int) -> float | None:
    """Seconds of processor time that a process has taken, with all its threads, running and ended, and the children it
    has waited for; None where it has just ended. The kernel's own account: nothing a process does takes it back.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it is the process's own choice
    except (FileNotFoundError, ProcessLookupError):
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
