"""triton-viz 3.0: its sanitizer, as its command `triton-sanitizer` applies it, which sees accesses out of bounds.

`pip install --no-deps triton-viz==3.0 anytree blinker cairocffi cffi click flask flask_cloudflared itsdangerous pyarrow
pycparser tqdm werkzeug z3-solver`, here or by `--target FOLDER`, with FOLDER on PYTHONPATH.
"""

import contextlib
import os

import triton
import triton.experimental.gluon.language  # while Triton is what it was when it was imported
from triton.runtime import interpreter

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject
from .interpreter import plain_on_a_stand_in

CRASH_IS_FOUND = True


def check(row: Row) -> Said:
    if row.backend == "torch":
        raise Cannot("launches no Triton kernel")
    try:
        from triton_viz import wrapper
        from triton_viz.clients import Sanitizer
    except ImportError as error:
        raise Cannot(f"not run: {error}") from None
    import triton_viz

    os.environ["TRITON_INTERPRET"] = "0"  # it interprets by itself
    clients = []

    def watch(kernel):
        clients.append(Sanitizer(abort_on_error=False))
        return triton_viz.trace(client=clients[-1])(kernel)

    triton.jit = triton.language.jit = interpreter.jit = wrapper.create_patched_jit(watch)
    triton.autotune = wrapper.create_patched_autotune(watch)
    return watched(row, clients)


def watched(row: Row, clients: list) -> Said:
    one = subject(row)
    raised = ""
    with plain_on_a_stand_in() if one.shim else contextlib.nullcontext():
        try:
            one.launch()
        except SystemExit:
            pass
        except Exception as error:
            raised = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    for record in (record for client in clients for record in client.records):
        place = record.user_code_tracebacks[-1] if record.user_code_tracebacks else None
        at = f"{place.func_name} line {place.lineno}" if place else ""
        return Said(row.name, True, "memory", at, "out of bounds")
    if raised:
        raise Cannot(f"the program raises {raised}")
    return Said(row.name)
