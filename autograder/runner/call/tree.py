"""The arguments or results of a call as a tree, in the sense of ``torch.utils._pytree``: a tuple, in it leaves, and
lists of leaves.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from . import elements
from .huge_strides import duplicate

# What an answer is given or returns: tensors, lists of them, numbers, names. Which ones, its exercise's signature says.
Args = tuple[Any, ...]


@dataclass(frozen=True)
class Tree:
    """args: the arguments, or results, as they are handed over."""

    TENSORS: ClassVar = 1000  # among the arguments of a call, at most

    args: Args

    @classmethod
    def of(cls, result: object) -> "Tree":
        """Returns what a function returned, as all its outputs."""
        return cls(tuple(result) if isinstance(result, tuple | list) else (result,))

    @property
    def leaves(self) -> Args:
        """All in order, what is in a list one by one."""
        return tuple(part for a in self.args for part in (a if isinstance(a, list) else (a,)))

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors of the leaves."""
        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    @property
    def differentiable(self) -> list[torch.Tensor]:
        """Those of the tensors of which a gradient says something."""
        return [*filter(self.has_gradient, self.tensors)]

    @staticmethod
    def has_gradient(tensor: torch.Tensor) -> bool:
        """Returns whether a gradient of it says something: of floating-point numbers of more than 8 bits."""
        return tensor.is_floating_point() and tensor.dtype.itemsize > 1

    @property
    def firsts(self) -> list[int]:
        """For each of the tensors the number of the first that it is: its own, but where a list holds one twice."""
        places: list[int] = []
        for a in self.args:
            seen: dict[int, int] = {}
            for tensor in Tree((a,)).tensors:
                places.append(seen.setdefault(id(tensor), len(places)))
        return places

    @property
    def any_empty(self) -> bool:
        """Returns whether a tensor has no elements, or a list no tensors."""
        return not all(t.numel() for t in self.tensors) or any(isinstance(a, list) and not a for a in self.args)

    def named(self, parameters: tuple[str, ...]) -> dict[str, torch.Tensor]:
        """The tensors by name: ``x`` for an argument, ``grads[0]`` for the first of a list."""
        named: dict[str, torch.Tensor] = {}
        for name, value in zip(parameters, self.args, strict=False):
            if isinstance(value, list):
                named |= {f"{name}[{index}]": part for index, part in enumerate(value)}
            elif isinstance(value, torch.Tensor):
                named[name] = value
        return named

    def map(self, function: Callable[[torch.Tensor], Any]) -> Args:
        """The arguments with ``function`` of each tensor in its place, in order."""

        def of(value: Any) -> Any:
            if isinstance(value, list):
                return [of(part) for part in value]
            return function(value) if isinstance(value, torch.Tensor) else value

        return tuple(map(of, self.args))

    def copied(self) -> Args:
        """The arguments with copies of the tensors: each in memory of its own, with its strides and offset; one that a
        list holds twice has one copy.
        """
        copies = [*map(duplicate, self.tensors)]
        rest = map(copies.__getitem__, self.firsts)
        return self.map(lambda tensor: next(rest))

    def changed(self, change: Callable[[torch.Tensor], torch.Tensor], which: Iterable[bool]) -> Args:
        """The arguments with ``change`` of the elements of those tensors that are meant, in the same layout.

        which: for each tensor whether it is. change: is given each element of a tensor's memory once.
        """
        meant = iter(which)
        return self.map(lambda a: elements.changed(a, change) if next(meant) else a)

    def same_bits(self, other: Args) -> bool:
        """Returns whether the tensors are those of ``other`` in dtype, shape and bits: NaN compares like any other
        pattern, and -0 is not 0. Raises ValueError where these are more or fewer.
        """
        pairs = list(zip(self.tensors, Tree(other).tensors, strict=True))
        return all(elements.same_bits(a, b) for a, b in pairs)
