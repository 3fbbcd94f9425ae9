"""Where a finding is, as editors and code hosts read it."""

import os
from typing import Any


def location(finding: dict[str, Any]) -> str:
    """``file:line``, relative to the current folder where the file lies in it."""
    return f"{_short(finding['file'])}:{finding['line']}" if finding["line"] else "at an unknown line"


def _short(file: str) -> str:
    inside = os.path.relpath(file) if os.path.isabs(file) else file
    return file if inside.startswith("..") else inside


def is_own(file: str) -> bool:
    """Returns whether a file lies in the current folder, and is no installed library's."""
    return not os.path.isabs(_short(file)) and "site-packages" not in file
