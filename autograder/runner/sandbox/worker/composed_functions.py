"""Says what PyTorch composes of several operators, taken from the process of an answer: functions that may not stand
between an answer and an operator.

Each is replaced where it lives, in the function itself: modules, tables, closures and decorators all hold that. What it
did is nowhere in the process of an answer, whatever its code calls itself, and whatever of the watch it switches off.
"""

import ctypes
import gc
from types import CodeType, FunctionType
from typing import Any, NoReturn

import numpy as np

from ...call.answer import OperatorRefused
from ...call.callers import COMPOSES, TORCH
from ...call.torch_files import composes


class ComposedFunctions:
    """The functions of PyTorch that compose. `close` replaces those that are there, once for all processes that are
    forked; `open` restores them, which needs what `forget` drops.
    """

    def __init__(self) -> None:
        self._functions: list[FunctionType] = []
        self._codes = 0  # the address of an array with what each was, which no search through objects finds

    def close(self) -> None:
        """Replaces all that have been imported by now, if it has not."""
        if self._codes:
            return
        gc.unfreeze()  # objects that are frozen are not looked at
        files: dict[str, bool] = {}
        functions = [function for function in gc.get_objects() if type(function) is FunctionType]
        gc.freeze()
        for function in functions:
            file = function.__code__.co_filename
            closed = files.get(file)
            if closed is None:
                closed = files[file] = file.startswith(TORCH) and composes(file[len(TORCH) :])
            if closed:
                self._functions.append(function)
        held = self._functions
        codes = np.empty(len(held), dtype=object)
        for number, function in enumerate(held):
            codes[number] = function.__code__
            function.__code__ = _refusing(function)
        self._codes = _kept(codes)

    def open(self) -> None:
        """Restores them, if they were replaced."""
        for function, code in zip(self._functions, _taken(self._codes) if self._codes else (), strict=True):
            function.__code__ = code
        self._functions, self._codes = [], 0

    def forget(self) -> None:
        """Drops what would restore them, before an answer is there to find it."""
        self._functions, self._codes = [], 0


def _refuse(name: str) -> NoReturn:
    raise OperatorRefused(COMPOSES.format(name), name.rpartition(".")[-1])


_NAME, _REFUSE = "name", "refuse"


def _template(*args: object, **kwargs: object) -> None:
    refuse: Any = "refuse"
    refuse("name")


def _refusing(function: FunctionType) -> CodeType:
    """Code for the function that refuses the call, whatever it is given."""
    values: dict[object, object] = {_NAME: f"{function.__module__}.{function.__qualname__}", _REFUSE: _refuse}
    constants = tuple(values.get(const, const) for const in _template.__code__.co_consts)
    code = function.__code__
    return _template.__code__.replace(co_consts=constants, co_name=code.co_name, co_freevars=code.co_freevars)


def _kept(codes: Any) -> int:
    """The address of an array that lasts as long as the process: the collector does not know arrays, and no object
    refers to it.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(codes))
    return id(codes)


def _taken(address: int) -> Any:
    codes = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(codes))
    return codes
