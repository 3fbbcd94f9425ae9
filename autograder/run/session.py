"""The notebook a check runs in, if it runs in one: whether the cell that should have defined the function stopped, or
no longer defines it, and whether another cell has put something else in the place of what it calls.
"""

import ast
import contextlib
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_KERNEL = re.compile(r"@\s*triton\.jit\b|\btl\.")


@dataclass(frozen=True)
class Run:
    """A cell that was run, and the error that stopped it."""

    text: str
    error: BaseException | None
    cell: str | None = None  # its id, where the front end gives one

    def defines(self, name: str, backend: str, backends: tuple[str, ...]) -> bool:
        """Whether it is where the answer for this backend is, as far as its text shows, which may be no Python."""
        if not re.search(rf"^def\s+{re.escape(name)}\b", self.text, re.MULTILINE):
            return False
        return len(backends) == 1 or backend == ("triton" if _KERNEL.search(self.text) else "torch")


_runs: list[Run] = []


def shell() -> Any:
    """The running IPython, if any."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def remember() -> None:
    """From now on keeps the cells that are run, if there are any cells here."""
    here = shell()
    if here and _keep not in here.events.callbacks["post_run_cell"]:
        here.events.register("post_run_cell", _keep)


def _keep(result: Any) -> None:
    if result.info is not None and result.info.raw_cell:
        cell = getattr(result.info, "cell_id", None)
        _runs.append(Run(result.info.raw_cell, result.error_before_exec or result.error_in_exec, cell))


def left_over(function: Callable[..., Any], name: str, backend: str, backends: tuple[str, ...]) -> str:
    """A sentence where ``function`` is from an earlier run: the cell of the answer was run last and stopped, or has
    changed since and defines no such function any more; or where it would call what another cell defines, which no
    grader sees; else "".
    """
    own = _text_of(function).strip()
    last = next((run for run in reversed(_runs) if run.defines(name, backend, backends)), None)
    if last is None:
        return ""
    earlier = f"`{name}` is still the function of an earlier run, so it was not checked."
    if last.error is not None and own != last.text.strip():
        said = _said(last, last.error)
        return f"The cell that defines `{name}` stopped with {said}. {earlier} Fix that cell, run it, and check again."
    now = next(run for run in reversed(_runs) if run.cell == last.cell)
    if last.cell and now is not last and own == last.text.strip():
        return (
            f"The cell that defined `{name}` was changed and run again, and has no `def {name}` any more. {earlier} "
            f"Call the function in that cell `{name}`, run the cell, and check again."
        )
    if taken := _taken(function, name, own):
        return (
            f"`{taken}`, which the cell of `{name}` defines, was defined anew by another cell, and `{name}` would call "
            f"that one. Nothing was checked. Give each a name of its own, or run the cell of `{name}` again."
        )
    return ""


def _taken(function: Callable[..., Any], name: str, cell: str) -> str:
    """The first kernel or helper in ``cell``, the text of ``function``'s own, whose name stands for another one now."""
    names = getattr(inspect.unwrap(function), "__globals__", {})
    with contextlib.suppress(SyntaxError, OSError):  # OSError: one without a text
        for made in ast.parse(cell).body:
            if not isinstance(made, ast.FunctionDef) or made.name == name:
                continue
            now: Any = names.get(made.name)
            while hasattr(now, "fn"):  # a kernel, or the autotuner of one
                now = now.fn
            known = all("triton" in ast.unparse(decorator) for decorator in made.decorator_list)
            if known and inspect.isfunction(now) and inspect.getsource(now).strip() not in cell:
                return made.name
    return ""


def _said(run: Run, error: BaseException) -> str:
    line = error.lineno if isinstance(error, SyntaxError) else _line(run, error)
    where = f" in line {line}" if line else ""
    return f"{type(error).__name__}{where} ({getattr(error, 'msg', None) or error})"


def _line(run: Run, error: BaseException) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "".join(linecache.getlines(f.filename)).strip() == run.text.strip()]
    return own[-1].lineno or 0 if own else 0


def _text_of(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""
