"""The learner's notebooks: an answer put back, a chapter that changed merged in, and nothing lost on the way."""

import copy

import nbformat
import pytest
from graded_kernels.autograder import cli
from graded_kernels.course import learner
from graded_kernels.course.desk import command, notebook
from graded_kernels.course.desk.merge import merge
from silu_notebook import ANSWER, MINE, SILU, cell_of, demo, first_prose, reworded, saved, sources_of, updated


@pytest.fixture(scope="module")
def released() -> str:
    return learner.release(SILU)


@pytest.fixture
def mine(released):
    """A learner's notebook: an answer, a note, a cell of theirs, and a demo that they changed."""
    notebook = nbformat.reads(released, as_version=4)
    at = cell_of(notebook, ANSWER)
    at.source = MINE
    where = notebook.cells.index(at)
    report = nbformat.v4.new_output("execute_result", {"text/plain": "silu_forward: passed"})
    notebook.cells[where + 1].outputs = [report]
    notebook.cells.insert(where + 2, nbformat.v4.new_code_cell("my_own = 1"))
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("My notes"))
    demo(notebook).source = "x = torch.tensor([-3.0])"
    return notebook


def test_an_update_renews_our_text_and_keeps_what_the_learner_did(mine, released):
    before = nbformat.reads(released, as_version=4)
    merged = merge(copy.deepcopy(mine), updated(released, reworded))
    assert (merged.renewed, merged.removed, merged.conflicts) == (1, 1, [])
    texts = sources_of(merged.notebook)
    assert texts[0] == "My notes"
    assert MINE in texts
    assert "x = torch.tensor([-3.0])" in texts
    assert texts[texts.index("my_own = 1") - 1] == 'check("silu_forward", silu_forward, backend="torch")'
    assert any(text.endswith("One more sentence.") for text in texts)
    assert first_prose(before).source not in texts
    assert len(texts) == len(before.cells) + 2
    assert cell_of(merged.notebook, f"{ANSWER}-check").outputs == cell_of(mine, f"{ANSWER}-check").outputs
    assert merged.notebook.metadata["graded_kernels"]["version"] == "0123456789ab"
    nbformat.validate(merged.notebook)


def test_an_update_of_what_the_learner_changed_too_shows_both(mine, released):
    def stub_changed(fresh):
        cell = cell_of(fresh, ANSWER)
        cell.source = cell.source.replace("YOUR CODE HERE", "YOUR CODE GOES HERE")
        cell.metadata["nbgrader"]["checksum"] = "of another stub"
        fresh.cells.remove(demo(fresh))

    merged = merge(mine, updated(released, stub_changed))
    texts = sources_of(merged.notebook)
    at = texts.index(MINE)
    assert "YOUR CODE GOES HERE" in texts[at + 1]
    assert texts[at + 1].startswith("> **Update.**")
    at = texts.index("x = torch.tensor([-3.0])")
    assert texts[at - 1].startswith("> **Update.**")
    assert len(merged.conflicts) == 2
    assert any(ANSWER in conflict for conflict in merged.conflicts)


def test_an_answer_whose_exercise_went_is_kept_as_plain_code(mine, released):
    def gone(fresh):
        fresh.cells = [c for c in fresh.cells if ANSWER not in str(c.metadata.get("nbgrader", {}).get("grade_id"))]

    merged = merge(mine, updated(released, gone))
    kept = next(cell for cell in merged.notebook.cells if cell.source == MINE)
    assert "nbgrader" not in kept.metadata
    assert "deletable" not in kept.metadata
    assert len(merged.conflicts) == 1


def test_a_locked_cell_that_was_edited_is_renewed_and_the_edit_shown(mine, released):
    setup = cell_of(mine, "setup")
    setup.source += "\nimport math"
    merged = merge(mine, updated(released, lambda fresh: None))
    texts = sources_of(merged.notebook)
    assert cell_of(merged.notebook, "setup").source in sources_of(nbformat.reads(released, as_version=4))
    assert sum("import math" in text for text in texts) == 1
    assert len(merged.conflicts) == 1


def test_an_untouched_stub_is_renewed_without_a_word(released):
    def stub_changed(fresh):
        cell = cell_of(fresh, ANSWER)
        cell.source = cell.source.replace("YOUR CODE HERE", "YOUR CODE GOES HERE")

    merged = merge(nbformat.reads(released, as_version=4), updated(released, stub_changed))
    assert "YOUR CODE GOES HERE" in cell_of(merged.notebook, ANSWER).source
    assert merged.conflicts == []


def test_cells_without_their_ids_are_known_by_their_content(mine, released):
    """As they come back from an editor that drops ids."""
    for number, cell in enumerate(mine.cells):
        cell.id = f"lost{number}"
    merged = merge(mine, updated(released, lambda fresh: None))
    assert len(merged.notebook.cells) == len(mine.cells) + 1, "only the demo that was edited is there twice"


