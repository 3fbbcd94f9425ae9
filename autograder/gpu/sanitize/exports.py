"""Results that leave PyTorch, as NumPy arrays, lists and text: what a kernel never wrote is noticed when it is read.

What makes an array of several, or reaches for NumPy's asarray and array under names of its own, is not looked at.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import torch

from ..borrowed import TensorBase
from ..emulator import Observed, poison
from .sanitizer import Sanitizer
from .uninitialised import say_unwritten, watched_address


class Export(np.ndarray[Any, Any]):
    """The array of a tensor with elements that were never written. What is computed of the others is an ordinary one.

    pattern: the bits of such an element; None in an array of another type. tell: says that one was read.
    """

    pattern: np.ndarray | None = None
    tell: Callable[[], None]

    def __array_finalize__(self, other: Any) -> None:
        if isinstance(other, Export) and other.dtype == self.dtype:
            self.pattern, self.tell = other.pattern, other.tell

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        if "out" in named:
            named["out"] = tuple(map(_plain, named["out"]))
        return getattr(ufunc, method)(*map(_read, inputs), **{name: _plain(value) for name, value in named.items()})

    def __getitem__(self, at: Any) -> Any:
        part = super().__getitem__(at)
        return part if isinstance(part, np.ndarray) else _read(self[..., None][at])[0]

    def item(self, *at: Any) -> Any:
        """A number, which is read."""
        return _read(self).item(*at)

    def tolist(self) -> Any:
        """The numbers, all of which are read."""
        return _read(self).tolist()

    def __float__(self) -> float:
        return float(_read(self))

    def __int__(self) -> int:
        return int(_read(self))


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Export) else value


def _read(value: Any) -> Any:
    """An ordinary array of the same elements, after what was never written among them was told."""
    plain = _plain(value)
    if plain is not value and value.pattern is not None:
        if (plain.view(value.pattern.dtype) == value.pattern[0]).any():
            value.tell()
    return plain


@contextlib.contextmanager
def watched_exports(sanitizer: Sanitizer, emulator: Observed) -> Iterator[None]:
    """Has ``sanitizer`` notice what the block reads of ``tensor.numpy()``, of ``tensor.tolist()``, and of what NumPy's
    asarray and array make of a tensor; of what a trial's hook computed, also what it prints.
    """

    def numpy(tensor: torch.Tensor, *args: Any, **named: Any) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = TensorBase.numpy(tensor, *args, **named)
        pattern = poison.of_torch(tensor.dtype)
        if pattern.size > 1 or pattern.itemsize == 1 or not _missing(tensor):
            return array
        export = array.view(Export)
        export.pattern, export.tell = pattern, lambda: say_unwritten(sanitizer, emulator, "reads", "numpy", tensor)
        return export

    def tolist(tensor: torch.Tensor) -> Any:
        if _missing(tensor):
            say_unwritten(sanitizer, emulator, "reads", "tolist", tensor)
        told(tensor, "tolist")
        return cast(Any, TensorBase).tolist(tensor)

    show: Callable[..., str] = torch.Tensor.__repr__

    @functools.wraps(show)  # the simulated GPU knows it by its name
    def shown(tensor: torch.Tensor, *args: Any, **named: Any) -> str:
        told(tensor, "print")
        return str(show(tensor, *args, **named))

    def told(tensor: torch.Tensor, how: str) -> None:
        if not emulator.configuration and watched_address(tensor):
            if finding := sanitizer.trial_results.read([tensor], how):
                sanitizer.say(finding)

    def _missing(tensor: torch.Tensor) -> bool:
        address = watched_address(tensor)
        poisoned = not emulator.launching and address in emulator.poisoned
        return poisoned and emulator.unwritten(tensor) is not None

    def keeping(make: Callable[..., np.ndarray[Any, Any]]) -> Callable[..., np.ndarray[Any, Any]]:
        """NumPy's function, whose ordinary arrays would not say what they are made of."""

        @functools.wraps(make)
        def made(value: Any, *args: Any, **named: Any) -> np.ndarray[Any, Any]:
            array = make(value, *args, **named)
            source = numpy(value) if isinstance(value, torch.Tensor) else value
            if not isinstance(source, Export) or source.dtype != array.dtype:
                return array
            export = array.view(Export)
            export.pattern, export.tell = source.pattern, source.tell
            return export

        return made

    with contextlib.ExitStack() as stack:
        for owner, name, function in (
            (torch.Tensor, "numpy", numpy),
            (torch.Tensor, "tolist", tolist),
            (torch.Tensor, "__repr__", shown),
            (np, "asarray", keeping(np.asarray)),
            (np, "array", keeping(np.array)),
        ):
            stack.callback(_set, owner, name, vars(owner).get(name))
            setattr(owner, name, function)
        yield


def _set(owner: Any, name: str, value: Any) -> None:
    """Makes something the owner's own, or leaves the name to what the owner inherits from."""
    setattr(owner, name, value) if value is not None else delattr(owner, name)
