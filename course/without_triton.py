"""On a machine without Triton: a cell that needs it says in one sentence where it runs; the others work.

A chapter's first cell imports Triton among other things. Such a line is left out, and whatever then lacks a name that
Triton, or a cell that needs it, would have given is told why.
"""

import ast
import re
from importlib.util import find_spec
from typing import Any

LINE = re.compile(r"(\s*)((?:import|from) triton\b.*|from graded_kernels\.autograder import Emulator\b.*)", re.DOTALL)
NAMES = {"triton", "tl", "libdevice", "Emulator"}  # and those of cells that failed for want of them


def is_needed() -> bool:
    """Returns whether Triton is not installed."""
    return find_spec("triton") is None


def leave_out(lines: list[str]) -> list[str]:
    """The lines of a cell, in place of those that import Triton a comment."""
    comment = r"\1pass  # Triton is not installed: \2"
    return [LINE.sub(comment, line) if LINE.fullmatch(line) else line for line in lines]


def explained(shell: Any, error: NameError | ModuleNotFoundError) -> bool:
    """Shows where a cell runs that failed for want of Triton, and remembers the names that it would have defined."""
    if error.name not in NAMES:
        return False
    from ..autograder.gpu import NotRun
    from ..autograder.gpu.interpret import WITHOUT_TRITON

    NAMES.update(defined(shell.user_ns["In"][-1]))
    shell.showtraceback((NotRun, NotRun(WITHOUT_TRITON), None))
    return True


def defined(cell: str) -> set[str]:
    """The names that a cell binds at its top level, by a definition or an assignment."""
    names = set()
    for node in ast.parse(cell).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            names |= {
                child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
            }
    return names
