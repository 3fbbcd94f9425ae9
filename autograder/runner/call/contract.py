"""The form of an answer, without what is right: all that a runner or a worker's child is told of an exercise."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from .gradient import followed, upstream_of
from .nesting import Nesting
from .tree import Args, Tree


@dataclass(frozen=True)
class CallForm:
    """Holds how code that no exercise asked for is called: with its inputs, then with a module's parameters, then with
    gradients from above.

    inputs: how many it takes itself, put together as ``nesting`` says. parameters: name and
    shape of those whose values follow the inputs. above: the number of upstream gradients, the last arguments; 0 where
    gradients are not asked for. initial: what a class of modules is made with, and seed what PyTorch's generator is
    seeded with before. gpu: whether it sees a simulated GPU. basic: whether all operators but those of `operators` are
    closed to it. asked: whether all that is asked is if a result is attached to the graph.
    """

    inputs: int
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    above: int = 0
    initial: tuple[Any, ...] = ()
    seed: int = 0
    gpu: bool = False
    basic: bool = False
    asked: bool = False
    nesting: Nesting = field(default_factory=Nesting)

    @classmethod
    def taking(cls, args: Args, by_name: dict[str, Any]) -> "tuple[CallForm, Args]":
        """(the form of a call with these arguments, its inputs). Raises NotNested."""
        nesting, leaves = Nesting.of(args, by_name)
        return cls(len(leaves), nesting=nesting), leaves

    @classmethod
    def of(cls, data: dict[str, Any]) -> "CallForm":
        """The form that `to_dict` gave this of, after it was JSON."""
        parameters = tuple((name, tuple(shape)) for name, shape in data["parameters"])
        fields = {"initial": tuple(data["initial"]), "nesting": Nesting.from_data(data["nesting"])}
        return cls(**data | {"parameters": parameters} | fields)

    def to_dict(self) -> dict[str, Any]:
        """The form as JSON has it."""
        return vars(self) | {"nesting": self.nesting.to_data()}


@dataclass(frozen=True)
class Contract:
    """parameters: of the answer, in order. outputs: the names of what it returns, of which the first ``fewest`` may not
    be left out. writes: those of the parameters that it writes in place.
    refused: names of operators that are the answer itself. allowed: operators that a Triton answer may call besides
    allocation and views.
    gradient_of: the input whose gradient the runner takes and appends to what a PyTorch answer returned; "" for none.
    counted: whether the memory that its tensors take at once is limited; the limit itself is not here.
    witness: whether it returns an input rather than a result: it may call any operator, and return Python numbers.
    form: how it is called where any code may be the answer, which then computes as it likes; ``refused`` is closed.
    """

    upstream_of: ClassVar = staticmethod(upstream_of)  # from above, where the runner takes the gradient

    name: str
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    fewest: int
    refused: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    gradient_of: str = ""
    counted: bool = False
    witness: bool = False
    writes: tuple[str, ...] = ()
    form: CallForm | None = None

    def returned(self, result: object, args: Args = ()) -> Args:
        """Returns what an answer returned, output by output; nothing for the None of one that only writes. args: what
        it was called with: one that writes a tensor may return it as well, as PyTorch's operations in place do, and
        where that is more than the outputs, it is none of them.
        """
        if result is None and not self.outputs:
            return ()
        results = Tree.of(result).args
        if len(results) > len(self.outputs):
            arguments = dict(zip(self.parameters, args, strict=False))
            written = Tree(tuple(arguments[name] for name in self.writes if name in arguments)).tensors
            return tuple(output for output in results if not any(_is(output, tensor) for tensor in written))
        return results

    def written(self, args: Args) -> dict[str, torch.Tensor]:
        """The tensors of a call's arguments that the answer writes, by name: after it, the rest of its results."""
        arguments = dict(zip(self.parameters, args, strict=False))
        return Tree(tuple(arguments[name] for name in self.writes)).named(self.writes)

    def with_gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, and where there is ``gradient_of``, followed by that input's gradient (`gradient.followed`)."""
        if not self.gradient_of:
            return function
        return followed(function, self.parameters.index(self.gradient_of), self.outputs[0], self.gradient_of)

    def results_of(self, function: Callable[..., Any], args: Args) -> Args:
        """All results of a trusted function, which is called on copies of the arguments. Where it only writes, as
        PyTorch's ``add_`` does, it may return what it wrote.
        """
        mine = Tree(args).copied()
        returned = Tree.of(function(*mine)).args
        return (returned if self.outputs else ()) + tuple(self.written(mine).values())

    def basic(self, backend: str) -> bool:
        """Returns whether the code is a PyTorch answer of basic operators alone, which calls nothing that PyTorch
        composes of several (see `torch_files`). A Triton answer computes nothing with them, and its replay has none.
        """
        return backend == "torch" and not self.witness and self.form is None

    def sees_gpu(self, backend: str) -> bool:
        """Returns whether the code is to find a GPU where there is none: what is written for one may ask, and do
        otherwise.
        """
        return self.form.gpu if self.form else backend == "triton" and not self.witness

    def to_dict(self) -> dict[str, Any]:
        """The contract as JSON has it."""
        form = {"form": self.form and self.form.to_dict()}
        return {name: sorted(v) if isinstance(v, frozenset) else v for name, v in vars(self).items()} | form

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Contract":
        """The contract that `to_dict` made this of."""
        names = {name: tuple(data[name]) for name in ("parameters", "outputs", "writes")}
        sets = {name: frozenset(data[name]) for name in ("refused", "allowed")}
        return cls(**data | names | sets | {"form": CallForm.of(data["form"]) if data["form"] else None})


def _is(result: object, tensor: torch.Tensor) -> bool:
    """Returns whether it is this tensor, or the same view of its memory, as a replay has it."""
    if not isinstance(result, torch.Tensor) or result.shape != tensor.shape or result.stride() != tensor.stride():
        return False
    return result is tensor or result.data_ptr() == tensor.data_ptr()
