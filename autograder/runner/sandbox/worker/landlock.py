"""Landlock: which files a process may touch, decided by itself, for good, and without being root. Linux 5.13 and later.

Everything that is not allowed is refused, through symbolic links too. From ABI 4 (Linux 6.7) on TCP is refused as
well, from 6 on (Linux 6.12) signals and abstract sockets to processes outside. `seccomp` refuses those on any kernel.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from . import linux

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # on every architecture

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE, _RENAME, _TRUNCATE = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 13, 1 << 14
_FIRST_ABI = (1 << 13) - 1
_LATER = ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15))  # ABI and the right it brought: refer, truncate, ioctl on devices
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE
_OWN = WRITE_FILE | READ_FILE | READ_DIR | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_FILE | _RENAME | _TRUNCATE


def abi() -> int:
    """The ABI version of this kernel; 0 if it has no Landlock."""
    try:
        return linux.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def rules(
    readable: Iterable[str],
    listable: Iterable[str] = (),
    writable: Iterable[str] = (),
    programs: Iterable[str] = (),
) -> int:
    """A set of rules, as a file descriptor: files and folders to read, folders to list, folders and devices to write
    to, programs to start. Raises OSError where there is no Landlock.
    """
    version = abi()
    if version < 1:
        raise OSError(errno.ENOSYS, "this kernel has no Landlock")
    handled = _FIRST_ABI
    for since, right in _LATER:
        handled |= right if version >= since else 0
    tcp = 3 if version >= 4 else 0
    scope = 3 if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, tcp, scope)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = linux.syscall(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    for path in readable:
        _allow(ruleset, path, READ_FILE | READ_DIR)
    for path in listable:
        _allow(ruleset, path, READ_DIR)
    for path in writable:
        _allow(ruleset, path, _OWN & handled)
    for path in programs:
        _allow(ruleset, path, EXECUTE | READ_FILE)
    return ruleset


def restrict(ruleset: int) -> None:
    """Puts this process, and all it starts, under ``made`` for good."""
    linux.prctl(linux.SET_NO_NEW_PRIVS, 1)
    linux.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there cannot be read
    try:
        if not os.path.isdir(path):
            access &= _OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, file), 12)
        linux.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0))
    finally:
        os.close(file)
