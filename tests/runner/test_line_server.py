"""A process that may die of what it is asked, and the limits of a child that reads what strangers wrote."""

import json
import os
import subprocess
import sys

import pytest
from graded_kernels.autograder.runner.sandbox.line_server import LineServer
from graded_kernels.autograder.runner.sandbox.worker import landlock

MODULE = '''"""Answers a line with lines."""
import sys, time
for line in sys.stdin:
    word = line.strip()
    if word == "die":
        sys.exit(3)
    while word == "spin":
        pass
    if word == "sleep":
        time.sleep(60)
    print(word, flush=True)
    print("end", flush=True)
'''


@pytest.fixture
def server(tmp_path):
    (tmp_path / "echoing.py").write_text(MODULE)
    with LineServer("echoing", os.environ | {"PYTHONPATH": str(tmp_path)}) as server:
        yield server


def asked(server, word, **options) -> list[bytes]:
    found = []
    for line in server.ask(word, **options):
        found.append(line)
        if line == b"end":
            return found
    raise AssertionError("it ended without an end")


def test_one_that_ended_is_started_again_with_the_next_question(server):
    assert asked(server, "a") == [b"a", b"end"]
    with pytest.raises(EOFError):
        asked(server, "die")
    assert asked(server, "b") == [b"b", b"end"]


def test_one_that_computes_or_waits_too_long_is_ended(server):
    asked(server, "a")
    with pytest.raises(EOFError, match="computes"):
        asked(server, "spin", late=lambda processor, wall: "computes" if processor > 0.5 else "")
    with pytest.raises(EOFError, match="waits"):
        asked(server, "sleep", late=lambda processor, wall: "waits" if wall > 0.5 else "")
    assert asked(server, "b") == [b"b", b"end"]


READING = """
import json, os, resource, socket, sys
from graded_kernels.autograder.classroom.nbgrader import reader

def attempt(request):
    found = {}
    for name, what in {
        "the submission": lambda: open(request["path"]).read(),
        "a secret": lambda: open(request["secret"]).read(),
        "a list of others": lambda: os.listdir(os.path.dirname(request["secret"])),
        "a new file": lambda: open(request["path"] + ".new", "w"),
        "a socket": lambda: socket.socket(),
        "a process": lambda: os.fork() or os._exit(0),
        "memory": lambda: bytearray(3 << 30),
    }.items():
        try:
            what()
            found[name] = "done"
        except (OSError, MemoryError) as error:
            found[name] = type(error).__name__
    found["seconds"] = resource.getrlimit(resource.RLIMIT_CPU)[1]
    return found

reader._rebuilt = attempt
reader._answer(json.loads(sys.argv[1]))
"""


@pytest.mark.skipif(not landlock.abi(), reason="not run: this kernel has no Landlock")
def test_what_reads_a_submission_can_do_nothing_else(tmp_path):
    """Also where the reader runs as root."""
    for name in ("secrets", "submitted", "release"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
    request = {"path": str(tmp_path / "submitted" / "file"), "secret": str(tmp_path / "secrets" / "file")}
    request |= {"released": str(tmp_path / "release" / "file"), "published": ""}
    done = subprocess.run([sys.executable, "-c", READING, json.dumps(request)], capture_output=True, text=True)
    found = json.loads(done.stdout)["notebook"]
    assert found.pop("seconds") < 60, done.stderr
    assert found == {
        "the submission": "done",
        "a secret": "PermissionError",
        "a list of others": "PermissionError",
        "a new file": "PermissionError",
        "a socket": "PermissionError",
        "a process": "PermissionError",
        "memory": "MemoryError",
    }
