"""An IPython extension: a cell that fails because the notebook's first cell has not run in this kernel says so.

A new kernel knows nothing of the chapter yet, so this cannot come from the chapter: every kernel of the environment
loads it, once ``configure`` has run: in ``setup_venv.py``, and where chapters are given out (conda, Binder).
"""

import re
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from . import without_triton

CONFIG = """# Every kernel of this environment: see graded_kernels.course.first_cell.
c = get_config()
c.InteractiveShellApp.extensions.append("graded_kernels.course.first_cell")
"""

# What the first cells import or define, beside the modules of shipped bugs; a test reads it from the chapters.
NAMES = frozenset(
    "check torch F triton tl math plt DEVICE figures programs measure gpt Emulator ulp_error ulp_size".split()
    + "replace ProgressBar suspects block own step mixture partial ALPHABET TorchDispatchMode".split()
    + "kernel_costs libdevice neighbours progress recorded_run recorded_times text weights Conv1D FLOAT8".split()
)
SHIPPED = re.compile(r"wild(_\w+)?")  # a chapter names what it needs of them
ADVICE = "The first code cell of this notebook has not run in this kernel: run it, then this cell again."


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython; shell: the running one."""
    shell.set_custom_exc((NameError, ModuleNotFoundError), _show)
    if without_triton.is_needed():
        shell.input_transformers_cleanup.append(without_triton.leave_out)


def _show(
    shell: Any,
    kind: type[NameError] | type[ModuleNotFoundError],
    error: NameError | ModuleNotFoundError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    if without_triton.is_needed() and without_triton.explained(shell, error):
        return
    missing = error.name in NAMES or SHIPPED.fullmatch(error.name or "")
    if isinstance(error, NameError) and missing and "check" not in shell.user_ns:
        error.args = (f"{error}. {ADVICE}",)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def configure(environment: Path) -> None:
    """Has the kernels of a Python environment load the extension; settings that are there stay. Raises OSError."""
    path = environment / "etc" / "ipython" / "ipython_kernel_config.py"
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    if CONFIG not in there:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{there}\n{CONFIG}" if there else CONFIG, encoding="utf-8")


def configure_this_environment() -> None:
    """Configures the environment that runs this; where its files cannot be written a note is printed."""
    try:
        configure(Path(sys.prefix))
    except OSError as error:
        print(f"note     without advice on cells that run before the first one: {error}")


if __name__ == "__main__":
    configure_this_environment()
