"""Asks whether a position's result depends on what comes behind it: sequences with one past and other futures."""

from collections.abc import Iterator

from torch import Tensor

from .called_function import CallFailed, NamedHistories
from .order_of_sums import parting_lines
from .past import Causality, PastChange, of_elements, past_change, turned
from .time_axis import Future, TimeAxis, cuts

GRADIENTS = 2  # sequences whose gradients are compared, each with the example's
HISTORIES = 2  # sequences in which histories are compared


class CausalityQuestion:
    """The sequences that are compared with the example, and what comes of it. results: those of the example."""

    def __init__(self, axis: TimeAxis, results: dict[str, Tensor]):
        self.axis = axis
        self.left_out: dict[str, str] = {}
        self.not_finite: dict[str, str] = {}
        self.compared: list[int] = []  # how many positions were kept
        self.gradients: tuple[str, ...] = ()
        self.whole = {name: result for name, result in results.items() if axis.has_positions(result)}
        for name, result in results.items():
            if name not in self.whole:
                shape = f"its shape {tuple(result.shape)} does not have the {axis.length} positions"
                self.left_out[name] = f"{shape} in dimension {axis.dim}"

    def answer(self, returned: tuple[Tensor, ...]) -> Causality:
        """Returns what changed. returned: the results of the example that the function returns."""
        changes = [change for future in self.axis.futures() for change in self._changes(future)]
        changes += self._of_gradients(returned)
        if not changes:
            changes = [*self._computed_otherwise()]
        reason = self._reason(changes[0]) if changes else ()
        sizes = min(self.compared, default=0), max(self.compared, default=0)
        axis = self.axis
        return Causality(
            *(axis.dim, axis.length, axis.names, tuple(changes), reason, len(self.compared), sizes),
            *(self.gradients, self.not_finite, self.left_out),
        )

    def _changes(self, future: Future) -> Iterator[PastChange]:
        """Yields the results whose past has other bits. What a number behind makes NaN or infinite is only noted."""
        try:
            results = self.axis.results(future)
        except CallFailed as error:  # who looks at numbers before computing may refuse them
            self.left_out[future.what] = f"the call raises {error}"
            return
        self.compared.append(future.kept)
        for name, whole in self.whole.items():
            here = results.get(name)
            if here is None or here.shape != whole.shape:
                self.left_out[f"{name} of {future.what}"] = "it has another shape"
                continue
            if future.behind != "other numbers":
                lost = turned(here, whole)
                if lost.narrow(self.axis.dim, 0, future.kept).any():
                    self.not_finite.setdefault(name, f"{future.behind} from position {future.kept} on")
                here = here.where(~lost, whole)
            if change := past_change(future.what, future.kept, name, self.axis.dim, here, whole):
                yield change

    def _of_gradients(self, returned: tuple[Tensor, ...]) -> Iterator[PastChange]:
        """Yields the gradients whose past has other bits."""
        kept = cuts(self.axis.length)
        for few in sorted({kept[len(kept) // 2], kept[-1 - len(kept) // 4]})[:GRADIENTS]:
            future = Future(few)
            try:
                whole, here = (self.axis.gradients(few, which, returned) for which in (None, future))
            except CallFailed as error:
                if not error.unattached:
                    self.left_out["gradients"] = f"the call raises {error}"
                return
            self.gradients = tuple(name for name, gradient in whole.items() if self.axis.has_positions(gradient))
            for name in self.gradients:
                output = f"gradient of {name}"
                if change := past_change(future.what, few, output, self.axis.dim, here[name], whole[name]):
                    yield change

    def _computed_otherwise(self) -> Iterator[PastChange]:
        """Yields the results whose past has other histories, where no bit of it differs."""
        kept, axis = cuts(self.axis.length), self.axis
        for few in sorted({kept[0], kept[-1 - len(kept) // 4]})[:HISTORIES]:
            if not (both := self._histories(Future(few))):
                return
            (results, call), (example, whole) = both
            for name in self.whole:
                other = call.history_of(results[name]) != whole.history_of(example[name])
                other = other.narrow(axis.dim, 0, few)
                if example[name].is_floating_point() and example[name].itemsize > 1 and other.any():
                    yield PastChange(Future(few).what, few, name, *of_elements(other, axis.dim))

    def _histories(self, future: Future) -> tuple[NamedHistories, NamedHistories] | None:
        """(those of another sequence, those of the example), with results; None where one of them has none."""
        part, whole = self.axis.followed(future), self.axis.whole
        if part is None or whole is None:
            return None
        for _, call in (part, whole):
            if call.one_by_one:
                kernel, why = call.one_by_one
                self.left_out["the order of sums"] = f"the programs of `{kernel}` ran one by one ({why})"
                return None
        return part, whole

    def _reason(self, change: PastChange) -> tuple[str, ...]:
        future = next((future for future in self.axis.futures() if future.what == change.called), None)
        both = self._histories(future) if future and change.output in self.whole else None
        if both is None or not self.whole[change.output].is_floating_point():
            return ()
        return parting_lines(*both, change.output, change.index, change.index, ("there", "in the example"))
