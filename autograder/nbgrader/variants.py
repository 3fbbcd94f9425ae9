"""Exercises in another kind, put into the notebooks that a class is given; graded is what was released.

c.Variants.asked = {"silu_slope": 1.5, "gelu_form": "tanh", "zero_centred_weight": True, "label_smoothing": 0.1}
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Dict, Unicode

from .. import exercises
from .rebuild import RECORD, exercise_of, grade_id

if TYPE_CHECKING:  # what only reads which variant was released waits for no import of PyTorch
    from ..exercises.record import Exercise, Value, Witness

SCHEMA = 3
_END = re.compile(r"\)\s*$")  # of the call in a check cell


class VariantError(ValueError):
    """What a course's configuration asks for cannot be had; the message says what can."""


class Variants(NbGraderPreprocessor):
    """The first of ``GenerateAssignment``: text above the answers, their stubs, and the check cells."""

    asked = Dict(
        key_trait=Unicode(), help="Exercises in another kind, so that the published answer fails: parameter -> value."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        assert_known(self.asked)
        cells = []
        for cell in nb.cells:
            record = record_of(cell)
            value = self.asked.get(record.variant.parameter) if record and record.variant else None
            if record and value is not None:
                cells += _changed(cell, record, value)
            cells.append(cell)
        nb.cells = cells
        return nb, resources


def assert_known(asked: "Mapping[str, Value]") -> None:
    """Raises VariantError."""
    known = {record.variant.parameter: record.variant for record in exercises.EXERCISES.values() if record.variant}
    for parameter, value in asked.items():
        if parameter not in known:
            raise VariantError(f"c.Variants.asked: there is no {parameter!r}; there are {', '.join(sorted(known))}")
        if not known[parameter].takes(value):
            raise VariantError(f"c.Variants.asked: {parameter} is {known[parameter].values}, not {value!r}")


def record_of(cell: NotebookNode) -> "Exercise | Witness | None":
    """Of the exercise that an answer or its check is about."""
    name, _ = exercise_of(grade_id(cell).removesuffix("-check"))
    return exercises.EXERCISES.get(name) if cell.cell_type == "code" else None


def variant_of(cell: NotebookNode) -> "Value":
    """What the check cell was released with."""
    value: Value = cell.metadata.get(RECORD, {}).get("variant")
    return value


def _changed(cell: NotebookNode, record: "Exercise | Witness", value: "Value") -> list[NotebookNode]:
    """Changes an answer or its check; returns what stands above it."""
    from ..exercises.record import Exercise

    if grade_id(cell).endswith("-check"):
        cell.source = _END.sub(f", variant={value!r})", cell.source)
        cell.metadata.setdefault(RECORD, {})["variant"] = value
        return []
    assert record.variant is not None
    for old, new in record.variant.stub(value):
        cell.source = cell.source.replace(old, new)
    name = f"{grade_id(cell)}-variant"
    text = f"> **In this class.** {record.variant.asks(value)}"
    if isinstance(record, Exercise):
        text += " The course's published answer does not pass."
    above = nbformat.v4.new_markdown_cell(text, id=name)
    above.metadata["nbgrader"] = {
        "grade": False,
        "grade_id": name,
        "locked": True,
        "schema_version": SCHEMA,
        "solution": False,
        "task": False,
    }
    return [above]
