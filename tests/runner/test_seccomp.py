"""The filter of system calls, read as the kernel reads it, for both architectures that have a table."""

import errno
import os
import platform
import re
import struct
from pathlib import Path

import pytest
from graded_kernels.autograder.runner.sandbox.worker import seccomp, syscalls

HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}
ALLOWED, REFUSED, UNKNOWN, KILLED = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
# read, write, close, fstat, getpid, futex, exit_group, getrandom, rseq, faccessat2, cachestat, mseal
HARMLESS = {
    "x86_64": (0, 1, 3, 5, 39, 202, 231, 318, 334, 439, 451, 462),
    "aarch64": (63, 64, 57, 80, 172, 98, 94, 278, 293, 439, 451, 462),
}
BEYOND = [
    470,
    471,
    500,
    512,
    520,
    547,
    0xFFFF,
]  # 512 to 547: x86-64 kernels before 5.4 took these for x32's, execve too


@pytest.fixture(params=HEADERS)
def machine(request, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return request.param


def verdict(number: int, *arguments: int, programs: bool = False) -> int:
    """What the kernel does with a call under the filter on this machine."""
    arch = syscalls.AUDIT_ARCH[platform.machine()]
    data = struct.pack("IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("HBBI", seccomp.filter_program(programs)))
    at = held = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = struct.unpack_from("I", data, value)[0]
            case 0x54:
                held &= value
            case 0x15 | 0x35:
                at += if_true if (held == value if code == 0x15 else held >= value) else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"an instruction of unknown code {code:#x}")


@pytest.mark.parametrize("programs", [False, True])
def test_a_call_that_nobody_has_reviewed_does_not_exist(machine, programs):
    gap = range(syscalls.of(syscalls.LAST_OLD) + 1, syscalls.COMMON)
    assert {verdict(number, programs=programs) for number in (*gap, *BEYOND)} == {UNKNOWN}


def test_calls_of_both_tables_are_refused_or_allowed_as_listed(machine):
    numbers = {name: syscalls.of(pair) for name, pair in syscalls.NUMBERS.items()}
    found = {name: verdict(number) for name, number in numbers.items() if number is not None}
    assert found == {name: UNKNOWN if name in ("clone3", "openat2") else REFUSED for name in found}
    assert {verdict(number) for number in HARMLESS[machine]} == {ALLOWED}
    assert max(number for number in numbers.values() if number) == syscalls.NEWEST


def test_a_compiler_may_start_programs_and_nothing_else(machine):
    numbers = {name: syscalls.of(pair) for name, pair in syscalls.NUMBERS.items()}
    changed = {name for name, number in numbers.items() if number and verdict(number) != verdict(number, programs=True)}
    assert changed == {name for name in ("fork", "vfork", "clone", "execve") if numbers[name]}
    assert verdict(syscalls.of(syscalls.MMAP), 0, 4096, 5, 0x02, programs=True) == ALLOWED  # of a library


def test_arguments_decide_where_a_call_is_allowed(machine):
    read, path_only = os.O_RDONLY, os.O_RDONLY | os.O_PATH
    cases = [
        (syscalls.PRLIMIT, (0,), (1,)),
        (syscalls.MMAP, (0, 4096, 3, 0x22), (0, 4096, 3, 0x21)),
        (syscalls.MMAP, (0, 4096, 3, 0x02), (0, 4096, 5, 0x02)),  # a file's bytes as code: a library
        (syscalls.MMAP, (0, 4096, 1, 0x02), (0, 4096, 7, 0x22)),
        (syscalls.OPEN, (0, read), (0, path_only)),
        (syscalls.OPENAT, (0, 0, read), (0, 0, path_only)),
        (syscalls.FCNTL, (0, 3), (0, 8)),
    ]
    for pair, good, bad in cases:
        number = syscalls.of(pair)
        if number is not None:
            assert (verdict(number, *good), verdict(number, *bad)) == (ALLOWED, REFUSED), pair


def test_the_second_table_of_x86_64_kills():
    if platform.machine() != "x86_64":
        pytest.skip(f"not run: this is {platform.machine()}")
    assert verdict(0x40000000) == verdict(0xFFFFFFFF) == KILLED


@pytest.mark.parametrize("name", HEADERS)
def test_numbers_of_system_calls_are_the_kernels_own(name):
    if not os.path.exists(HEADERS[name]):
        pytest.skip(f"not run: {HEADERS[name]} is not installed")
    text = Path(HEADERS[name]).read_text()
    theirs = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    column = list(HEADERS).index(name)
    pairs = {**syscalls.NUMBERS, "prlimit64": syscalls.PRLIMIT, "fcntl": syscalls.FCNTL, "mmap": syscalls.MMAP}
    pairs |= {"open": syscalls.OPEN, "openat": syscalls.OPENAT}
    newest = max(map(int, theirs.values()))  # since 424 both architectures number alike, in order of appearance
    pairs = {name: pair for name, pair in pairs.items() if pair[column] is None or pair[column] <= newest}
    ours = {name: pair[column] for name, pair in pairs.items()}
    assert ours == {name: int(theirs[name]) if name in theirs else None for name in pairs}
