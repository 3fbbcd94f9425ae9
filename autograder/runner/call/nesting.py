"""Says how the arguments of a call are put together of tensors and numbers: in tuples, lists, dicts, named tuples and
dataclasses, and by name. Taken apart, each tensor is an argument of its own, which is drawn, changed and compared.

`torch.utils._pytree` does this for registered classes, and only in the process that has them: what a sandbox is told
has to be data.
"""

import inspect
import re
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from itertools import chain, count
from typing import Any, Literal

import torch

from .tree import Args

ContainerKind = Literal["leaf", "tuple", "list", "dict", "named tuple", "dataclass"]


class NotNested(ValueError):
    """Holds what holds tensors and cannot be taken apart, in a sentence."""


@dataclass(frozen=True)
class Nested:
    """keys: of a dict, or the fields of a class; parts: what lies there, in order. name: of the class, which is
    ``made``; in a process that has none such, of one with the same fields.
    """

    kind: ContainerKind = "leaf"
    keys: tuple[str | int, ...] = ()
    parts: tuple["Nested", ...] = ()
    name: str = ""
    made: type | None = field(default=None, compare=False)

    @classmethod
    def of(cls, value: Any, leaves: list[Any]) -> "Nested":
        """Returns what ``value`` is put together of, which is appended to ``leaves``. Raises NotNested."""
        keys, parts = _parts(value)
        if not any(map(_has_tensor, parts)):
            leaves.append(value)
            return cls()
        if not all(isinstance(key, str | int) for key in keys):
            raise NotNested("is a dict with keys that are no text or integer")
        nested = tuple(cls.of(part, leaves) for part in parts)
        return cls(_kind(value), keys, nested, type(value).__name__, type(value))

    def built(self, leaves: Iterator[Any]) -> Any:
        """The value again, of the next of ``leaves``."""
        if self.kind == "leaf":
            return next(leaves)
        parts = [part.built(leaves) for part in self.parts]
        if self.kind in ("tuple", "list"):
            return tuple(parts) if self.kind == "tuple" else parts
        if self.kind == "dict":
            return (self.made or dict)(zip(self.keys, parts, strict=True))
        names = [str(key) for key in self.keys]
        if self.kind == "named tuple":
            return (self.made or namedtuple(self.name, names))(*parts)
        value: Any = object.__new__(self.made or make_dataclass(self.name, names))
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(value, name, part)  # also of a frozen one
        return value

    def names(self, base: str) -> Iterator[str]:
        """Of the leaves: ``cache``, or ``cache_keys_0`` and so on."""
        if self.kind == "leaf":
            yield base
        for key, part in zip(self.keys, self.parts, strict=True):
            yield from part.names(f"{base}_{key}")

    def to_data(self) -> list[Any]:
        """As JSON has it."""
        return [self.kind, list(self.keys), [part.to_data() for part in self.parts], self.name]

    @classmethod
    def from_data(cls, data: list[Any]) -> "Nested":
        """Returns what `to_data` made this of."""
        kind, keys, parts, name = data
        return cls(kind, tuple(keys), tuple(map(cls.from_data, parts)), name)


