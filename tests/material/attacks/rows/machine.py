# kind: beside
# exercise: silu_backward
# backend: torch
# weak: skip: nothing at this level would stop it
"""What a right answer does besides: to processes, the network and the machine."""

import ctypes
import fcntl
import logging
import os
import platform
import resource
import signal
import socket
import sys
import time


# expect: full
def network():
    """Sends what it saw to somebody else."""
    kinds = ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM))
    for family, kind in kinds:
        try:
            sender = socket.socket(family, kind)
            sender.connect(("127.0.0.1", int("@PORT@")))
            sender.send(b"the hidden inputs")
            print("ESCAPED", kind)
        except OSError:
            pass
    try:
        sender = socket.socket(socket.AF_UNIX)
        sender.connect("\0graded-kernels-@PORT@")
        print("ESCAPED unix")
    except OSError:
        pass


# expect: full
# limits: seconds=20, total_seconds=200
# slow: yes
def install():
    """Installs a package, or loads weights from somewhere."""
    try:
        import urllib.request

        urllib.request.urlopen("http://127.0.0.1:@PORT@/", timeout=2)
        print("ESCAPED")
    except Exception:
        pass
    try:
        from torch.utils.cpp_extension import load_inline

        load_inline("extension", "int one() { return 1; }", functions=["one"])
        print("ESCAPED")
    except Exception:
        pass


# expect: full
def subprocess():
    """Starts a program."""
    import subprocess

    for command in (["/usr/bin/touch", "@SCENE@/started"], ["/bin/sh", "-c", "echo ESCAPED"]):
        try:
            subprocess.run(command, check=True)
        except OSError:
            pass


# expect: full
def system():
    """Starts a shell by every name that Python has for it."""
    command = "touch @SCENE@/started"
    starts = (os.system, os.popen, lambda line: os.posix_spawn("/usr/bin/touch", line.split(), {}))
    for start in starts:
        try:
            start(command)
        except OSError:
            pass


# expect: full
def fork_bomb():
    """Forks, and its children fork."""
    for _ in range(8):
        try:
            os.fork()
        except OSError:
            return
        print("ESCAPED")


# expect: full
# weak: full
def daemon():
    """Leaves a process behind that outlives the check."""
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(30)
            os._exit(0)
    except OSError:
        pass


# expect: full
def kill_parent():
    """Signals the process that started it."""
    for call in (os.kill, lambda pid, number: signal.pidfd_send_signal(os.pidfd_open(pid), number)):
        try:
            call(os.getppid(), signal.SIGTERM)
            print("ESCAPED")
        except OSError:
            pass


# expect: full
def limits_of_the_parent():
    """Takes the parent's limits away, and the processor from it."""
    attempts = (
        lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
        lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
        lambda: os.sched_setaffinity(os.getppid(), {0}),
        lambda: os.nice(-5),
    )
    for attempt in attempts:
        try:
            attempt()
            print("ESCAPED")
        except OSError:
            pass


# expect: full
def signal_through_a_pipe():
    """Has the kernel kill the parent when a pipe becomes readable."""
    try:
        reader, writer = os.pipe()
        fcntl.fcntl(reader, 10, signal.SIGKILL)
        fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
        os.write(writer, b"x")
        print("ESCAPED")
    except OSError:
        pass


# expect: full
def shared_memory():
    """Leaves shared memory behind."""
    from multiprocessing import shared_memory

    try:
        shared_memory.SharedMemory("@MARK@", create=True, size=1024)
        print("ESCAPED")
    except OSError:
        pass


libc = ctypes.CDLL(None, use_errno=True)


NUMBERS = (41, 53, 56, 57, 58, 59, 101, 155, 161, 165, 248, 250, 272, 298, 308, 310, 321, 323, 425, 428, 434, 435)


# expect: nothing
# trouble: unloadable
# weak: nothing
def system_calls():
    """Asks the kernel directly for what Python does not offer."""
    if platform.machine() != "x86_64":
        return
    for number in NUMBERS:
        if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
            print("ESCAPED", number, ctypes.get_errno())


# expect: full
# weak: full
def raise_own_limits():
    """Asks for more time and memory than it was given."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NPROC):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            print("ESCAPED", kind)
        except (OSError, ValueError):
            pass


# expect: full
# weak: full
# slow: yes
def print_without_end():
    """Prints two hundred megabytes in each call."""
    for _ in range(200):
        print("x" * 1_000_000)


# expect: full
# weak: full
def warnings():
    """Warns and logs on every channel, and is right."""
    import warnings

    warnings.warn("overflow", stacklevel=1)
    logging.error("overflow")
    print("overflow", file=sys.stderr)
