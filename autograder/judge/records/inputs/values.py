"""A tensor that a case draws: where its numbers come from, what is done to them, how they lie in memory."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Generator, Tensor

from ....runner import far_apart
from ..record import Exercise, RecordError
from . import views


@dataclass(frozen=True)
class Drawing:
    """One draw of a case's arguments.

    numbers: what was drawn so far, by the names of the arguments, contiguous.
    layouts: how each of them is to lie in memory.
    forward: computes of the numbers what it saved.
    strict: whether a change that touches nothing is a mistake.
    """

    generator: Generator
    forward: Exercise | None = None
    strict: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)
    layouts: dict[str, tuple["TensorLayout", ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """The argument of this name as it was drawn, or as the forward pass saved it. Raises RecordError."""
        if name not in self.numbers and self.forward and name in (output.name for output in self.forward.outputs):
            self.numbers.update(self.forward.saved({number: self.laid_out(number) for number in self.numbers}))
        if name not in self.numbers:
            raise RecordError(f"{name} is not among what was drawn before: {', '.join(self.numbers) or 'nothing'}")
        return self.numbers[name]

    def laid_out(self, name: str) -> Any:
        """The same in the memory that it is to lie in, as it is handed over."""
        value = self[name]
        for view in self.layouts.get(name, ()):
            value = each_tensor(value, view)
        return value

    def among(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that the parameters of ``function`` name, as they were drawn; and the generator."""
        names = inspect.signature(function).parameters
        return {name: self.generator if name == "generator" else self[name] for name in names}

    def changed(self, change: Callable[[], object], *tensors: Tensor) -> None:
        """Lets ``change`` alter these tensors in place. Raises RecordError where it must touch one and does not."""
        before = [tensor.clone() for tensor in tensors] if self.strict else []
        change()
        if self.strict and all(map(_alike, tensors, before)):
            raise RecordError("a change touches nothing: it leaves every number as it was drawn")


def each_tensor(value: Any, function: Callable[[Any], Any]) -> Any:
    """``function`` of a tensor, or the list of it of each in a list."""
    return [function(part) for part in value] if isinstance(value, list) else function(value)


def _alike(first: Tensor, second: Tensor) -> bool:
    return bool(((first == second) | (first != first) & (second != second)).all())


Source = Callable[[Drawing], Tensor]
Step = Callable[[Tensor, Drawing], Tensor]
TensorLayout = Callable[[Tensor], Tensor]  # of a tensor's memory


@dataclass(frozen=True, eq=False)
class Values:
    """A tensor to be drawn; as `draw.same` also a list of them, each alike. Each word returns another recipe; words of
    numbers apply in the order in which they are written, and those of the layout after all of them.

    source: draws the numbers; None for the argument as it is so far (`draw.same`).
    layout: views, one after the other; a string stands for those of the argument of this name.
    """

    source: Source | None
    steps: tuple[Step, ...] = ()
    layout: tuple[TensorLayout | str, ...] = ()

    def draw_into(self, drawing: Drawing, name: str) -> None:
        """Draws the argument ``name``. Raises RecordError."""
        numbers = self._numbers(drawing, name)
        layout = drawing.layouts.get(name, ()) if self.source is None else ()
        for view in self.layout:
            layout += drawing.layouts[view] if isinstance(view, str) else (view,)
        drawing.numbers[name], drawing.layouts[name] = numbers, layout

    def _numbers(self, drawing: Drawing, name: str) -> Any:
        numbers = drawing[name] if self.source is None else self.source(drawing)
        return each_tensor(numbers, lambda tensor: self._stepped(tensor, drawing))

    def _stepped(self, numbers: Tensor, drawing: Drawing) -> Tensor:
        for step in self.steps:
            numbers = step(numbers, drawing)
        return numbers

    def drawn(self, generator: Generator) -> Tensor:
        """A tensor of its own, not an argument among others."""
        return self._laid_out(Drawing(generator))

    def of(self, tensor: Tensor) -> Tensor:
        """Returns what becomes of this tensor: ``draw.same.transposed().of(x)``."""
        return self._laid_out(Drawing(Generator(), numbers={"x": tensor}))

    def _laid_out(self, drawing: Drawing) -> Tensor:
        self.draw_into(drawing, "x")
        tensor: Tensor = drawing.laid_out("x")
        return tensor

    def map(self, function: Callable[[Tensor], Tensor]) -> "Values":
        """Returns what ``function`` returns of the tensor."""
        return self._then(lambda x, drawing: function(x))

    def map_at_random(self, function: Callable[[Tensor, Generator], Tensor]) -> "Values":
        """Returns what ``function`` returns of the tensor, with numbers drawn from the generator."""
        return self._then(lambda x, drawing: function(x, drawing.generator))

    def scale(self, by: float) -> "Values":
        """Each number times ``by``."""
        return self.map(lambda x: x * by)

    def times(self, other: "Values") -> "Values":
        """Each number times one that is drawn after these."""
        return self._then(lambda x, drawing: x * other._numbers(drawing, ""))

    def plus(self, number: "float | Tensor | str") -> "Values":
        """Each number plus a number, a tensor that broadcasts, or the argument of this name."""
        if isinstance(number, str):
            return self._then(lambda x, drawing: drawing[number] + x)
        return self.map(lambda x: x + number)

    def clamp(self, low: float, high: float) -> "Values":
        """Each number, but at least ``low`` and at most ``high``."""
        return self.map(lambda x: x.clamp(low, high))

    def to(self, dtype: torch.dtype | str) -> "Values":
        """Rounded to ``dtype``, or to that of the argument of this name."""
        if isinstance(dtype, str):
            return self._then(lambda x, drawing: x.to(drawing[dtype].dtype))
        return self.map(lambda x: x.to(dtype))

    def change(self, change: Callable[[Tensor], object]) -> "Values":
        """Changed in place."""

        def step(x: Tensor, drawing: Drawing) -> Tensor:
            drawing.changed(lambda: change(x), x)
            return x

        return self._then(step)

    def put(self, value: float | Sequence[float], *place: Any) -> "Values":
        """``value`` at x[place], where each part of the place is an index, a list of indices or a slice."""

        def step(x: Tensor, drawing: Drawing) -> Tensor:
            if drawing.strict and not x[place].numel():
                raise RecordError(f"a change touches nothing: there is no number at {place}")
            x[place] = torch.as_tensor(value, dtype=x.dtype)
            return x

        return self._then(step)

    def view(self, view: TensorLayout) -> "Values":
        """In the memory that ``view`` gives it."""
        return replace(self, layout=(*self.layout, view))

    def transposed(self) -> "Values":
        """The last two dimensions are transposed in memory."""
        return self.view(views.transposed)

    def every_second(self) -> "Values":
        """The last dimension has a stride of 2."""
        return self.view(views.every_second)

    def with_gaps(self) -> "Values":
        """The rows are 33 longer in memory, NaN between them."""
        return self.view(views.with_gaps)

    def one_row(self) -> "Values":
        """Every index of the first dimension is the first one, at stride 0."""
        return self.view(views.one_row)

    def one_number(self) -> "Values":
        """Returns what ``.sum()`` hands back: one number for the whole shape, at stride 0."""
        return self.view(views.one_number)

    def far_apart(self) -> "Values":
        """The rows lie 2^30 elements apart."""
        return self.view(far_apart)

    def laid_out_as(self, name: str) -> "Values":
        """In memory as the argument of this name lies."""
        return replace(self, layout=(*self.layout, name))

    def _then(self, step: Step) -> "Values":
        return replace(self, steps=(*self.steps, step))
