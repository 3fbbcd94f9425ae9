"""The result of one case, as data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...words import Quality
from ..records.category import Category, Flaw

CaseStatus = Literal["pass", "fail", "error", "not-run"]


@dataclass(frozen=True)
class Failure:
    """The worst element of a failing case.

    index: where it is in the output. got, expected: an int or a bool in an output of integers or booleans. ulp:
    distance from ``expected`` in ulp of the output's dtype, infinity where NaN or infinity disagree; of integers their
    difference. wrong, total: how many elements lie outside the tolerance, of how many.
    inputs: the value, at that index, of every input that has the output's shape, and the few integers of one that has a
    row for each element of the output.
    allowed: the tolerance there, in ulp. step: one ulp there. Both NaN where they are not known.
    codes: the bytes of what came out and of what is right, as it is rounded, in an output of float8.
    """

    output: str
    index: tuple[int, ...]
    got: float
    expected: float
    ulp: float
    wrong: int
    total: int
    inputs: dict[str, float]
    allowed: float = math.nan
    step: float = math.nan
    codes: tuple[int, int] | None = None


@dataclass(frozen=True)
class Curve:
    """The error in ulp over one input of an elementwise case, for the picture.

    x: float64, sorted and finite. ulp: the answer's error at each x, infinity where NaN or infinity disagree.
    wild: the error of the wild bug that resembles the answer most, over the same x. allowed: the tolerance in ulp.
    """

    parameter: str
    dtype: str
    x: np.ndarray
    ulp: np.ndarray
    wild: np.ndarray | None
    wild_name: str
    allowed: np.ndarray


@dataclass(frozen=True)
class CaseResult:
    """One case.

    status: how it came out. bonus: a distinction, not needed to pass.
    hidden: an instructor's own, of which ``inputs`` are kinds without values.
    kind: the quality that a failure shows the answer to lack; None where the answer was not judged at all.
    code, place: why it fails and where, as `sentences` has them: other cases that fail for one reason have the same.
    convention: what it rests on that is a library's choice (`record.Case`).
    category: what it is about; None where no points depend on it. flaw: how it fails, None where it does not. near: the
        share of the outputs that are right within 1 %, in whatever dtype; None where no call was made for it.
    form: what is wrong with the form of the outputs, as `scoring.FORMS` has it; their values are judged as if it were
        right. half: whether it has inputs in half precision. strided: whether one of them is not contiguous.
    suspect: of a witness, the function in which the bug is that its input is to show; "" in any other case.
    repeat: lines of Python that call the answer with the same arguments, where there is such a way.
    worst_ulp: the largest error of any floating-point element. margin: the largest share of its tolerance that an
        element takes, above 1 where it is wrong; both infinite where NaN or infinity disagree, None where nothing was
        compared.
    """

    name: str
    status: CaseStatus
    bonus: bool
    message: str
    inputs: str
    hint: str = ""
    failure: Failure | None = None
    worst_ulp: float | None = None
    margin: float | None = None
    details: str = ""
    curve: Curve | None = None
    hidden: bool = False
    kind: Quality | None = Quality.CORRECT
    code: str = ""
    place: str = ""
    convention: str = ""
    category: Category | None = None
    flaw: Flaw | None = None
    near: float | None = None
    form: str = ""
    half: bool = False
    strided: bool = False
    suspect: str = ""
    repeat: str = ""

    @property
    def fails(self) -> bool:
        """Returns whether it is a reason not to pass: no distinction is."""
        return not self.bonus and self.status in ("fail", "error")

    @property
    def passes(self) -> bool:
        """Returns whether it passed, and is no distinction."""
        return not self.bonus and self.status == "pass"

    @classmethod
    def stored(cls, case: Mapping[str, Any]) -> "CaseResult":
        """The case of a stored report (`ReportData.to_dict`), with all that its points depend on."""
        same = "name status bonus message inputs hidden near form suspect".split()
        words: dict[str, Any] = {"kind": Quality, "category": Category, "flaw": Flaw}
        fields = {name: case[name] for name in same}
        return cls(**fields, **{name: case[name] and word(case[name]) for name, word in words.items()})
