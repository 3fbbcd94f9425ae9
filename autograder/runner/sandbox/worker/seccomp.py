"""The system calls a child may not make, as a seccomp filter. A refused call fails with EPERM and kills nothing.

Among the calls that `syscalls` has reviewed this is a deny-list: PyTorch, numpy and the C library need calls that
differ from release to release, so whole families are refused: network, processes and threads, signals, other processes'
memory, changes of file metadata, file notifications. `stat` and its variants stay: every import needs them, and on many
systems the C library's `fstat` is one of them. A call not reviewed, because a later kernel added it, fails with
ENOSYS, as it does on a kernel without it: programs that know it fall back on an older one.
"""

import ctypes
import errno
import mmap
import os
import platform
import struct

from . import linux, syscalls

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
# offsets into what the filter sees; arguments: the low 32 bits
_NUMBER, _ARCH, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
_X32 = 0x40000000  # a second set of numbers on x86-64
# fcntl: have the kernel send a signal of one's choice to any process
_SET_OWNER, _SET_SIGNAL, _SET_OWNER_EX = 8, 10, 15
_SHARED, _ANONYMOUS = 0x01, 0x20  # of mmap; private is 0x02, and 0x03 is shared too


_STARTING = frozenset({"fork", "vfork", "clone", "execve"})
# Callers of these fall back on an older call if the kernel answers ENOSYS.
_WITH_FALLBACK = frozenset({"clone3", "openat2"})


def apply(programs: bool = False) -> None:
    """For this process and all it starts, for good. programs: whether it may start any. Raises OSError where the kernel
    has no such filters.
    """
    program = filter_program(programs)
    code = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    linux.prctl(linux.SET_NO_NEW_PRIVS, 1)
    linux.prctl(linux.SET_SECCOMP, 2, ctypes.addressof(header))


def filter_program(programs: bool = False) -> bytes:
    """Classic BPF, eight bytes a step, for this machine's architecture."""
    refuse = _ERRNO | errno.EPERM
    steps = [_step(_LOAD, _ARCH), _jump(_EQUAL, syscalls.AUDIT_ARCH[platform.machine()], 1, 0), _step(_RETURN, _KILL)]
    steps.append(_step(_LOAD, _NUMBER))
    if platform.machine() == "x86_64":
        steps += [_jump(_AT_LEAST, _X32, 0, 1), _step(_RETURN, _KILL)]
    unknown = _step(_RETURN, _ERRNO | errno.ENOSYS)
    steps += [_jump(_AT_LEAST, syscalls.NEWEST + 1, 0, 1), unknown]
    steps += [
        _jump(_AT_LEAST, syscalls.of(syscalls.LAST_OLD) + 1, 0, 2),
        _jump(_AT_LEAST, syscalls.COMMON, 1, 0),
        unknown,
    ]
    for name, pair in syscalls.NUMBERS.items():
        number = syscalls.of(pair)
        if number is not None and not (programs and name in _STARTING):
            answer = _ERRNO | errno.ENOSYS if name in _WITH_FALLBACK else refuse
            steps += [_jump(_EQUAL, number, 0, 1), _step(_RETURN, answer)]
    # prlimit of another process (first argument not 0) could take the grader's own time or memory away.
    steps += [_jump(_EQUAL, syscalls.of(syscalls.PRLIMIT), 0, 4), _step(_LOAD, _FIRST), _jump(_EQUAL, 0, 0, 1)]
    steps += [_step(_RETURN, _ALLOW), _step(_RETURN, refuse)]
    # A library is mapped as code. What PyTorch generates as it runs becomes code later, by mprotect.
    library = [_step(_LOAD, _THIRD), _step(_AND, mmap.PROT_EXEC), _jump(_EQUAL, 0, 1, 0), _step(_RETURN, refuse)]
    # Shared memory of no file counts as addresses alone, and these can be had in exchange for those of a library.
    mapped = [] if programs else library
    mapped += [_step(_LOAD, _FOURTH), _step(_AND, _SHARED | _ANONYMOUS)]
    mapped += [_jump(_EQUAL, _SHARED | _ANONYMOUS, 0, 1), _step(_RETURN, refuse), _step(_RETURN, _ALLOW)]
    steps += [_jump(_EQUAL, syscalls.of(syscalls.MMAP), 0, len(mapped)), *mapped]
    # With O_PATH a file is opened without a right to it, which Landlock lets pass.
    for pair, flags in ((syscalls.OPEN, _SECOND), (syscalls.OPENAT, _THIRD)):
        number = syscalls.of(pair)
        if number is not None:
            steps += [_jump(_EQUAL, number, 0, 5), _step(_LOAD, flags), _step(_AND, os.O_PATH), _jump(_EQUAL, 0, 1, 0)]
            steps += [_step(_RETURN, refuse), _step(_RETURN, _ALLOW)]
    fcntl = [_step(_LOAD, _SECOND)]
    for command in (_SET_OWNER, _SET_SIGNAL, _SET_OWNER_EX):
        fcntl += [_jump(_EQUAL, command, 0, 1), _step(_RETURN, refuse)]
    steps += [_jump(_EQUAL, syscalls.of(syscalls.FCNTL), 0, len(fcntl)), *fcntl]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
