"""Says what the first cell of an exam's notebook imports: a cell that imports the course's answers then does not run.

It is a fence, no wall: the answers are files of the package, and a cell can read files. What counts is the grader: an
answer runs there where these files are not, and one that is the text of ours is named to the teacher.
"""

import ast

from IPython.core.error import InputRejected

from ..autograder.runner.call.answer import OURS, imported
from ..autograder.words import shell

CLOSED = (f"{OURS}.kernels.", f"{OURS}.solutions.")
SHIPPED = f"{OURS}.kernels.wild."
REFUSED = "This is an exam: the course's answers are closed in this notebook. The cell was not run."


class Closed(ast.NodeTransformer):
    """Refuses a cell that imports an answer; what shipped, ``kernels.wild``, is none."""

    def visit(self, node: ast.AST) -> ast.AST:
        """The node as it is. Raises InputRejected."""
        names = imported(node)
        if isinstance(node, ast.ImportFrom):
            names = [f"{name}.{alias.name}" for name in names for alias in node.names]
        if any(map(_is_answer, names)):
            raise InputRejected(REFUSED)
        return self.generic_visit(node)


def _is_answer(module: str) -> bool:
    return f"{module}.".startswith(CLOSED) and not f"{module}.".startswith(SHIPPED)


if (notebook := shell()) and not any(isinstance(transformer, Closed) for transformer in notebook.ast_transformers):
    notebook.ast_transformers.append(Closed())