@dataclass(frozen=True)
class Nesting:
    """The arguments of a call: those by place, then those by name. A list of tensors is one argument (`Tree`)."""

    places: tuple[Nested, ...] = ()
    by_name: tuple[tuple[str, Nested], ...] = ()

    @classmethod
    def of(cls, args: Args, by_name: dict[str, Any]) -> tuple["Nesting", Args]:
        """(how these arguments are put together, what of). Raises NotNested."""
        leaves: list[Any] = []
        places = tuple(_argument(f"argument {i}", argument, leaves) for i, argument in enumerate(args))
        named = tuple((name, _argument(f"the argument {name}", argument, leaves)) for name, argument in by_name.items())
        return cls(places, named), tuple(leaves)

    @property
    def plain(self) -> bool:
        """Returns whether each argument is given by place, and none was taken apart."""
        return not self.by_name and all(place.kind == "leaf" for place in self.places)

    def built(self, leaves: Args) -> tuple[Args, dict[str, Any]]:
        """The arguments by place, and those by name."""
        rest = iter(leaves)
        return tuple(place.built(rest) for place in self.places), {
            name: nested.built(rest) for name, nested in self.by_name
        }

    def changed(self, places: Args, by_name: dict[str, Any], leaves: Args) -> str:
        """Returns which of the arguments, `built` of these leaves, is put together of others now; "" where none is."""
        rest = iter(leaves)
        every = [
            (f"argument {i}", place, value) for i, (place, value) in enumerate(zip(self.places, places, strict=True))
        ]
        every += [(f"the argument {name}", place, by_name[name]) for name, place in self.by_name]
        for which, place, value in every:
            before = [next(rest) for _ in place.names("")]
            now: list[Any] = []
            if place.kind != "leaf" and (place != Nested.of(value, now) or [*map(id, before)] != [*map(id, now)]):
                return which
        return ""

    def signature(self, known: inspect.Signature | None) -> inspect.Signature:
        """Of a function of the leaves: named as the parameters of ``known``, whose defaults that are left out it has,
        too. Raises TypeError where that takes no such arguments.
        """
        named = dict(self.by_name)
        if known:
            known.bind(*self.places, **named)
        parameters = [*known.parameters.values()] if known else []
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        bases = [name for name in positional if name not in named][: len(self.places)]
        bases += [f"x{i}" for i in range(len(bases), len(self.places))]
        every = [*zip(bases, self.places, strict=True), *self.by_name]
        names: dict[str, None] = {}
        for name in (re.sub(r"\W", "_", name) for base, place in every for name in place.names(base)):
            names[next(n for n in chain([name], (f"{name}_{i}" for i in count(2))) if n not in names)] = None
        left = (p for p in parameters if p.default is not p.empty and p.name not in (*bases, *named, *names))
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [*(inspect.Parameter(n, plain) for n in names), *(p.replace(kind=p.KEYWORD_ONLY) for p in left)]
        )

    def to_data(self) -> list[Any]:
        """As JSON has it."""
        return [[place.to_data() for place in self.places], [[name, nested.to_data()] for name, nested in self.by_name]]

    @classmethod
    def from_data(cls, data: list[Any]) -> "Nesting":
        """Returns what `to_data` made this of."""
        places, by_name = data
        return cls(
            tuple(map(Nested.from_data, places)), tuple((name, Nested.from_data(nested)) for name, nested in by_name)
        )


def _argument(which: str, value: Any, leaves: list[Any]) -> Nested:
    if isinstance(value, list) and all(isinstance(part, torch.Tensor) for part in value):
        leaves.append(value)
        return Nested()
    try:
        return Nested.of(value, leaves)
    except NotNested as error:
        raise NotNested(f"{which} {error}") from None


def _parts(value: Any) -> tuple[tuple[str | int, ...], tuple[Any, ...]]:
    """(keys, parts) of what can be taken apart; none of anything else. Raises NotNested where that holds tensors."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value._fields), tuple(value)
    if type(value) in (tuple, list):
        return tuple(range(len(value))), tuple(value)
    if type(value) in (dict, OrderedDict):
        return tuple(value), tuple(value.values())
    if is_dataclass(value) and not isinstance(value, type):
        names = tuple(member.name for member in fields(value))
        return names, tuple(getattr(value, name) for name in names)
    inside = value if isinstance(value, dict | set | frozenset | list | tuple) else getattr(value, "__dict__", {})
    inside = inside.values() if isinstance(inside, dict) else inside
    if not isinstance(value, torch.Tensor) and any(isinstance(member, torch.Tensor) for member in inside):
        raise NotNested(
            f"of the example is a {type(value).__name__}, which holds tensors and is not taken apart: pass them as a "
            "tuple, a list, a dict, a named tuple or a dataclass, or each as an argument of its own"
        )
    return (), ()


def _has_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or any(map(_has_tensor, _parts(value)[1]))


def _kind(value: Any) -> ContainerKind:
    if isinstance(value, tuple):
        return "named tuple" if hasattr(value, "_fields") else "tuple"
    if isinstance(value, list):
        return "list"
    return "dict" if isinstance(value, dict) else "dataclass"
