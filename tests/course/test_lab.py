"""`make lab`: what it prepares, that it does nothing twice, and the settings JupyterLab gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from graded_kernels.course import build, learner
from graded_kernels.course.desk import lab, start

QUIET = build.ROOT / "course/lab/quiet"
LEARNER = build.ROOT / "course/lab/learner"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    root = tmp_path_factory.mktemp("desk")
    (root / "state").mkdir()
    (root / "state" / "built").write_text(lab.fingerprint(build.ROOT))  # a test must not build what is committed
    assert lab.prepare(build.ROOT, root / "my-notebooks", root / "state") == 0
    return root


def test_the_learner_gets_a_start_page_and_the_chapters(desk):
    names = sorted(path.name for path in (desk / "my-notebooks").iterdir())
    assert names == sorted([start.NAME, "AGENTS.md", *(path.name for path in learner.sources(build.ROOT))])


def test_the_start_page_links_to_every_chapter_before_a_cell_has_run(desk):
    cells = nbformat.read(desk / "my-notebooks" / start.NAME, as_version=4).cells
    (table,) = [cell.source for cell in cells if cell.source.startswith(start.HEADING)]
    for path in learner.sources(build.ROOT):
        assert f"]({path.name})" in table
    assert table.count(" 0 of ") == len(learner.sources(build.ROOT))
    assert "Next: 00_floats_and_tiles" in table


def test_a_second_start_imports_nothing_slow_and_writes_nothing(desk):
    before = {path: path.read_bytes() for path in (desk / "my-notebooks").iterdir()}
    code = """
import json, pathlib, sys
from graded_kernels.course.desk import lab
desk = pathlib.Path(sys.argv[1])
status = lab.prepare(lab.ROOT, desk / "my-notebooks", desk / "state")
print(json.dumps([status, sorted({"jupytext", "nbgrader", "torch", "matplotlib"} & set(sys.modules))]))
"""
    lines = subprocess.run([sys.executable, "-c", code, str(desk)], check=True, capture_output=True, text=True).stdout
    assert json.loads(lines) == [0, []], "the only line says that nothing was to be done"
    assert {path: path.read_bytes() for path in (desk / "my-notebooks").iterdir()} == before


def test_the_start_page_shows_a_chapter_begun_and_keeps_the_learners_cells(desk):
    folder = desk / "my-notebooks"
    page = nbformat.read(folder / start.NAME, as_version=4)
    page.cells.append(nbformat.v4.new_markdown_cell("My notes"))
    table = next(cell for cell in page.cells if cell.source.startswith(start.HEADING))
    table.source = f"{start.HEADING}\n\nold"
    nbformat.write(page, folder / start.NAME)
    assert start.refresh(folder / start.NAME, learner.sources(build.ROOT))
    after = [cell.source for cell in nbformat.read(folder / start.NAME, as_version=4).cells]
    assert after[-1] == "My notes"
    assert any("| 0 of " in source for source in after)
    assert not start.refresh(folder / start.NAME, learner.sources(build.ROOT))


def test_a_changed_chapter_is_renewed_unless_the_learner_changed_it_too(desk, capsys):
    folder = desk / "my-notebooks"
    for name, mine in (("02_gelu.ipynb", []), ("03_layer_norm.ipynb", [nbformat.v4.new_markdown_cell("My notes")])):
        notebook = nbformat.read(folder / name, as_version=4)
        notebook.cells = notebook.cells[:-1] + mine
        notebook.metadata["graded_kernels"]["version"] = "of an older build"
        nbformat.write(notebook, folder / name)
    assert lab.prepare(build.ROOT, folder, desk / "state") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "_" in line]
    assert lines[0].startswith(f"renewed  {folder / '02_gelu.ipynb'}")
    assert lines[1].startswith("kept")
    assert len(lines) == 2
    assert "graded-kernels update 03_layer_norm" in lines[1]
    last = nbformat.read(folder / "02_gelu.ipynb", as_version=4).cells[-1]
    assert last.source.endswith('progress.chapter("02_gelu")')
    assert nbformat.read(folder / "03_layer_norm.ipynb", as_version=4).cells[-1].source == "My notes"


def test_a_start_page_that_is_not_a_notebook_is_left_alone(tmp_path):
    (tmp_path / start.NAME).write_text("<<<<<<< HEAD")
    assert not start.refresh(tmp_path / start.NAME, [])
    assert (tmp_path / start.NAME).read_text() == "<<<<<<< HEAD"


def test_a_changed_chapter_is_built_at_the_next_start(tmp_path):
    chapters = tmp_path / "course/chapters"
    chapters.mkdir(parents=True)
    (chapters / "01_x.md").write_text("# X")
    before = lab.fingerprint(tmp_path)
    assert lab.fingerprint(tmp_path) == before
    (chapters / "01_x.md").write_text("# X, again")
    assert lab.fingerprint(tmp_path) != before


def test_nothing_goes_to_the_home_folder(tmp_path):
    there = {"HOME": "/home/me", "JUPYTER_CONFIG_PATH": "/mine"}
    settings = lab.settings(build.ROOT, tmp_path, there)
    assert settings["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [str(LEARNER), str(QUIET), "/mine"]
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        assert settings[name].startswith(str(tmp_path))
    assert lab.settings(build.ROOT, tmp_path, {})["JUPYTER_CONFIG_PATH"].count(os.pathsep) == 1


def test_jupyterlab_has_every_setting_that_is_overridden():
    """A setting that a new JupyterLab renames would be without effect, and without a word."""
    from jupyterlab.commands import get_app_dir

    overrides = json.loads((QUIET / "labconfig/default_setting_overrides.json").read_text())
    for plugin, values in overrides.items():
        package, name = plugin.split(":")
        schema = os.path.join(get_app_dir(), "schemas", package, f"{name}.json")
        with open(schema, encoding="utf-8") as file:
            properties = json.load(file)["properties"]
        assert values.keys() <= properties.keys(), plugin


def test_extensions_hidden_from_a_learner_are_a_teachers():
    disabled = json.loads((LEARNER / "labconfig/page_config.json").read_text())["disabledExtensions"]
    share = os.path.join(sys.prefix, "share/jupyter/labextensions")
    assert all(os.path.isdir(os.path.join(share, name)) for name in disabled)
    assert "@jupyter/nbgrader" in disabled
    off = json.loads((LEARNER / "jupyter_server_config.json").read_text())["ServerApp"]["jpserver_extensions"]
    for folder in (QUIET, QUIET / "labconfig"):
        assert not any("nbgrader" in path.read_text() for path in folder.glob("*.json"))
    installed: dict[str, bool] = {}
    for path in Path(sys.prefix, "etc/jupyter/jupyter_server_config.d").glob("*.json"):
        installed |= json.loads(path.read_text())["ServerApp"]["jpserver_extensions"]
    assert off.keys() <= installed.keys()
    assert not any(off.values())


def test_help_prints_and_starts_nothing(tmp_path, capsys):
    assert lab.main(["--help"], tmp_path) == 0
    assert "make lab" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", ["lab", "teach"])
def test_a_start_says_what_it_does_before_it_imports_anything(target):
    """`make` prints at once; a module that starts JupyterLab imports in a moment and prints itself."""
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", target], cwd=build.ROOT, check=True, capture_output=True, text=True
    )
    first = next(line for line in done.stdout.splitlines() if "setup_venv" not in line and "touch" not in line)
    assert first.startswith("echo ") or "course.desk.lab" in first
