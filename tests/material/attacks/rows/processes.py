# kind: answer
# exercise: silu_backward
# backend: torch
"""The process ends, never ends, or takes what there is."""

import ctypes
import mmap
import os
import platform
import signal
import sys
import time

import torch


# expect: nothing
# trouble: crashed
def abort(dy, x):
    """Aborts."""
    os.abort()


# expect: nothing
# trouble: crashed
def segfault(dy, x):
    """Reads from address 8."""
    return ctypes.c_char.from_address(8).value


# expect: nothing
# trouble: crashed
def exit_in_call(dy, x):
    """Leaves the process without a result."""
    os._exit(0)


# expect: nothing
# trouble: raised
# weak: skip: nothing at this level would stop it
def replace_itself(dy, x):
    """Becomes another program."""
    os.execv("/usr/bin/touch", ["touch", "@SCENE@/started"])


# expect: nothing
# limits: seconds=1.5, total_seconds=2
def stop_itself(dy, x):
    """Stops, so that waiting for its end takes for ever."""
    signal.raise_signal(signal.SIGSTOP)
    return torch.zeros_like(x)


# expect: nothing
# trouble: timeout
# limits: seconds=1.5, total_seconds=2
# slow: yes
def endless_loop(dy, x):
    """Never returns."""
    while True:
        pass


# expect: nothing
# trouble: timeout
# limits: seconds=1.5, total_seconds=2, wall_factor=2
# slow: yes
def sleep(dy, x):
    """Waits, which costs no processor time."""
    time.sleep(3600)


def deeper(n):
    return [deeper(n + 1)]


# expect: nothing
# limits: seconds=8, total_seconds=8
# slow: yes
def deep_recursion(dy, x):
    """Recurses until the stack is gone."""
    sys.setrecursionlimit(10**9)
    return deeper(0)


# expect: nothing
def close_descriptors(dy, x):
    """Closes every descriptor."""
    os.closerange(0, 64)
    return torch.zeros_like(x)


# expect: nothing
def shrink_memory(dy, x):
    """Shrinks the shared memory, so that who reads it next dies of SIGBUS."""
    for file in range(3, 64):
        for size in (0, 1 << 40):
            try:
                os.ftruncate(file, size)
                print("ESCAPED", file, size)
            except OSError:
                pass
    return torch.zeros_like(x)


# expect: nothing
# limits: memory=300000000, seconds=10
# slow: yes
def memory_of_lists(dy, x):
    """Allocates lists until nothing is left."""
    lists = []
    while True:
        lists.append([0] * 1_000_000)


kept = []


# expect: nothing
# limits: memory=300000000, seconds=10
# slow: yes
def memory_of_tensors(dy, x):
    """Allocates tensors until nothing is left."""
    while True:
        kept.append(torch.ones(10_000_000))


# expect: nothing
# limits: memory=300000000, seconds=10
def memory_shared(dy, x):
    """Maps shared memory, which a limit on private memory does not count."""
    while True:
        kept.append(mmap.mmap(-1, 50_000_000))
        kept[-1].write(b"x" * 50_000_000)


# expect: nothing
# limits: memory=300000000, seconds=10
# slow: yes
def memory_files(dy, x):
    """Fills files that exist in memory only."""
    while True:
        file = os.memfd_create("hoard")
        for _ in range(20):
            os.write(file, b"x" * 50_000_000)


# expect: nothing
def machine_code(dy, x):
    """Calls the kernel through the 32-bit gate, from machine code of its own."""
    if platform.machine() == "x86_64":
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        # eax = 359 (socket), ebx = 2, ecx = 1, edx = 0; int 0x80; ret. rbx is saved around it.
        code.write(bytes.fromhex("53b867010000bb02000000b90100000031d2cd805bc3"))
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        if call() >= 0:
            print("ESCAPED")
    return torch.zeros_like(x)


libc = ctypes.CDLL(None, use_errno=True)


# expect: nothing
def other_system_call_table(dy, x):
    """Uses the second set of system calls that x86-64 has."""
    if platform.machine() == "x86_64" and libc.syscall(0x40000000 + 41, 2, 1, 0) >= 0:
        print("ESCAPED")
    return torch.zeros_like(x)
