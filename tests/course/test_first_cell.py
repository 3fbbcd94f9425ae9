"""A cell run in a kernel in which the notebook's first cell has not: a learner is told, not left with a NameError."""

import ast
import json
from pathlib import Path

import pytest
from graded_kernels.course import learner
from graded_kernels.course.first_cell import ADVICE, CONFIG, NAMES, SHIPPED, configure
from graded_kernels.course.without_triton import defined, leave_out
from notebook_kernel import SETUP, Notebook

ROOT = Path(__file__).resolve().parents[2]
MATERIAL = ROOT / "tests" / "material"
ANSWER = "@triton.jit\ndef kernel(x_ptr):\n    ..."


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A kernel with the configuration that every environment of the course gets."""
    configure(tmp_path)
    (tmp_path / "etc" / "ipython").rename(tmp_path / "profile_default")  # where IPython looks without an environment
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = Notebook()
    yield notebook
    notebook.close()


def test_an_answer_before_the_first_cell_is_told_to_run_it(notebook):
    outcome = notebook.outcome(ANSWER)
    assert "name 'triton' is not defined" in outcome
    assert ADVICE in outcome
    assert ADVICE in notebook.outcome('check("axpy", axpy)')
    assert ADVICE in notebook.outcome("wild_loss")
    assert ADVICE not in notebook.outcome("nothing_of_the_chapters")
    assert ADVICE not in notebook.outcome("wilderness")
    assert ADVICE not in notebook.outcome("def plain(): return 1\nplain()")
    assert notebook.outcome(SETUP) == ""
    assert ADVICE not in notebook.outcome("wild")


@pytest.fixture
def without_triton(tmp_path, monkeypatch):
    """Every Python that this one starts is without Triton."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.path.append({str(MATERIAL)!r}); import without_triton")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_cell_that_needs_triton_says_where_it_runs(without_triton, notebook):
    assert notebook.outcome(SETUP) == ""
    for cell in (ANSWER, "kernel[(1,)](torch.ones(1))", "triton.cdiv(7, 4)", 'check("axpy", kernel, backend="triton")'):
        assert "not run: Triton is not installed: it has packages for Linux alone." in notebook.outcome(cell)
    said = notebook.outcome('def plain(dy, x): return dy\ncheck("silu_backward", plain, backend="triton")')
    assert "not run: Triton is not installed" in said and "Traceback" not in said
    assert "not run" not in notebook.outcome("nothing_of_the_chapters")
    assert notebook.outcome("torch.ones(3) + 1") == "tensor([2., 2., 2.])"


def test_what_a_cell_binds():
    bound = "a = b, (c, d) = f(), g()\nx[0] = 1\nE: int = 2\ndef f(): h = 1\nclass G: pass\nfor i in a: pass\n"
    assert defined(bound) == {"a", "b", "c", "d", "E", "f", "G"}


def test_the_lines_that_are_left_out():
    cell = ["import torch\n", "import triton\n", "  from triton import jit\n", "import tritonclient\n", "triton"]
    kept, *commented, other, used = leave_out(cell)
    assert (kept, other, used) == ("import torch\n", "import tritonclient\n", "triton")
    assert commented[0].startswith("pass  # ") and commented[1].startswith("  pass  # ")


def test_the_names_are_those_of_the_first_cells():
    defined = set()
    for path in sorted((ROOT / "course" / "source").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        setup = "".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"])
        for node in ast.parse(setup).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                defined |= {alias.asname or alias.name for alias in node.names}
            else:
                defined |= {target.id for target in node.targets}
    assert {name for name in defined if not SHIPPED.fullmatch(name)} == NAMES


def test_condas_environment_is_configured_when_the_chapters_are_given_out(tmp_path, monkeypatch):
    """No ``setup_venv.py`` has run there. What its owner had configured stays, and a second time changes nothing."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(learner, "give", lambda *args, **options: [])
    config = tmp_path / "etc" / "ipython" / "ipython_kernel_config.py"
    assert learner.main([]) == 0
    assert config.read_text() == CONFIG
    config.write_text("c.InteractiveShell.colors = 'NoColor'\n")
    for _ in range(2):
        assert learner.main([]) == 0
        assert config.read_text() == f"c.InteractiveShell.colors = 'NoColor'\n\n{CONFIG}"


def test_an_environment_that_cannot_be_written_is_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.prefix", str(tmp_path / "file"))
    monkeypatch.setattr(learner, "give", lambda *args, **options: [])
    (tmp_path / "file").touch()
    assert learner.main([]) == 0
    assert "cells that run before the first one" in capsys.readouterr().out
