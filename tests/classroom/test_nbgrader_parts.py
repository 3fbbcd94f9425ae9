"""Parts of grading a class that need no course: what is looked for, compared, counted and shown."""

import logging
import os
import re
from pathlib import Path

import pytest
from graded_kernels.autograder.classroom.nbgrader.notebook_code import is_published
from graded_kernels.autograder.classroom.nbgrader.other_files import digest, elsewhere
from graded_kernels.autograder.classroom.nbgrader.pages import notes_output
from graded_kernels.autograder.classroom.nbgrader.points import PerDay, lateness
from graded_kernels.autograder.classroom.nbgrader.summary import Summary, quiet
from nbgrader.api import Gradebook
from nbgrader.utils import parse_utc

ROOT = Path(__file__).parents[2]
OURS = (
    (ROOT / "solutions" / "silu.py")
    .read_text(encoding="utf-8")
    .partition("# %% silu_backward\n")[2]
    .partition("# %%")[0]
)
RELEASED = {"01_silu": {"01_silu"}, "02_gelu": {"02_gelu"}}


# The published answer


def renamed(source: str) -> str:
    """Other names, no docstring, other comments and layout."""
    code = re.sub(r'    """.*?"""\n', "\n    # my own idea\n", source, flags=re.DOTALL)
    for name, other in (
        ("v", "wide"),
        ("h", "root"),
        ("tail", "t"),
        ("other", "mirror"),
        ("slope", "d"),
        ("dy", "upstream"),
    ):
        code = re.sub(rf"\b{name}\b", other, code)
    return code


def test_our_answer_under_other_names_is_marked():
    assert renamed(OURS) != OURS
    assert "upstream * d * t" in renamed(OURS)
    assert is_published(OURS, OURS)
    assert is_published(renamed(OURS), OURS)
    assert is_published(f"%%time\n{OURS}", OURS)


@pytest.mark.parametrize("old, new", [("1500", "1400"), ("torch.exp", "torch.exp2"), ("v * other", "other * v")])
def test_another_program_is_not(old, new):
    assert old in OURS
    assert not is_published(OURS.replace(old, new), OURS)


def test_nor_a_short_answer_or_none():
    short = "def f(x):\n    y = x + 1\n    return y"
    assert not is_published(short, short)
    assert not is_published(f"{OURS}\nDEEP = {' + '.join(['1'] * 2000)}", OURS)
    assert not is_published("def silu_backward(dy, x):\n    ...", OURS)
    assert not is_published("def broken(:", OURS)
    assert not is_published(OURS, "")


# What lies in a wrong place


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("1_silu/01_silu.ipynb", None),  # no student can be told
        ("ann/1_silu/01_silu.ipynb", "ann/01_silu/01_silu.ipynb"),
        ("ann/01-SiLU/silu.ipynb", "ann/01_silu/01_silu.ipynb"),
        ("ann/01_silu (1).ipynb", "ann/01_silu/01_silu.ipynb"),
        ("01_silu/ann/01_silu-Copy1.ipynb", "ann/01_silu/01_silu.ipynb"),
        ("ann/01_silu/01_silu/01_silu.ipynb", "ann/01_silu/01_silu.ipynb"),
        ("ann/02_gelu.ipynb", ""),  # of another assignment: not the business of this run
        ("ann/01_silu/anything.ipynb", ""),  # where it belongs, under whatever name
        ("__MACOSX/ann/._01_silu.ipynb", ""),
    ],
)
def test_elsewhere(tmp_path, path, to):
    place = tmp_path / path
    place.parent.mkdir(parents=True)
    place.write_text("{}")
    found = list(elsewhere(tmp_path, RELEASED, "01_silu", "*"))
    if to == "":
        assert found == []
    elif to is None:
        assert found == [f"{place}: it is not clear which assignment this is"]
    else:
        (line,) = found
        os.system(line.removeprefix(f"{place}: "))
        assert (tmp_path / to).exists()
        assert not place.exists()
        assert list(elsewhere(tmp_path, RELEASED, "01_silu", "*")) == []


def test_elsewhere_a_checkpoint_is_no_notebook(tmp_path):
    place = tmp_path / "ann" / "01_silu" / ".ipynb_checkpoints"
    place.mkdir(parents=True)
    (place / "01_silu-checkpoint.ipynb").write_text("{}")
    line = f"{place.parent}: holds no notebook, only .ipynb_checkpoints"
    assert list(elsewhere(tmp_path, RELEASED, "01_silu", "*")) == [line]


