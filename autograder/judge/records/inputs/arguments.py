"""The arguments of a case by name: drawn in the order in which they are written, handed over in that of the signature.

A parameter that a case leaves out is computed where the forward pass saves it, or else left at its default. An argument
of the forward pass may be drawn although the function does not take it: what was saved is computed from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Generator

from ....runner import Args, Tree
from ..record import Exercise, Named, RecordError
from .values import Drawing, Values

Change = Callable[..., object]  # of the arguments that its parameters name, in place; generator is the generator


@dataclass(frozen=True)
class JointStep:
    """Holds a step that returns several arguments at once. function: takes the generator and those of ``names`` that
    were drawn before, as they are handed over, and returns a value for each of the names.
    """

    names: tuple[str, ...]
    function: Callable[..., Args]

    def take(self, drawing: Drawing) -> None:
        """Draws the arguments, which lie in memory as they were returned."""
        before = [drawing.laid_out(name) for name in self.names if name in drawing.numbers]
        values = self.function(drawing.generator, *before)
        drawing.numbers.update(zip(self.names, values, strict=True))
        drawing.layouts.update(dict.fromkeys(self.names, ()))


@dataclass(frozen=True, eq=False)
class Arguments(Named):
    """Arguments to be drawn. Called with a generator, as `Case.inputs` is, it returns them in order.

    steps: a name with what it is, `Values`, a list of them, or the argument itself; a `Change` of what was drawn
        before; or a `JointStep`.
    place: file, line and name of the case, for messages.
    exercise: that whose signature they are for.
    """

    steps: tuple[tuple[str, Any] | JointStep | Change, ...] = ()
    place: str = ""
    exercise: Exercise | None = field(default=None, repr=False)

    @classmethod
    def named(cls, **given: Any) -> "Arguments":
        """These arguments, drawn in this order."""
        return cls().but(**given)

    def but(self, **more: Any) -> "Arguments":
        """The same arguments, and then these: new ones, or `draw.same` with what becomes of it."""
        return replace(self, steps=(*self.steps, *more.items()))

    def each(self, values: Values, *names: str) -> "Arguments":
        """The same arguments, those of ``names`` altered alike: ``each(draw.same.transposed(), "x", "mask")``."""
        return self.but(**dict.fromkeys(names, values))

    def change(self, change: Change) -> "Arguments":
        """The same arguments, then changed together: ``change`` takes those that its parameters name."""
        return replace(self, steps=(*self.steps, change))

    def together(self, function: Callable[..., Args], *names: str) -> "Arguments":
        """The same arguments, those of ``names`` drawn or changed together, where what becomes of one follows from
        another: ``function(generator, ...)`` takes those that were drawn before, and returns a value for each name.
        """
        return replace(self, steps=(*self.steps, JointStep(names, function)))

    @property
    def names(self) -> list[str]:
        """Those that are drawn, each once, in order."""
        names = [step.names if isinstance(step, JointStep) else step[:1] for step in self.steps if not callable(step)]
        return list(dict.fromkeys(name for of_step in names for name in of_step))

    def bound(self, exercise: Exercise) -> "Arguments":
        """The arguments for this signature. Raises RecordError where they do not fit it."""
        forward = exercise.forward
        saved = [output.name for output in forward.outputs] if forward else []
        known = (*exercise.parameters, *(forward.parameters if forward else ()))
        for name in self.names:
            if name not in known:
                takes = ", ".join(exercise.parameters)
                raise RecordError(f"{self.place}{exercise.name} has no parameter {name}; it takes {takes}")
        for name, parameter in exercise.oracle_signature.parameters.items():
            if parameter.default is parameter.empty and name not in (*self.names, *saved):
                raise RecordError(f"{self.place}{name} is missing: {exercise.name} has no default for it")
        return replace(self, exercise=exercise)

    def __call__(self, generator: Generator) -> Args:
        """The arguments in the order of the signature, up to the last one that is not left at its default; or all as
        they are written, where no exercise has them. Raises RecordError.
        """
        return self._drawn(Drawing(generator, self.exercise.forward if self.exercise else None))

    def strictly(self, generator: Generator) -> Args:
        """The same; raises RecordError also where a change leaves every number as it was."""
        return self._drawn(Drawing(generator, self.exercise.forward if self.exercise else None, strict=True))

    def _drawn(self, drawing: Drawing) -> Args:
        for step in self.steps:
            if isinstance(step, JointStep):
                step.take(drawing)
                continue
            what = step[0] if isinstance(step, tuple) else f"the change {step.__name__}"
            try:
                _take(step, drawing)
            except Exception as error:
                kind = "" if isinstance(error, RecordError) else f"{type(error).__name__}: "
                raise RecordError(f"{self.place}{what}: {kind}{error}") from error
        return self._in_order(self.exercise, drawing) if self.exercise else tuple(map(drawing.laid_out, self.names))

    def _in_order(self, exercise: Exercise, drawing: Drawing) -> Args:
        parameters = exercise.oracle_signature.parameters
        drawn = [n for n, p in parameters.items() if p.default is p.empty or n in drawing.numbers]
        last = max((list(parameters).index(name) for name in drawn), default=-1)
        handed = list(parameters.items())[: last + 1]
        return tuple(drawing.laid_out(name) if name in drawn else p.default for name, p in handed)


def _take(step: tuple[str, Any] | Change, drawing: Drawing) -> None:
    """One step of a draw."""
    if isinstance(step, tuple):
        _draw(*step, drawing)
        return
    values = drawing.among(step)
    drawing.changed(lambda: step(*values.values()), *Tree(tuple(values.values())).tensors)


def _draw(name: str, value: Any, drawing: Drawing) -> None:
    """The argument ``name``: values, a list of them, or what is no tensor."""
    if isinstance(value, Values):
        value.draw_into(drawing, name)
    elif isinstance(value, list):
        parts = [f"{name}[{number}]" for number in range(len(value))]
        for part, part_value in zip(parts, value, strict=True):
            _draw(part, part_value, drawing)
        drawing.numbers[name] = [drawing.laid_out(part) for part in parts]
    else:
        drawing.numbers[name] = value
