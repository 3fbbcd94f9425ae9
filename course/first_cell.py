"""An IPython extension: a cell that fails because the notebook's first cell has not run in this kernel says so.

A new kernel knows nothing of the chapter yet, so it cannot come from the chapter: ``setup_venv.py`` has every kernel of
the course's environment load it.
"""

# What the first cells import or define; a test reads it from the chapters.
NAMES = frozenset(
    "check torch F triton tl math plt DEVICE figures programs measure gpt wild wild_rms wild_linear wild_mean Emulator "
    "ulp_error ulp_size".split()
)
ADVICE = "The first code cell of this notebook has not run in this kernel: run it, then this cell again."


def load_ipython_extension(shell) -> None:
    shell.set_custom_exc((NameError,), _show)


def _show(shell, kind: type[NameError], error: NameError, trace, tb_offset: int | None = None) -> None:
    if error.name in NAMES and "check" not in shell.user_ns:
        error.args = (f"{error}. {ADVICE}",)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
