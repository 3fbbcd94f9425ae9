"""Uninitialised memory in PyTorch's hands: poisoned when it is allocated, noticed when it is computed with."""

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ..aten import ATEN
from ..borrowed import DisableTorchFunction, TorchDispatchMode, schema
from ..cuda.lazy_dynamo import lazily
from ..cuda.placement import has_storage
from ..emulator import Observed
from ..emulator.findings import Finding, current_place
from ..emulator.written_elements import COPIES, moved
from .sanitizer import Sanitizer

_ATEN = "aten::"
_ONE_BYTE = 1  # the poison of a dtype so small may well be a value that was written


@lazily
class UninitialisedMemory(TorchDispatchMode):
    """Has ``emulator`` poison what `torch.empty` and its kin return. An operator that computes with elements that a
    kernel should have written and did not is a finding of ``sanitizer``. Copying them is not; the copy is watched in
    turn.
    """

    def __init__(self, sanitizer: Sanitizer, emulator: Observed):
        super().__init__()  # type: ignore[no-untyped-call]
        self.sanitizer, self.emulator, self._trials = sanitizer, emulator, sanitizer.trial_results

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets the compiler trace while the mode is active, which sees what the compiled program calls."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with DisableTorchFunction():
            return self._call(func, args, kwargs or {})

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        emulator, name = self.emulator, ATEN.base(schema(func).name)
        if emulator.launching:
            return func(*args, **kwargs)
        if name in ATEN.allocate:
            return self._allocated(func(*args, **kwargs))
        sources = [tensor for tensor in _tensors(args) if _address(tensor) in emulator.poisoned]
        computes = name in ATEN.compute
        if sources and computes:
            for tensor in sources:
                say_unwritten(self.sanitizer, emulator, "computes with", name, tensor)
        if computes and not emulator.configuration and (findings := self._trials.read(_tensors(args), name)):
            self.sanitizer.say(findings)
        in_place = schema(func).is_mutable
        copied = moved(func, args, self._missing) if sources and name in COPIES else None
        with self.sanitizer.declared.within(func, args, kwargs):
            result = func(*args, **kwargs)
        if computes and emulator.configuration:
            self._trials.computed(_tensors(args), _tensors([result]))
        self.sanitizer.computed |= in_place or computes or name in COPIES
        if in_place:
            self._wrote(func, args, kwargs)
        if copied:
            self._copied(args[0] if in_place else result, *copied)
        return result

    def _wrote(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.emulator.note_written(func, args, kwargs)
        for target in _tensors((*args[:1], kwargs.get("out"))):
            if self.sanitizer.trials:
                self.sanitizer.trials.forget(_address(target))
        if args and isinstance(args[0], torch.Tensor) and _plain(args[0]) and not schema(func).name.startswith(_ATEN):
            if args[0].element_size() == _ONE_BYTE:  # what somebody's operator writes is not known
                self.emulator.mark_initialised(_address(args[0]))

    def _missing(self, tensor: torch.Tensor) -> torch.Tensor | None:
        return self.emulator.missing(tensor) if _plain(tensor) else None

    def _allocated(self, result: torch.Tensor) -> torch.Tensor:
        if _plain(result):
            self.emulator.poison_(result)
            self.sanitizer.forgotten(_address(result))
            weakref.finalize(result.untyped_storage(), self.emulator.mark_initialised, _address(result))
        return result

    def _copied(self, target: object, missing: torch.Tensor, source: torch.Tensor) -> None:
        if isinstance(target, torch.Tensor) and _plain(target) and _address(source) != _address(target):
            self.emulator.mark_copied(target, missing, source.dtype)
            self.sanitizer.copied(target, source)


def say_unwritten(sanitizer: Sanitizer, emulator: Observed, verb: str, operator: str, tensor: torch.Tensor) -> None:
    """Has ``sanitizer`` say what a kernel never wrote of a tensor. verb: what ``operator`` does with it."""
    address = _address(tensor)
    kernel, name = sanitizer.users.get(address, ("", ""))
    if not kernel:
        return  # it was never given to a kernel
    whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
    missing = emulator.unwritten(tensor, f"`{name}`" if whole else f"this part of `{name}`")
    if missing:
        offset, what = missing.offset, f"{missing.message[0].upper()}{missing.message[1:]}"
    elif whole and sanitizer.trials:
        offset, what = sanitizer.trials.lacking(address, name, tensor.numel())
    else:
        offset, what = 0, ""
    if what:
        place = current_place()
        text = f"`{operator}`, {place}, {verb} a result of `{kernel}`. {what}"
        sanitizer.say(Finding("unwritten", text, kernel, name, offset, None, place.line, place.source, place.file))
    if missing or whole:
        emulator.mark_initialised(address)


def watched_address(tensor: torch.Tensor) -> int:
    """The address of a tensor's storage, 0 where it is not looked at."""
    return _address(tensor) if _plain(tensor) else 0


def _plain(tensor: torch.Tensor) -> bool:
    """Returns whether the tensor is a dense one in this machine's memory."""
    return has_storage(tensor) and not tensor.is_quantized


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _tensors(values: Iterable[object]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            if _plain(value):
                yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
