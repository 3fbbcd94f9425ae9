"""What Triton makes of one launch, stage by stage, for a program that asks a kernel for its ``asm``.

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

from .ahead_of_time import job_of
from .kernel_launch import KernelLaunch
from .targets import Target
from .worker import Module, build, stages_of

Code = Mapping[str, str | bytes]
_SECONDS = 120


class NotCompiled(RuntimeError):
    """Why there is no code; one sentence."""


def code_of(launch: KernelLaunch, architecture: int) -> Code:
    """The code of each stage (``ttir``, ``ttgir``, ``llir``, ``ptx``, ``cubin``) for an NVIDIA GPU. Raises
    NotCompiled.
    """
    (target,) = Target.named(f"sm_{architecture}")
    job = json.dumps(job_of(launch, target))
    command, environment = [sys.executable, "-m", __name__], {**os.environ, "TRITON_INTERPRET": "0"}
    try:
        done = subprocess.run(command, input=job, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotCompiled(f"`{launch.kernel}` was not compiled: {error}") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["the compiler's process ended"])[-1]
        raise NotCompiled(f"`{launch.kernel}` does not compile: {why}")
    found = json.loads(done.stdout)
    return {name: text if text is not None else base64.b64decode(raw) for name, (text, raw) in found.items()}


def main() -> None:
    """Compiles the job on the standard input."""
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        built = build(asked["job"], Module(asked["module"], folder))
        # Each as it is made: a stage changes the module that the one before has made.
        made = {stage: _plain(code) for stage, code, _ in stages_of(asked["job"], *built)}
    print(json.dumps(made))


def _plain(code: object) -> tuple[str | None, str]:
    """The text, or where it is none, base64."""
    return (None, base64.b64encode(code).decode()) if isinstance(code, bytes) else (str(code), "")


if __name__ == "__main__":
    main()
