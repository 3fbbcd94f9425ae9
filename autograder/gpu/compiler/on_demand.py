"""Says what Triton makes of one launch, stage by stage, for a program that asks a kernel for its ``asm``.

Where kernels are interpreted nothing was compiled, and this process cannot: another one does, which takes seconds.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from .ahead_of_time import job_of
from .kernel_launch import KernelLaunch
from .targets import Target
from .worker import KernelModule, build, stages_of

CompiledCode = Mapping[str, str | bytes]
_SECONDS = 120


class NotCompiled(RuntimeError):
    """Why there is no code; one sentence."""


def code_of(
    launch: KernelLaunch, architecture: int, places: Mapping[str, tuple[str, int]] | None = None
) -> CompiledCode:
    """The code of each stage (``ttir``, ``ttgir``, ``llir``, ``ptx``, ``cubin``) for an NVIDIA GPU. places: the file
    and line of functions, which the code names. Raises NotCompiled.
    """
    (target,) = Target.named(f"sm_{architecture}")
    job = json.dumps(job_of(launch, target) | {"places": {**(places or {})}})
    command, environment = [sys.executable, "-m", __name__], {**os.environ, "TRITON_INTERPRET": "0"}
    try:
        done = subprocess.run(command, input=job, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotCompiled(f"`{launch.kernel}` was not compiled: {error}") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["the compiler's process ended"])[-1]
        raise NotCompiled(f"`{launch.kernel}` does not compile: {why}")
    stages = json.loads(done.stdout)
    return {name: text if text is not None else base64.b64decode(raw) for name, (text, raw) in stages.items()}


def main() -> None:
    """Compiles the job on the standard input."""
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        module = KernelModule(asked["module"], folder)
        for name, (file, line) in asked["places"].items():
            _put(module.names.get(name), file, line)
        built = build(asked["job"], module)
        # Each as it is made: a stage changes the module that the one before has made.
        stages = {stage: _plain(code) for stage, code, _ in stages_of(asked["job"], *built)}
    print(json.dumps(stages))


def _put(kernel: Any, file: str, line: int) -> None:
    """Has a function stand at its own place, not where its text was written to be compiled."""
    if hasattr(kernel, "starting_line_number"):
        kernel.fn.__code__ = kernel.fn.__code__.replace(co_filename=file)
        kernel.starting_line_number = line


def _plain(code: object) -> tuple[str | None, str]:
    """The text, or where it is none, base64."""
    return (None, base64.b64encode(code).decode()) if isinstance(code, bytes) else (str(code), "")


if __name__ == "__main__":
    main()
