"""Says what was not tried, so that "nothing found" is not taken for more than it is. Imports no PyTorch."""

import re
from collections import Counter, defaultdict
from typing import Any

_NO_CUDA = re.compile(r"Could not run '([\w:.]+)' with arguments from the 'CUDA' backend")
_NAMED = 3  # kernels that a sentence names


class Skipped:
    """Counts the events ``{"skipped": {"what": ..., "kernel": ..., "why": ...}}`` of a `Sanitizer`.

    what: ``masked-load``, a launch that was not run again with other values in its masked-off lanes; ``configuration``,
    one of an autotuner's that was not run since another had the same meaning; ``compiler``, a form of a launch that
    Triton's compiler could not be asked about.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, what: str, kernel: str, why: str, times: int = 1) -> None:
        """Counts one more."""
        self.counts[what, kernel, why] += times

    def data(self) -> list[dict[str, Any]]:
        """The counts as JSON's values: ``what``, ``kernel``, ``why`` and ``times``."""
        return [
            {"what": what, "kernel": kernel, "why": why, "times": times}
            for (what, kernel, why), times in self.counts.items()
        ]

    def __str__(self) -> str:
        """A sentence for each reason, "" where nothing was skipped."""
        alike: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (what, kernel, why), times in self.counts.items():
            alike[what, why][kernel] += times
        return " ".join(_sentence(what, why, kernels) for (what, why), kernels in alike.items())


def _sentence(what: str, why: str, kernels: Counter[str]) -> str:
    names = ", ".join(f"`{name}`" for name, _ in kernels.most_common(_NAMED))
    names += " and others" if len(kernels) > _NAMED else ""
    total = kernels.total()
    if what == "configuration":
        return f"{total:,} configuration{'' if total == 1 else 's'} of {names} not run: {why}."
    if what == "compiler":
        return f"Not put to Triton's compiler: {names} ({why.rstrip('.')})."
    launches = f"{total:,} launch{'' if total == 1 else 'es'}"
    return f"Dependence on masked-off lanes not tried in {launches} of {names}: {why}."


def left_to_a_gpu(error: BaseException) -> str:
    """A sentence on an error of PyTorch's C++, which no simulated GPU answers, "" where it is another error."""
    match = _NO_CUDA.match(str(error)) if isinstance(error, NotImplementedError) else None
    if not match:
        return ""
    return (
        f"PyTorch's C++ asks a GPU for {match[1]}, as AOTInductor does: leave that to a GPU; torch.compile, and the "
        "same function called as it is, are judged here."
    )
