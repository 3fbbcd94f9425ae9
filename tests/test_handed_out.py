"""Chapters that were handed out: what they import is still there, and all of their cells run."""

import ast
from pathlib import Path

import pytest
from graded_kernels.autograder.exercises import find
from notebook_kernel import execute, read

HANDED_OUT = sorted((Path(__file__).parent / "handed_out").glob("*.ipynb"))
# What chapters of other releases have imported, beside what those in the folder do.
IMPORTS = """
from graded_kernels.autograder import EXERCISES, Emulator, Peak, Report, check, ulp_error, ulp_size
from graded_kernels.autograder.emulator import Emulator
from graded_kernels.autograder.peak import Peak
from graded_kernels.autograder.ulp import ulp_error, ulp_size
from graded_kernels.course import figures, gpt, measure, programs
from graded_kernels.kernels import attention, cross_entropy, gelu, layer_norm, rms_norm, silu, swiglu
from graded_kernels.kernels.wild import attention, cross_entropy, floats, gelu, layer_norm, linear_cross_entropy
from graded_kernels.kernels.wild import rms_norm, silu, token_mean
from graded_kernels.solutions.linear_cross_entropy import linear_cross_entropy
"""
each_notebook = pytest.mark.parametrize("path", HANDED_OUT, ids=lambda path: path.stem)


def imported(source: str) -> list[tuple[str, str]]:
    """(module, name) of what code imports from this package."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").startswith("graded_kernels.")]
    return [(node.module, alias.name) for node in ours for alias in node.names]


def cells(path: Path, grade: bool) -> list:
    """The code cells that check an answer, or all others."""
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    return [cell for cell in code if cell.metadata.get("nbgrader", {}).get("grade", False) == grade]


def test_what_chapters_have_imported_is_still_there():
    wanted = set(imported(IMPORTS)).union(
        *(imported(cell.source) for path in HANDED_OUT for cell in cells(path, False))
    )
    assert len(HANDED_OUT) == 3 and len(wanted) > 20
    for module, name in sorted(wanted):
        exec(f"from {module} import {name}", {})  # raises ImportError


@each_notebook
def test_each_check_finds_its_exercise(path):
    calls = [ast.parse(cell.source).body[-1].value for cell in cells(path, True)]
    assert len(calls) >= 3
    for call in calls:
        exercise, backend = call.args[0].value, call.keywords[0].value.value
        assert find(exercise).name == exercise == call.args[1].id and backend in find(exercise).backends


@pytest.mark.exhaustive
@each_notebook
def test_every_cell_runs_and_every_check_passes(path, tmp_path):
    reports, noise = execute(path, tmp_path)
    assert [report["exercise"] for report in reports] == [
        ast.parse(c.source).body[-1].value.args[0].value for c in cells(path, True)
    ]
    assert not [(report["exercise"], report["summary"]) for report in reports if not report["passed"]]
    assert not noise
