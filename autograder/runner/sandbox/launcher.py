"""Starting a worker (its Python, paths and environment) and killing it."""

import contextlib
import json
import os
import signal
import subprocess
from typing import Any

from . import paths

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker", "main.py")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def environment() -> dict[str, str]:
    """The worker's whole environment. It takes nothing else from the grader's own, which may contain secrets."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return kept | {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TRITON_INTERPRET": "1",
        "TORCHDYNAMO_DISABLE": "1",  # torch.compile would start a compiler; undecorated, the function is the same
        "TORCHINDUCTOR_CACHE_DIR": "/tmp",  # it exists, so that no folder is created, least of all in the user's home
        "CUDA_VISIBLE_DEVICES": "",
        **dict.fromkeys(_THREADS, "1"),
    }


def locations() -> dict[str, Any]:
    """Where the worker imports from."""
    return {"machine": str(paths.GRADER), "site": paths.site_folders()}


def python(settings: dict[str, Any]) -> list[str]:
    """The worker's command: no user site-packages, no .pth files, no bytecode written."""
    return [paths.interpreter(), "-I", "-S", "-B", _SCRIPT, json.dumps(settings)]


def removing(folder: str) -> list[str]:
    """Returns what to put before a command so that its empty ``folder`` goes when it ends: whoever started it may have
    been killed, and behind bubblewrap a process cannot remove it itself. Nothing for "".
    """
    return ["/bin/sh", "-c", '"$@"; rmdir -- "$0" 2> /dev/null', folder] if folder else []


def make_again(folder: str) -> None:
    """For a command that is started another time. Raises PermissionError where another account took the name."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.lstat(folder).st_uid != os.geteuid():
            raise PermissionError(f"{folder} is another account's") from None


def kill(process: subprocess.Popen[Any]) -> None:
    """Kills a process that was started in a session of its own, and everything that is left in its process group.

    bubblewrap consists of two processes while it sets up a sandbox. If only the first is killed, the second waits for
    it forever: as the init process of its namespace it ignores every signal but SIGKILL, including Ctrl-C's.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
