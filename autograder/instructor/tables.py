"""An instructor's file of cases as it is written, read without PyTorch; `hidden` makes cases of it."""

import tomllib
from pathlib import Path
from typing import Any


class HiddenCasesError(ValueError):
    """A file of cases that cannot be used; the message says where and why."""


def read_tables(path: Path) -> dict[str, Any]:
    """The file's content by exercise, unchecked. Raises HiddenCasesError where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HiddenCasesError(f"{path}: {error}") from None
