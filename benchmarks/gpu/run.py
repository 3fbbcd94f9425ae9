"""The pieces of the plan one after the other, each in a process of its own, until the time is over."""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .kept import Kept
from .plan import Piece

ROOT = Path(__file__).resolve().parents[2]
Execute = Callable[[Piece, float], dict]


class Failed(Exception):
    """Why a piece has no result."""


def run(plan: Sequence[Piece], kept: Kept, seconds: float, execute: Execute, say: Callable[[str], None]) -> list[Piece]:
    """Runs what is not kept, and keeps it. Returns the pieces for which no time was left. seconds: the time there is.
    execute: the result of a piece, in at most so many seconds; it raises `Failed`.
    """
    begun, waiting = time.monotonic(), [piece for piece in plan if not kept.done(piece.key)]
    if len(waiting) < len(plan):
        say(f"{len(plan) - len(waiting)} of {len(plan)} pieces are kept in {kept.path}")
    for number, piece in enumerate(waiting):
        spent = time.monotonic() - begun
        if spent >= seconds:
            return waiting[number:]
        say(f"[{number + 1}/{len(waiting)}] {piece.key}; about {minutes_left(waiting, number, spent)} min left")
        started = time.monotonic()
        try:
            found = execute(piece, min(seconds - spent, max(120, 4 * piece.seconds)))
            kept.add(piece.key, "done", time.monotonic() - started, found=found)
        except Failed as error:
            kept.add(piece.key, "failed", time.monotonic() - started, str(error))
            say(f"    failed: {error}")
    return []


def minutes_left(plan: Sequence[Piece], number: int, spent: float) -> int:
    """The estimates of the pieces from ``number`` on, at the pace of those before, which took ``spent`` seconds."""
    before, left = (sum(piece.seconds for piece in part) for part in (plan[:number], plan[number:]))
    return math.ceil(left * (spent / before if before else 1) / 60)


def in_child(simulated: bool) -> Execute:
    """Runs a piece in a process, which is ended with all that it started when its time is over."""

    def execute(piece: Piece, seconds: float) -> dict:
        emulated = simulated or piece.view == "emulator"
        interpreting = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""} if emulated else {"TRITON_INTERPRET": "0"}
        with tempfile.TemporaryDirectory() as folder:
            result, log = Path(folder) / "result.json", Path(folder) / "log"
            command = [sys.executable, "-m", "benchmarks.gpu.child", piece.kind, piece.name, str(result)]
            with log.open("w") as output:
                child = subprocess.Popen(
                    [*command, *(["--simulated"] if emulated else [])],
                    cwd=ROOT,
                    env=os.environ | interpreting,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                ended = waited(child, seconds)
            if ended is None:
                raise Failed(f"it took longer than {seconds:.0f} s")
            if ended or not result.exists():
                raise Failed(why(ended, log.read_text(encoding="utf-8", errors="replace")))
            return json.loads(result.read_text(encoding="utf-8"))

    return execute


def waited(child: subprocess.Popen, seconds: float) -> int | None:
    """The process's status; None where it had to be ended."""
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:  # after an interruption, too
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def why(status: int, log: str) -> str:
    """How a process ended, by its last line."""
    said = next(reversed(log.strip().splitlines()), "")
    return f"signal {-status}" if status < 0 else said[:300] or f"status {status}"
