"""How a worker is started, with which Python, paths and environment, and how it is killed."""

import contextlib
import json
import os
import signal
import subprocess

from . import paths

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker", "inside.py")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def environment() -> dict[str, str]:
    """All that the worker's environment holds: nothing of the grader's own, which may name secrets."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return kept | {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TRITON_INTERPRET": "1",
        "TORCHDYNAMO_DISABLE": "1",  # torch.compile would start a compiler; undecorated, the function is the same
        "TORCHINDUCTOR_CACHE_DIR": "/tmp",  # which is there: nothing is made, in particular not in the user's own
        "CUDA_VISIBLE_DEVICES": "",
        **dict.fromkeys(_THREADS, "1"),
    }


def locations() -> dict:
    """Where the worker imports from."""
    return {"machine": str(paths.GRADER), "site": paths.site_folders()}


def python(settings: dict) -> list[str]:
    """The worker's command: no user's folders, no .pth files, no writing of bytecode."""
    return [paths.interpreter(), "-I", "-S", "-B", _SCRIPT, json.dumps(settings)]


def kill(process: subprocess.Popen) -> None:
    """Kills a process that was started in a session of its own, and all that is still in its process group.

    While bubblewrap sets up a sandbox it is two processes. If only the first one dies, the second waits for it for
    ever; as the init process of its namespace it ignores every signal but SIGKILL, Ctrl-C's among them.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
