"""The arguments of a call: copies that an answer may do anything to, and what it did to them."""

from collections.abc import Callable

import torch

from .contract import Contract
from .huge_strides import duplicate, is_apart
from .tree import Args, Tree

_DTYPES = {float: torch.float64, int: torch.int64, bool: torch.bool}  # of Python's numbers


def in_tensors(result: object) -> object:
    """Returns what an answer returned, with tensors for Python's numbers."""
    if not isinstance(result, tuple | list):
        return torch.tensor(result, dtype=_DTYPES[type(result)]) if type(result) in _DTYPES else result
    return tuple(map(in_tensors, result))


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the CPU that nothing else holds."""
    return tensor.detach().cpu().clone()


class Given:
    """The arguments of one call: what came in, the copies that an answer is handed, and what it leaves in them.

    put: makes a copy of a tensor; gives the tensor itself where it is the answer's own already, as in a worker, whose
    parent sees what became of it.
    handed: what the answer is called with. copies: the tensors of it by name.
    """

    def __init__(self, contract: Contract, args: Args, put: Callable[[str, torch.Tensor], torch.Tensor]):
        self._parameters, self._writes = contract.parameters, contract.written(args)
        self._tensors = Tree(args).named(contract.parameters)
        copies = [put(name, a) for name, a in self._tensors.items()]
        self.copies = dict(zip(self._tensors, map(copies.__getitem__, Tree(args).firsts), strict=True))
        rest = iter(self.copies.values())
        self.handed = Tree(args).map(lambda tensor: next(rest))
        # An answer may have its tensor stand for other memory (`param.data = ...`); what was given is what it writes.
        self._after = self.copies | {name: self.copies[name].detach() for name in self._writes}
        self._copied = [name for name, a in self._tensors.items() if self.copies[name] is not a]
        self._held = self._lists()
        self._places = {name: _place(copy) for name, copy in self.copies.items()}

    @property
    def of_lists(self) -> dict[int, str]:
        """The names of the tensors in lists, by the address of their memory: a kernel has one parameter for all."""
        inside = ((name, t) for name, t in self.copies.items() if name.endswith("]") and t.numel())
        return {t.untyped_storage().data_ptr(): name for name, t in inside}

    def written(self) -> Args:
        """The results that lie in the arguments: copies, but where the memory of the answer's process is limited."""
        results = tuple(self._after[name] for name in self._writes)
        return Tree(results).map(apart) if self._copied else results

    def mutated(self) -> tuple[str, ...]:
        """The copies that do not hold what was given; of those that are written, between their elements."""
        return tuple(name for name in self._copied if not self._left_alone(name))

    def _left_alone(self, name: str) -> bool:
        before, after = self._tensors[name], self._after[name]
        return unchanged(duplicate(before).copy_(after) if name in self._writes else before, after)

    def relisted(self) -> tuple[str, ...]:
        """The lists that do not hold the tensors that were in them."""
        return tuple(name for name, held in self._lists().items() if held != self._held[name])

    def reshaped(self) -> tuple[str, ...]:
        """The tensors that have another shape or other memory than when they were handed over."""
        return tuple(name for name, copy in self.copies.items() if _place(copy) != self._places[name])

    def _lists(self) -> dict[str, list[int]]:
        """The lists by name, each as the identities of its tensors."""
        named = zip(self._parameters, self.handed, strict=False)
        return {name: [*map(id, value)] for name, value in named if isinstance(value, list)}

    def aliased(self, returned: Args) -> tuple[str, ...]:
        """The names of those whose memory something that was returned shares."""
        return tuple(n for n, m in self._after.items() if any(shares_memory(m, o) for o in returned))


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    """Where its elements lie."""
    memory = tensor.untyped_storage().data_ptr() if tensor.numel() else 0
    return tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, memory


def unchanged(original: torch.Tensor, copy: torch.Tensor) -> bool:
    """Returns whether a copy still holds the bits of its original, in all of its memory, gaps included but for those
    that cannot be written.
    """
    if is_apart(copy.shape, copy.stride()):
        return _bytes(original.contiguous()).equal(_bytes(copy.cpu().contiguous()))
    return _bytes(original).equal(_bytes(copy).cpu())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def shares_memory(tensor: torch.Tensor, other: object) -> bool:
    """Returns whether both are tensors in the same memory."""
    if not isinstance(other, torch.Tensor) or not other.numel():
        return False
    return tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
