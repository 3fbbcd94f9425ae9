"""nbconvert's exporter of notebooks, for those that nobody else holds.

It makes three copies of a notebook for each pass and a fourth to write it, validates it after each step and once more,
and writes it with the slower one of Python's JSON encoders: a tenth of the time that nbgrader takes for a notebook.
"""

import json
from json.encoder import encode_basestring

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines, strip_transient
from nbformat.validator import normalize


class Exporter(NotebookExporter):
    """Uses up the notebook that it is given."""

    def from_notebook_node(self, nb, resources=None, **kwargs):
        resources = self._init_resources(resources)
        _, nb = normalize(nb)
        for preprocessor in self._preprocessors:
            nb, resources = preprocessor(nb, resources)
        self._validate_preprocessor(nb, "the last one")
        resources["output_suffix"] = ".nbconvert"
        return written(nb), resources


def written(notebook: NotebookNode) -> str:
    """As `nbformat.writes` writes it, with a newline at its end. Uses up the notebook."""
    return f"{_json(strip_transient(split_lines(notebook)))}\n"


def _json(value, margin: str = "\n") -> str:
    """`json.dumps` with sorted keys and an indent of 1, which does not use its encoder in C."""
    inner = f"{margin} "
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict) and value:
        pairs = [f"{encode_basestring(key)}: {_json(one, inner)}" for key, one in sorted(value.items())]
        return f"{{{inner}{f',{inner}'.join(pairs)}{margin}}}"
    if isinstance(value, list | tuple) and value:
        return f"[{inner}{f',{inner}'.join([_json(one, inner) for one in value])}{margin}]"
    return json.dumps(value)
