"""Says what PyTorch's operators do to the elements of uninitialised memory: which they write, and where those go that
nobody wrote. The values say neither: a value that was written may have the very bits of the poison.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..aten import ATEN
from ..borrowed import DisableTorchDispatch, schema

_BY_MASK = frozenset({"masked_fill", "masked_scatter"})
_BY_INDEX = frozenset({"index_copy", "index_fill", "index_add", "index_reduce"})
_BY_SCATTER = frozenset({"scatter", "scatter_add", "scatter_reduce"})
_IN_PLACE = frozenset({"index_put", "_index_put_impl"})
# Operators that move elements, by which of their arguments have them; what is behind those says where they go.
_OF_ONE = frozenset("clone _to_copy contiguous repeat roll flip index index_select gather take constant_pad_nd".split())
_OF_LIST = frozenset({"cat", "stack"})
_CONVERTS = frozenset({"clone", "_to_copy", "contiguous"})  # options behind the elements say nothing of their places
COPIES = _OF_ONE | _OF_LIST | {"copy", "where"}

Flags = Callable[[torch.Tensor], torch.Tensor | None]


def written_by(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[torch.Tensor, Any]]:
    """The tensors that an operator of ATen writes in place or as ``out``, each with a function that sets its flags."""
    form = schema(func)
    space, _, name = form.name.partition("::")
    if not form.is_mutable or space != "aten" or name in ATEN.view_in_place:
        return
    arguments = {parameter.name: value for parameter, value in zip(form.arguments, args, strict=False)} | kwargs
    for argument in form.arguments:
        target = arguments.get(argument.name)
        changed = argument.alias_info is not None and argument.alias_info.is_write
        if changed and isinstance(target, torch.Tensor):
            yield target, lambda flags: _mark(flags, ATEN.base(form.name), arguments)


def _mark(flags: torch.Tensor, name: str, given: dict[str, Any]) -> None:
    with DisableTorchDispatch():
        if name in _IN_PLACE:
            torch.ops.aten.index_put_(flags, given["indices"], torch.tensor(True))
        elif name in _BY_MASK:
            flags.logical_or_(given["mask"])
        elif name in _BY_INDEX:
            flags.index_fill_(given["dim"], given["index"], True)
        elif name in _BY_SCATTER:
            flags.scatter_(given["dim"], given["index"], True)
        else:
            flags.fill_(True)


def moved(func: Any, args: tuple[Any, ...], missing: Flags) -> tuple[torch.Tensor, torch.Tensor] | None:
    """A flag for each element of what an operator of `COPIES` returns or writes, set where it is one that nobody wrote,
    and the tensor that it is from; None where it has none of them. missing: the flags of a tensor, None where there are
    none.
    """
    name = ATEN.base(schema(func).name)
    first = 1 if name in ("copy", "where") else 0
    values = [*args[0]] if name in _OF_LIST else [*args[first : 3 if name == "where" else first + 1]]
    flags = [missing(value) if isinstance(value, torch.Tensor) else None for value in values]
    source = next((value for value, flag in zip(values, flags, strict=True) if flag is not None), None)
    if source is None:
        return None
    with DisableTorchDispatch():
        places = [_none(value) if flag is None else flag for value, flag in zip(values, flags, strict=True)]
        return _placed(func, name, args, places), source


def _none(value: object) -> torch.Tensor:
    return torch.zeros(value.shape if isinstance(value, torch.Tensor) else (), dtype=torch.bool)


def _placed(func: Any, name: str, args: tuple[Any, ...], flags: list[torch.Tensor]) -> torch.Tensor:
    """The operator done to the flags."""
    placed: torch.Tensor
    if name == "copy":
        placed = flags[0].broadcast_to(args[0].shape)
    elif name in _CONVERTS:
        placed = flags[0]
    elif name == "constant_pad_nd":
        placed = func(flags[0], args[1], False)
    elif name == "where":
        placed = func(args[0], *flags)
    else:
        placed = func(flags if name in _OF_LIST else flags[0], *args[1:])
    return placed
