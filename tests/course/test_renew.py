"""A chapter that changed, in a copy in which the learner changed nothing: renewed unasked. Any other copy waits."""

import nbformat
import pytest
from graded_kernels.course import build, learner
from graded_kernels.course.desk import notebook, start, update
from silu_notebook import ANSWER, MINE, SILU, cell_of, demo, reworded, saved, sources_of, updated


@pytest.fixture(scope="module")
def released() -> str:
    return learner.release(SILU)


def outdated(released: str):
    """The chapter as an older build had it: a paragraph that read otherwise, and a check that was run."""
    old = updated(released, reworded)
    report = nbformat.v4.new_output("execute_result", {"text/plain": "not implemented yet"})
    cell_of(old, f"{ANSWER}-check").outputs = [report]
    return old


def test_a_chapter_in_which_nothing_was_changed_is_renewed_unasked(released, tmp_path):
    path = saved(tmp_path, outdated(released))
    before = path.read_bytes()
    (line,) = update.renew([SILU], tmp_path)
    (backup,) = (tmp_path / "kept").iterdir()
    assert line.startswith("renewed")
    assert str(backup) in line
    assert backup.read_bytes() == before
    after = notebook.read(path)
    assert sources_of(after) == sources_of(nbformat.reads(released, as_version=4))
    assert cell_of(after, f"{ANSWER}-check").outputs, "a report is of a check that did not change"
    assert update.renew([SILU], tmp_path) == []
    assert len(list((tmp_path / "kept").iterdir())) == 1


def answered(cells):
    cell_of(cells, ANSWER).source = MINE


def noted(cells):
    cells.cells.append(nbformat.v4.new_markdown_cell("My notes"))


def edited(cells):
    demo(cells).source += "  # why?"


def unlocked(cells):
    cell_of(cells, "setup").source += "\nimport math"


def of_another_chapter(cells):
    cells.metadata["graded_kernels"]["chapter"] = "02_gelu"


@pytest.mark.parametrize("change", [answered, noted, edited, unlocked, of_another_chapter])
def test_a_chapter_in_which_anything_was_changed_waits_to_be_asked(change, released, tmp_path):
    old = outdated(released)
    change(old)
    path = saved(tmp_path, old)
    before = path.read_bytes()
    assert update.renew([SILU], tmp_path) == []
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_read_or_is_not_there_is_not_renewed(tmp_path):
    assert update.renew([SILU], tmp_path) == []
    (tmp_path / SILU.name).write_text("<<<<<<< HEAD")
    assert update.renew([SILU], tmp_path) == []
    assert (tmp_path / SILU.name).read_text() == "<<<<<<< HEAD"


def test_the_table_of_the_start_page_does_not_count_as_a_change(tmp_path):
    page = build.ROOT / "course" / start.NAME
    old = nbformat.reads(learner.release(page), as_version=4)
    table = next(cell for cell in old.cells if cell.source.startswith(start.HEADING))
    table.source = f"{start.HEADING}\n\n1 of 7"
    old.metadata["graded_kernels"]["version"] = "0123456789ab"
    notebook.write(tmp_path / start.NAME, old)
    assert len(update.renew([page], tmp_path)) == 1
