"""The role "compiling": the worker imports Triton without its interpreter, and its children compile kernels."""

import json
import os
from typing import Any

from ....gpu import worker

prepare, imported = worker.prepare, worker.share_libraries


def importing() -> None:
    """Called before `imported`: nothing that is imported lacks anything."""


def forking(basic: bool) -> None:
    """Called before each child is forked, which is like any other."""


def run(job: dict[str, Any], inputs: int, outputs: int, status: int, go: int) -> None:
    """job: a request of `compiler.worker.results`. Writes a line for each result, and waits for a line before the next
    one. status, go: descriptors of pipes to write to and to read from.
    """
    for number, result in enumerate(worker.results(job), 1):
        text = json.dumps(result).encode() + b"\n"
        while text:
            text = text[os.write(status, text) :]
        if number < len(job["jobs"]) and not os.read(go, 1):
            return
