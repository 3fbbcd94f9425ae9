"""Says which function a check in a notebook is about. Both answers to an exercise have one name there, and the name
stands for the one that was defined last; where the front end tells the kernel the ids of cells, the check cell
``silu_forward-torch-check`` is about the code of the cell ``silu_forward-torch``, as a grader would take it. Cells are
noted from the import of this module on.
"""

import inspect
import linecache
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...words import shell

if TYPE_CHECKING:  # the door imports this module: what it needs beside IPython is imported where it is used
    from .contract import Contract
    from .examination import Runner

_cells: dict[str, str] = {}  # the code of every cell, by its id, as it was run last
_running = ""  # the id of the cell that runs; "" where the front end gives none


def _follow() -> None:
    here = shell()
    if here and _note not in here.events.callbacks["pre_run_cell"]:
        here.events.register("pre_run_cell", _note)


def _note(info: Any) -> None:
    global _running
    _running = getattr(info, "cell_id", None) or ""  # IPython 7 has no such attribute
    if _running:
        _cells[_running] = info.raw_cell


def answer_of(function: Callable[..., Any], name: str, backend: str) -> Callable[..., Any]:
    """Returns the answer to ``name`` that the running check cell is about: ``function``, where it was defined last by a
    cell of the learner's own, and otherwise what the answer's cell for this backend defines, which is run again.

    Any other function, cell or front end gets ``function`` back. Raises AnswerError where the answer's cell stops or
    defines no such function.
    """
    cell = f"{name}-{backend}"
    if _running != f"{cell}-check" or cell not in _cells:
        return function
    from .answer import AnswerError

    here = shell()
    names: dict[str, object] = here.user_ns
    if function is not names.get(name):
        return function
    added = [code for other, code in _cells.items() if other.rpartition("-")[0] != name and name in code]
    if _code_around(function) in (_python(code).strip() for code in added):
        return function
    del names[name]
    try:
        error = _run_again(cell)
        answer = names.get(name)
    finally:
        names.setdefault(name, function)
    if callable(answer):
        return answer
    if error:
        raise AnswerError(f"The cell of this answer stopped with {error}. Fix it, run it, and check again.")
    raise AnswerError(f"The cell of this answer defines no `{name}`. Give the function that name, and run the cell.")


def runner_of(function: Callable[..., Any], contract: "Contract", backend: str) -> "Runner":
    """Calls the answer that the running check cell is about (`answer_of`), in this process."""
    from .answer import AnswerError
    from .examination import Unloadable
    from .outcome import Trouble
    from .runner import InProcess

    try:
        return InProcess(answer_of(function, contract.name, backend), contract, backend)
    except AnswerError as error:
        return Unloadable(Trouble("unloadable", str(error)))


def _run_again(cell: str) -> str:
    """Runs the code of a cell in the notebook's namespace, without its output. Returns why it stopped, or ""."""
    global _running
    from IPython.utils.capture import capture_output

    here, check = shell(), _running
    code = _python(_cells[cell])
    file = here.compile.cache(code, raw_code=_cells[cell])
    _running = cell  # a check in that cell is about the function it is given
    try:
        with capture_output():
            exec(compile(code, file, "exec"), here.user_ns)
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        where = f" in line {line}" if line else ""
        return f"{type(error).__name__}{where} ({getattr(error, 'msg', None) or error})"
    finally:
        _running = check
    return ""


def _python(code: str) -> str:
    """Returns the code of a cell without IPython's magics; as it is where its indentation is wrong."""
    try:
        return str(shell().transform_cell(code))
    except SyntaxError:
        return code


def _code_around(function: Callable[..., Any]) -> str:
    """Returns the text of the cell or file that defines ``function``; "" where it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "".join(linecache.getlines(code.co_filename)).strip() if code else ""


_follow()