def test_elsewhere_moves_over_nothing_and_asks_for_one_student(tmp_path):
    for path in ("ann/01_silu/01_silu.ipynb", "ann/old/01_silu.ipynb", "bob/01_silu.ipynb"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (line,) = elsewhere(tmp_path, RELEASED, "01_silu", "ann")
    assert line.endswith("is there, too, and was taken")
    assert "mv" not in line


def test_a_name_that_no_line_can_show_is_not_part_of_a_command(tmp_path):
    (tmp_path / "ann").mkdir()
    os.close(os.open(os.fsencode(tmp_path / "ann") + b"/01_silu\xff.ipynb", os.O_CREAT | os.O_WRONLY))
    (line,) = elsewhere(tmp_path, RELEASED, "01_silu", "*")
    assert line.endswith("rename it in a file manager")
    assert line.encode()
    assert "01_silu?.ipynb" in line


# Contents


def test_a_digest_sees_names_contents_and_time(tmp_path):
    def change(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return digest(tmp_path, 1)

    seen = [digest(tmp_path, 1), change("a.ipynb", b"1"), change("a.ipynb", b"2"), change("timestamp.txt", b"1")]
    (tmp_path / "a.ipynb").rename(tmp_path / "b.ipynb")
    seen += [digest(tmp_path, 1), change("b.ipynb", b"0" * 2_000_000)]
    (tmp_path / "b.ipynb").unlink()
    (tmp_path / "b.ipynb").symlink_to("nowhere")
    seen.append(digest(tmp_path, 1))
    assert len(set(seen)) == len(seen)
    assert change("helper.py", b"x") == seen[-1]


# Lateness, notes, file modes


@pytest.mark.parametrize(
    ("late", "grace", "penalty"), [(0, 0, None), (1, 0, 2.0), (86_401, 0, 4.0), (3600, 3600, None), (9e9, 0, 20.0)]
)
def test_late_points(late, grace, penalty):
    assert PerDay(share=0.1, grace_seconds=grace).late_submission_penalty("ann", 20.0, late) == penalty
    assert PerDay(grace_seconds=grace).late_submission_penalty("ann", 20.0, late) is None


@pytest.fixture(scope="module")
def due(tmp_path_factory) -> str:
    """A gradebook with one assignment that was due at 10, and one student."""
    path = f"sqlite:///{tmp_path_factory.mktemp('due')}/gradebook.db"
    with Gradebook(path) as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate="2026-01-01 10:00:00 UTC")
        gradebook.add_notebook("tiny", "tiny")
        gradebook.add_student("ann")
    return path


@pytest.mark.parametrize(
    ("handed_in", "penalty", "expected"),
    [
        ("2026-01-01 09:59:00 UTC", None, None),
        (None, None, None),
        ("2026-01-02 11:30:00 UTC", 2.1, "ann, tiny: 1.1 days late, 2.1 points taken off"),
        ("2026-01-01 11:30:00 UTC", None, "ann, tiny: 1.5 hours late, no points taken off"),
        ("2026-01-01 10:00:20 UTC", 0.0, "ann, tiny: 20 seconds late, no points taken off"),
    ],
)
def test_a_summary_says_how_late_and_what_it_cost(due, handed_in, penalty, expected):
    with Gradebook(due) as gradebook:
        gradebook.update_or_create_submission("tiny", "ann", timestamp=handed_in and parse_utc(handed_in))
        gradebook.find_submission_notebook("tiny", "tiny", "ann").late_submission_penalty = penalty
        gradebook.db.commit()
    lateness_line = lateness(due, "tiny", "ann")
    assert lateness_line == expected
    assert lateness_line is None or f"Late: 1\n  {lateness_line}" in str(Summary(late=[lateness_line]))


def test_nbgraders_own_lines_on_lateness_are_left_to_the_summary():
    log, seen = logging.getLogger("lateness"), []
    screen = logging.StreamHandler()
    screen.emit = lambda record: seen.append(record.getMessage())
    log.addHandler(screen)
    with quiet(log):
        for message in ("SubmittedAssignment<tiny for ann> is 9.0 seconds late", "Late submission penalty: 2.1", "odd"):
            log.warning(message)
    assert seen == ["odd"]


def test_notes_show_code_as_code_and_nothing_as_html():
    rich = notes_output(["The cell `a<b>` is missing."]).data["text/html"]
    assert rich == "<ul><li>The cell <code>a&lt;b&gt;</code> is missing.</li></ul>"
