"""What a mistake is."""

from dataclasses import dataclass

from answers import SETUP
from graded_kernels.autograder.runner import Answer, Cell


@dataclass(frozen=True)
class Mistake:
    """A whole answer that is wrong in the way ``why`` says. case: the first that its learner reads."""

    exercise: str
    backend: str
    why: str
    case: str
    source: str

    @property
    def answer(self) -> Answer:
        return Answer(self.exercise, (SETUP, Cell(self.exercise, self.source)))


def on(exercise: str, backend: str, template: str, *rows: tuple[str, ...]) -> tuple[Mistake, ...]:
    """Rows of (why, case, what goes into the template)."""
    return tuple(Mistake(exercise, backend, why, case, template.format(*parts)) for why, case, *parts in rows)
