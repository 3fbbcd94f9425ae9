"""Custom operators that store into an argument which their schema calls unchanged: a compiler keeps the old value."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..borrowed import DisableTorchFunction, schema
from ..cuda.placement import has_storage, tensors
from ..emulator.findings import Finding, current_place
from ..emulator.observer import EndedLaunch

_OF_PYTORCH = frozenset({"aten", "prims", "prim", "c10d", "_c10d_functional", "inductor", "higher_order"})


class DeclaredMutations:
    """Holds launches within a custom operator against its schema. say: takes findings."""

    def __init__(self, say: Callable[[Finding], None]):
        self._say = say
        self._running: list[tuple[str, dict[int, str]]] = []  # operators, and their unchanged arguments by address

    @contextlib.contextmanager
    def within(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        """The block in which an operator runs."""
        form = schema(operator)
        if form.name.split("::")[0] in _OF_PYTORCH:
            yield
            return
        self._running.append((form.name, _unchanged(form, args, kwargs)))
        try:
            yield
        finally:
            self._running.pop()

    def ended(self, ended: EndedLaunch) -> None:
        """Reports what a launch has stored to against the schema of the operators that run."""
        for region in ended.footprint.space.regions if self._running else ():
            for operator, unchanged in self._running:
                if region.stored and (name := unchanged.get(region.address)):
                    self._say(_finding(ended.launch.name, region.name, operator, name))


def _unchanged(form: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, str]:
    """The arguments that a schema calls unchanged and that share no memory with others, by address of a storage."""
    given = {one.name: value for one, value in zip(form.arguments, args, strict=False)} | kwargs
    addresses: dict[bool, dict[int, str]] = {True: {}, False: {}}
    with DisableTorchFunction():
        for argument in form.arguments:
            changes = argument.alias_info is not None and argument.alias_info.is_write
            for tensor in filter(has_storage, tensors(given.get(argument.name))):
                addresses[changes][tensor.untyped_storage().data_ptr()] = argument.name
    return {address: name for address, name in addresses[False].items() if address not in addresses[True]}


def _finding(kernel: str, parameter: str, operator: str, name: str) -> Finding:
    place = current_place()
    text = (
        f"`{kernel}`, launched in {place}, stores to {parameter}, which is the argument `{name}` of the operator "
        f"`{operator}`, whose schema says that it is not changed: under torch.compile what comes after may read the "
        f'old values. Name it: `mutates_args=("{name}",)`.'
    )
    return Finding("undeclared-store", text, kernel, parameter, line=place.line, source=place.source, file=place.file)
