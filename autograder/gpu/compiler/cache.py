"""Results of the compiler, kept by content: one JSON file each under the user's cache folder.

A few kilobytes each at most; deleting the folder costs nothing but time. A file that does not hold what is expected is
treated as absent and written again. Where the folder cannot be written, everything works without it.
"""

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from pathlib import Path

from .kernel_launch import Json

_FIELDS = {"status", "message", "function", "line", "registers", "scalar_registers", "spills", "shared"}
_FIELDS |= {"scratch", "reads"}
_FIELDS |= {"loads", "stores", "load_bits", "store_bits", "seconds", "operations", "permitted", "thread"}


def folder() -> Path:
    """Returns ``$XDG_CACHE_HOME/graded-kernels/compiler``, in ``~/.cache`` where the variable is not set."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "graded-kernels" / "compiler"


def key_of(content: Json) -> str:
    """Returns the digest of all that a result depends on, and of the code that reads it from the compiler's output."""
    return hashlib.sha256(json.dumps([_own_code(), content], sort_keys=True).encode()).hexdigest()


def read(key: str) -> Json | None:
    """Returns the result that is kept under this key; None where there is none, or not a whole one."""
    try:
        result = json.loads((folder() / f"{key}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    complete = isinstance(result, dict) and result.keys() == _FIELDS and result["status"] in ("pass", "fail")
    return result if complete else None


def write(key: str, result: Json) -> None:
    """Keeps a result, atomically: a reader sees the whole file or none. Does nothing where the folder is read-only."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder())
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(result, file)
            os.replace(temporary, folder() / f"{key}.json")
        except OSError:
            os.unlink(temporary)
            raise


@functools.cache
def _own_code() -> str:
    here = Path(__file__).parent
    files = ["worker.py", "device_libraries.py", "operations.py", "name_check.py", "names.py", "machine_code.py"]
    files += [f"sass/{name}.py" for name in ("disassembly", "instructions", "trips")]
    return hashlib.sha256(b"\0".join((here / name).read_bytes() for name in files)).hexdigest()
