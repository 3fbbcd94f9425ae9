"""Tables and pages that a person keeps: written as a whole or not at all."""

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from .room import fix


class NotWritten(Exception):
    """The message says which file, why, and what to do."""


def make_folder(path: Path) -> None:
    """Its owner's alone. Raises NotWritten."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise NotWritten(_sentence(path, error)) from None


def put(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Where it cannot be written, what was there before stays. Raises NotWritten."""
    if path.exists() and not path.is_file():  # /dev/stdout, say
        path.write_text(text, encoding, newline="")
        return
    path = Path(os.path.realpath(path))
    written = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(written, "x", encoding=encoding, newline="") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, written)
        os.replace(written, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            written.unlink()
        raise NotWritten(_sentence(path, error)) from None


def _sentence(path: Path, error: OSError) -> str:
    return f"{path} could not be written: {error.strerror}. What was there before is kept.{fix(error)}"
