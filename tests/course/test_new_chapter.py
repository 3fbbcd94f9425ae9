"""`make chapter`: a skeleton that keeps to every rule, builds and runs."""

import shutil

import pytest
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.course import build, new_chapter, pieces
from notebook_kernel import execute


@pytest.fixture
def root(tmp_path):
    for folder in ("course/chapters", "course/images"):
        shutil.copytree(build.ROOT / folder, tmp_path / folder)
    shutil.copy(build.ROOT / "README.md", tmp_path)
    for guide in ("WORDS.md", "TEACHING.md"):
        shutil.copy(build.ROOT / "course" / guide, tmp_path / "course")
    return tmp_path


def test_a_skeleton_keeps_to_every_rule_and_changes_no_other_file(root):
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    assert new_chapter.main(["42_cold_start", "--title", "A cold start"], root) == 0
    assert not [one for one in pieces.problems(root, EXERCISES) if "42_" in one]
    written = root / "course/chapters/42_cold_start.md"
    assert written.read_text(encoding="utf-8").startswith("# A cold start\n")
    after = {path: path.read_bytes() for path in root.rglob("*.md") if path != written}
    assert after == before


@pytest.mark.exhaustive
def test_a_skeleton_runs(root, tmp_path):
    """Elsewhere than among the chapters, where its last cell shows how far one is in those of the course."""
    path = new_chapter.add("42_cold_start", "", root).rename(tmp_path / "42_cold_start.md")
    notebook = path.with_suffix(".ipynb")
    notebook.write_text(build.build(path, {}), encoding="utf-8")
    assert execute(notebook, tmp_path) == ([], [])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("softcap", "'softcap' is not a name for a chapter; write its number and topic, as in NAME=10_softcap"),
        ("", "'' is not a name for a chapter"),
        ("01_softcap", "course/chapters/01_silu.md exists and stays as it is: choose another number"),
    ],
)
def test_what_cannot_be_is_one_sentence(root, capsys, name, says):
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    assert new_chapter.main([name], root) == 2
    assert capsys.readouterr().err.startswith(says)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before