def test_a_cell_that_the_learner_copied_stays_a_copy(mine, released):
    twin = copy.deepcopy(cell_of(mine, ANSWER))
    twin.source = "a second try"
    mine.cells.insert(mine.cells.index(cell_of(mine, ANSWER)) + 1, twin)
    merged = merge(mine, updated(released, lambda fresh: None))
    assert sources_of(merged.notebook).count("a second try") == 1
    assert MINE in sources_of(merged.notebook)
    assert len({cell.id for cell in merged.notebook.cells}) == len(merged.notebook.cells)


def run(*arguments) -> int:
    return cli.main([str(argument) for argument in arguments])


def test_update_keeps_a_backup_and_does_nothing_twice(mine, tmp_path, capsys):
    path = saved(tmp_path, mine)
    before = path.read_bytes()
    assert run("update", "01_silu", "--notebooks", tmp_path, "--dry-run") == 0
    assert path.read_bytes() == before
    assert not (tmp_path / "kept").exists()
    assert run("update", "01_silu", "--notebooks", tmp_path) == 0
    (backup,) = (tmp_path / "kept").iterdir()
    assert backup.read_bytes() == before
    assert MINE in sources_of(notebook.read(path))
    capsys.readouterr()
    assert run("update", "01_silu", "--notebooks", tmp_path) == 0
    assert capsys.readouterr().out.startswith("current")
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_update_leaves_alone_what_is_not_a_notebook(tmp_path, capsys):
    (tmp_path / SILU.name).write_text("<<<<<<< HEAD")
    assert run("update", "01_silu", "--notebooks", tmp_path) == 1
    assert "left alone" in capsys.readouterr().out
    assert (tmp_path / SILU.name).read_text() == "<<<<<<< HEAD"


def test_reset_puts_one_answer_back_and_keeps_the_old_one(mine, released, tmp_path, capsys):
    path = saved(tmp_path, mine)
    assert run("reset", "silu_forward", "--backend", "torch", "--notebooks", tmp_path) == 0
    after, stub = notebook.read(path), cell_of(nbformat.reads(released, as_version=4), ANSWER)
    assert cell_of(after, ANSWER).source == stub.source
    assert cell_of(after, f"{ANSWER}-check").outputs == []
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_text() == MINE + "\n"
    assert kept.name.startswith(ANSWER)
    assert str(kept) in capsys.readouterr().out
    others = [text for text in sources_of(mine) if text != MINE]
    assert [text for text in sources_of(after) if text != stub.source] == others
    assert run("reset", "silu_forward", "--backend", "torch", "--notebooks", tmp_path) == 0
    assert len(list((tmp_path / "kept").iterdir())) == 1, "a stub is not worth a copy"


def test_two_resets_in_one_second_keep_both_answers(mine, tmp_path):
    path = saved(tmp_path, mine)
    for text in ("first", "second", "third"):
        cells = notebook.read(path)
        cell_of(cells, ANSWER).source = text
        notebook.write(path, cells)
        assert run("reset", "silu_forward", "--backend", "torch", "--notebooks", tmp_path) == 0
    assert {p.read_text().strip() for p in (tmp_path / "kept").iterdir()} == {"first", "second", "third"}


def test_reset_brings_back_a_cell_that_was_deleted(mine, tmp_path):
    mine.cells.remove(cell_of(mine, ANSWER))
    path = saved(tmp_path, mine)
    assert run("reset", "silu_forward", "--backend", "torch", "--notebooks", tmp_path) == 0
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.read(path).cells]
    assert names.index(ANSWER) + 1 == names.index(f"{ANSWER}-check")


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["silu_forward"], "say which with --backend"),
        (["silu_foward"], "did you mean silu_forward"),
        (["axpy", "--backend", "torch"], "answered in triton, not in 'torch'"),
        (["gelu_forward", "--backend", "torch"], "`make lab` makes it"),
    ],
)
def test_a_reset_that_cannot_be_done_names_the_remedy(arguments, remedy, tmp_path, capsys):
    assert run("reset", *arguments, "--notebooks", tmp_path) == 2
    assert remedy in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_without_a_folder_of_notebooks_there_is_a_sentence(tmp_path, capsys):
    assert run("reset", "axpy", "--notebooks", tmp_path / "none") == 2
    assert "make lab" in capsys.readouterr().err


def test_the_folder_is_this_one_where_it_holds_a_chapter(mine, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "ROOT", tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    assert run("progress") == 2
    assert "--notebooks names the folder of yours" in capsys.readouterr().err
    saved(tmp_path, mine)
    assert command._usual_folder() == tmp_path
    (tmp_path / "my-notebooks").mkdir()
    assert command._usual_folder() == tmp_path / "my-notebooks"


def test_a_full_disk_leaves_the_old_notebook(mine, tmp_path, monkeypatch):
    path = saved(tmp_path, mine)
    before = path.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(notebook.os, "replace", full)
    assert run("reset", "silu_forward", "--backend", "torch", "--notebooks", tmp_path) == 2
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.glob(".*")] == []
