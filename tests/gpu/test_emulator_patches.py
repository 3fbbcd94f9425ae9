"""How the emulator comes and goes: everything is put back, and a Triton that moved something is refused by name."""

import sys

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu import choose_interpreter
from graded_kernels.autograder.gpu.emulator import Emulator
from triton.language import load
from triton.language.extra import libdevice
from triton.language.extra.libdevice import tanh
from triton.runtime import autotuner, interpreter

OWNERS = (
    tl,
    tl.core,
    tl.math,
    tl.tensor,
    interpreter,
    interpreter.GridExecutor,
    interpreter.InterpretedFunction,
    interpreter.FunctionRewriter,
    interpreter.interpreter_semantic,
    autotuner.Autotuner,
    libdevice,
    sys.modules[__name__],
)


@triton.jit
def imported_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tanh(load(x_ptr)))


def snapshot():
    # Python itself adds `__annotations__` to a class where somebody looks for them.
    names = [(owner, name) for owner in OWNERS for name in vars(owner) if name != "__annotations__"]
    return {(owner, name): getattr(owner, name) for owner, name in names} | {
        "builder": type(interpreter.interpreter_builder),
        "options": interpreter.interpreter_builder.options,
    }


def test_everything_is_put_back():
    y = torch.zeros(1)
    before = snapshot()
    with Emulator():
        assert snapshot() != before
        imported_kernel[(1,)](torch.ones(1), y)
    assert y.item() == pytest.approx(0.76159416)
    assert snapshot() == before
    with pytest.raises(ZeroDivisionError), Emulator():
        raise ZeroDivisionError
    assert snapshot() == before


def test_an_emulator_may_be_used_again_but_not_inside_another():
    emulator = Emulator()
    for _ in range(2):
        with emulator:
            imported_kernel[(1,)](torch.zeros(1), torch.zeros(1))
        assert len(emulator.launches) == 1
    with emulator, pytest.raises(RuntimeError, match="already active"), Emulator():
        pass
    with Emulator():
        pass


def test_a_triton_that_moved_something_is_refused_with_its_name(monkeypatch):
    monkeypatch.delattr(interpreter.InterpreterBuilder, "create_masked_load")
    with pytest.raises(
        RuntimeError, match=r"moved InterpreterBuilder\.create_masked_load; this emulator knows 3\.6 to"
    ):
        Emulator().__enter__()
    monkeypatch.undo()
    monkeypatch.delattr(interpreter, "_patch_lang_core")
    with pytest.raises(RuntimeError, match=r"moved triton\.runtime\.interpreter\._patch_lang_core"):
        Emulator().__enter__()
    monkeypatch.undo()
    with Emulator():
        pass


def test_without_the_interpreter_it_says_what_to_set(monkeypatch):
    monkeypatch.setattr(tl, "sum", tl.sum.fn)
    with pytest.raises(RuntimeError, match="Set TRITON_INTERPRET=1 in the environment before triton is first imported"):
        Emulator().__enter__()


def test_a_triton_imported_before_the_grader_is_told_at_import(monkeypatch):
    """Where it waits for the first call, an answer is called wrong that never ran, one of PyTorch alone, too."""
    choose_interpreter()
    monkeypatch.setattr(tl, "sum", tl.sum.fn)
    with pytest.raises(ImportError, match=r"triton was imported before graded_kernels\.autograder"):
        choose_interpreter()
