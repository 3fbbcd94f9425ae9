"""Runs a function in a process of its own that may take so much processor time and memory, and no more."""

import json
import os
import resource
import traceback

SECONDS, MEMORY = 20, 2 << 30  # more than the process has mapped already, which with CUDA is many times as much


def mapped() -> int:
    """Bytes of addresses that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def bounded(function, seconds: int = SECONDS, memory: int = MEMORY):
    """What ``function()`` returns, as JSON carries it. Raises AssertionError where it raised, or took more."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            most = mapped() + memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            outcome = json.dumps({"returned": function()})
        except BaseException:
            outcome = json.dumps({"raised": traceback.format_exc(limit=-3)})
        with open(write, "w") as pipe:
            pipe.write(outcome)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        outcome = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"it took more than {seconds} s of processor time or {memory >> 20} MiB: status {status}"
    outcome = json.loads(outcome)
    assert "returned" in outcome, outcome["raised"]
    return outcome["returned"]
