"""Callees: a function, a module with its parameters, an autograd function, a pair of forward and backward."""

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from .contract import CallForm
from .nesting import Nesting
from .tree import Args, Tree

Pair = tuple[Callable[..., Any], Callable[..., Any]]


class CompareError(ValueError):
    """A reference, a candidate or arguments that cannot be compared: one sentence, with what to change."""


class CandidateError(CompareError):
    """The candidate is the reason: it does not load, or takes other arguments than the reference."""


class NotAttached(RuntimeError):
    """No result has a gradient."""


@dataclass(frozen=True)
class Callee:
    """function: of the arguments, then of the values of ``parameters`` in order. backward: of the upstream gradients,
    then of the same; None where autograd differentiates the function. modules: those that it consists of.
    """

    function: Callable[..., Any]
    name: str
    signature: inspect.Signature | None = None
    parameters: dict[str, Tensor] = field(default_factory=dict)
    backward: Callable[..., Any] | None = None
    modules: tuple[nn.Module, ...] = ()

    def argument_names(self, count: int) -> tuple[str, ...]:
        """Names of ``count`` arguments, from the signature where it has enough, and of the parameters after them."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        known = [n for n, p in self.signature.parameters.items() if p.kind in kinds] if self.signature else []
        plain = ["x"] if count == 1 else [f"x{i}" for i in range(count)]
        names = known[:count] if len(known) >= count else plain
        return (*names, *(name.replace(".", "_") for name in self.parameters))

    def results(self, args: Args) -> tuple[Tensor, ...]:
        """All tensors that a call returns, in order. Raises CompareError where it returns none."""
        return _flat(self.function(*args), self.name)

    def results_and_gradients(self, args: Args, upstream: Args, twice: bool = False) -> tuple[Tensor, ...]:
        """The results, then the gradient of each tensor among ``args`` that has one: 0 where nothing depends on it.

        upstream: the gradient of each such result. twice: whether autograd goes through the graph a second time, whose
        gradients are returned; the only ones where it refuses. Raises NotAttached where no result has one.
        """
        if self.backward is not None:
            return self.results(args) + _flat(self.backward(*upstream, *args), "backward")
        args = Tree(args).map(_leaf)
        leaves = Tree(args).differentiable
        with torch.enable_grad():
            results = self.results(args)
        floating = Tree(results).differentiable
        attached = [(r, u) for r, u in zip(floating, upstream, strict=True) if r.requires_grad]
        if not attached:
            raise NotAttached(f"the result of {self.name} is not attached to the graph")
        outputs, above = zip(*attached, strict=True)
        first = None
        if twice:
            with contextlib.suppress(Exception):  # torch.compile's backward refuses to keep its graph
                first = torch.autograd.grad(outputs, leaves, above, retain_graph=True, allow_unused=True)
        try:
            last = torch.autograd.grad(outputs, leaves, above, allow_unused=True)
        except Exception:
            if first is None:
                raise
            last = first
        gradients = (torch.zeros_like(x) if g is None else g.clone() for x, g in zip(leaves, last, strict=True))
        return tuple(r.detach() for r in results) + tuple(gradients)

    @classmethod
    def of(cls, given: Any, what: str, form: CallForm | None = None) -> "Callee":
        """``given`` as something to call. what: "reference" or "candidate". form: how it is called. Raises
        CompareError.
        """
        callee = _callee_of(given, what)
        return callee if form is None or form.nesting.plain else _of_leaves(callee, form.nesting, form.inputs)

    @staticmethod
    def made(given: Any, initial: Args, seed: int) -> Any:
        """The module, where ``given`` is a class of modules. Raises CompareError where it cannot be made."""
        if not (isinstance(given, type) and issubclass(given, nn.Module)):
            return given
        torch.manual_seed(seed)
        try:
            return given(*initial)
        except Exception as error:
            raise CompareError(f"{given.__name__} cannot be made: {type(error).__name__}: {error}") from None

    def matched(self, parameters: dict[str, tuple[int, ...]], inputs: int) -> "Callee":
        """The same as a function of this many inputs and the values of parameters of these names and shapes, in order.
        Its own may have other names, if their shapes in order are the same. Raises CompareError where it takes others.
        """
        shapes = {name: tuple(value.shape) for name, value in self.parameters.items()}
        if shapes != parameters and [*shapes.values()] != [*parameters.values()]:
            names = ", ".join(
                sorted(n for n in shapes.keys() | parameters.keys() if shapes.get(n) != parameters.get(n))[:3]
            )
            raise CompareError(
                f"reference and candidate have different parameters ({names}): give them the same names and shapes, so "
                "that both compute with the same values"
            )
        places = [[*parameters].index(name) for name in shapes] if shapes == parameters else [*range(len(shapes))]

        def call(*args: Any) -> Any:
            values = args[inputs:]
            return self.function(*args[:inputs], *(values[place] for place in places))

        if self.signature is not None and self.backward is None:
            try:
                self.signature.bind(*range(inputs))
            except TypeError as error:
                raise CompareError(
                    f"the candidate {self.name} does not take the {inputs} arguments of the example: {error}"
                ) from None
        return replace(self, function=call) if places != [*range(len(shapes))] else self

    def attached(self, args: Args) -> bool:
        """Returns whether a result depends on the arguments for autograd; not where it cannot be computed so, and not
        where an operator on the way has no derivative, as most custom operators.
        """
        if self.backward is not None:
            return True
        args = Tree(args).map(_leaf)
        with contextlib.suppress(Exception), torch.enable_grad():
            results = [result for result in self.results(args) if result.requires_grad]
            return bool(results) and not _without_derivative(results, args)
        return False

    def in_form(self, form: CallForm, twice: bool = False) -> Callable[..., Any]:
        """Returns what a runner calls for this form: `call`, or what says whether a result is attached to the graph."""
        return (lambda *args: torch.tensor(self.attached(args))) if form.asked else self.call(form.above, twice)

    def call(self, above: int, twice: bool = False) -> Callable[..., Any]:
        """Returns what a runner calls: returns the results, and where there are ``above`` upstream gradients those of
        the arguments. twice: as `results_and_gradients` has it.
        """

        def made(*args: Any) -> Any:
            if above:
                return self.results_and_gradients(args[:-above], args[-above:], twice)
            return self.results(args) or None

        made.__name__ = self.name
        return made


def _callee_of(given: Any, what: str) -> Callee:
    if isinstance(given, tuple) and len(given) == 2 and all(map(callable, given)):
        forward, backward = given
        return Callee(forward, _name(forward, what), _signature(forward), backward=backward)
    if isinstance(given, nn.Module):
        return _of_module(given, what)
    if isinstance(given, type) and issubclass(given, nn.Module):
        raise CompareError(
            f"the {what} is a class of modules: name an instance, as in {given.__name__.lower()} = {given.__name__}()"
        )
    if isinstance(given, type) and issubclass(given, torch.autograd.Function):
        return Callee(given.apply, given.__name__)
    if not callable(given):
        kinds = "a function, a module, an autograd.Function or a pair (forward, backward)"
        raise CompareError(f"the {what} should be {kinds}, not {type(given).__name__}")
    return Callee(given, _name(given, what), _signature(given))


def _of_leaves(callee: Callee, nesting: Nesting, inputs: int) -> Callee:
    """The callee as a function of ``inputs`` by place, of which its arguments are put together. Raises CompareError
    where it takes no such.
    """
    try:
        signature = nesting.signature(callee.signature)
    except TypeError as error:
        raise CompareError(f"{callee.name} does not take the example's arguments: {error}") from None

    def call(*args: Any, **more: Any) -> Any:
        places, by_name = nesting.built(args[:inputs])
        result = callee.function(*places, *args[inputs:], **by_name, **more)
        if changed := nesting.changed(places, by_name, args[:inputs]):
            raise CompareError(
                f"{callee.name} puts something else into {changed}, which is not seen afterwards: write into the "
                "tensors that are there, or return what is new"
            )
        return result

    def backward(*args: Any) -> Any:
        assert callee.backward is not None
        places, by_name = nesting.built(args[len(args) - inputs :])
        return callee.backward(*args[: len(args) - inputs], *places, **by_name)

    return replace(callee, function=call, signature=signature, backward=callee.backward and backward)


def callee_in_form(given: Any, form: CallForm) -> Callee:
    """``given``, whatever it is, as what takes all arguments that the form names; a class of modules is made. Raises
    CompareError.
    """
    candidate = Callee.made(given, form.initial, form.seed)
    callee = Callee.of(candidate, "candidate", form)
    return callee.matched(dict(form.parameters), form.inputs)


def _without_derivative(results: list[Tensor], args: Args) -> bool:
    leaves = Tree(args).differentiable
    try:
        torch.autograd.grad(results, leaves, [torch.ones_like(r) for r in results], allow_unused=True)
    except Exception as error:  # any other is the candidate's own, and judged
        return any(words in str(error) for words in ("no autograd formula was registered", "derivative for aten"))
    return False


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_() if Tree.has_gradient(tensor) else tensor


def _of_module(module: nn.Module, what: str) -> Callee:
    values = dict(module.named_parameters()) | dict(module.named_buffers())
    parameters = {name: value.detach() for name, value in values.items()}

    def call(*args: Any, **by_name: Any) -> Any:
        values = args[len(args) - len(parameters) :]
        inputs = args[: len(args) - len(parameters)]
        return torch.func.functional_call(module, dict(zip(parameters, values, strict=True)), inputs, by_name)

    name = type(module).__name__ or what
    return Callee(call, name, _signature(module.forward), parameters, modules=tuple(module.modules()))


def _flat(results: object, name: str) -> tuple[Tensor, ...]:
    tensors: list[Tensor] = []

    def take(value: object) -> None:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, dict):
            take(list(value.values()))
        elif isinstance(value, tuple | list):
            for part in value:
                take(part)
        elif value is not None:
            raise CompareError(f"{name} returns {type(value).__name__} among its results: return tensors alone")

    take(results)
    return tuple(tensors)


def _name(function: Callable[..., Any], what: str) -> str:
    name = getattr(function, "__name__", what)
    return what if name == "<lambda>" else name


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # a builtin has none
        return None
