"""The limits that a teacher sets, and cells that do not end. Through nbgrader, with real notebooks."""

import json

import classroom
import pytest
from classroom import assert_success, hand_in, place, right_answers, scores, shown, with_settings
from tampered import FULL, TORCH, WITNESS, add, find

CHECK = f"{TORCH}-check"
SECONDS = 0.4  # enough for right answers, and those that do not end take all of it
COMPUTES = "until = time.process_time() + 0.3\n    while time.process_time() < until: pass"
EXHAUSTIVE = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory):
    return classroom.copied(made_course, tmp_path_factory.mktemp("limits"))


@pytest.mark.parametrize(
    ("settings", "line", "message"),
    [
        ({"seconds": SECONDS}, "while True: pass", f"The call took more than {SECONDS} s of processor time"),
        ({"total_seconds": 0.5}, f"import time; {COMPUTES}", "All calls of this answer together took more than 0.5 s"),
        ({"wall_factor": 0.4}, "__import__('time').sleep(600)", "The call did not end within 8 s by the clock"),
        ({"memory_megabytes": 300.0}, "a = torch.ones(400 << 20, dtype=torch.uint8)", "286 MiB of memory"),
    ],
)
def test_a_limit_ends_its_exercise_and_no_other(course, settings, line, message):
    (name,) = settings
    hand_in(course, f"limit_{name}", line)
    assert_success(with_settings(course, **settings).autograde("tiny", f"limit_{name}"))
    assert scores(course, f"limit_{name}") == FULL | {TORCH: 0}
    assert message in " ".join(shown(course, f"limit_{name}", CHECK).split())


ENDLESS = "while True:\n    pass"
SLEEPS = "import time\n\ntime.sleep(60)"
EXITS, FILLS = "import os\n\nos._exit(1)", "held = []\nwhile True:\n    held.append(bytearray(1 << 24))"
LOOPS = f"Loading `added-1` took more than {SECONDS} s of processor time, which is the most allowed."
WITHOUT = f"{LOOPS} This answer was checked without that cell. It begins with"


def cell_rows() -> list:
    """Every kind of cell in every place; in `make test`, each kind once and each place once."""
    kinds = {"loop": ENDLESS, "exit": EXITS, "memory": FILLS, "sleep": SLEEPS}
    quick = {("loop", WITNESS), ("exit", TORCH), ("memory", CHECK)}
    return [
        pytest.param(before, source, id=f"{kind}-{before}", marks=() if (kind, before) in quick else EXHAUSTIVE)
        for kind, source in kinds.items()
        for before in (WITNESS, TORCH, CHECK)
    ]


@pytest.mark.parametrize(("before", "source"), cell_rows())
def test_a_cell_that_does_not_end_costs_nothing_but_itself(course, before, source):
    """It is run once; after that the answers are checked without it."""
    student = f"cell_{[ENDLESS, EXITS, FILLS, SLEEPS].index(source)}_{before}"
    hand_in(course, student)
    notebook = json.loads(place(course, student).read_text())
    add(notebook, before, source)
    place(course, student).write_text(json.dumps(notebook))
    assert_success(with_settings(course, seconds=SECONDS, memory_megabytes=300.0).autograde("tiny", student))
    assert scores(course, student) == FULL
    text = " ".join(shown(course, student, CHECK).split())
    assert "This answer was checked with" in text
    assert source != ENDLESS or f"{WITHOUT} `while True:`." in text
    assert ("of that cell alone" in text) == (source != ENDLESS)
    assert ("answer was checked with" in shown(course, student, f"{WITNESS}-check")) == (before == WITNESS)


DEFINES = """
import math

import triton
import triton.language as tl

HALF, BLOCK = 1 / 2, tl.constexpr(64)


@triton.jit
def kernel(x_ptr):
    pass


def halved(number):
    return math.floor(number * 2) / 2 * HALF
"""


@pytest.mark.parametrize("first", [False, pytest.param(True, marks=EXHAUSTIVE)])
def test_the_definitions_of_a_cell_that_does_not_end_are_kept(course, first):
    """first: whether they come before what does not end."""
    student = f"cell_defines_{first}"
    hand_in(course, student, "assert halved(1.0) == HALF and BLOCK.value == 64 and kernel")
    notebook = json.loads(place(course, student).read_text())
    add(notebook, TORCH, f"{DEFINES}\n\n{ENDLESS}" if first else f"{ENDLESS}\n\n{DEFINES}")
    place(course, student).write_text(json.dumps(notebook))
    assert_success(with_settings(course, seconds=SECONDS).autograde("tiny", student))
    text = " ".join(shown(course, student, CHECK).split())
    assert f"{LOOPS} This answer was checked with the imports and definitions of that cell alone." in text
    assert scores(course, student) == FULL, text


def test_an_answer_that_needs_the_cell_is_told_which(course):
    hand_in(course, "cell_needed", "halved(1.0)")
    notebook = json.loads(place(course, "cell_needed").read_text())
    add(notebook, TORCH, f"halved = (lambda number: number / 2)\n\n\n{ENDLESS}")
    place(course, "cell_needed").write_text(json.dumps(notebook))
    result = with_settings(course, seconds=SECONDS).autograde("tiny", "cell_needed")
    assert_success(result)
    assert f"cell_needed, tiny: {LOOPS}" in result["log"]
    assert scores(course, "cell_needed") == FULL | {TORCH: 0}
    text = " ".join(shown(course, "cell_needed", CHECK).split())
    assert f"{WITHOUT} `halved = (lambda number: number / 2)`." in text
    assert "name 'halved' is not defined" in text


def test_an_answer_whose_own_cell_does_not_end_costs_its_own_points(course):
    notebook = right_answers(course)
    find(notebook, WITNESS)["source"] += f"\n\n{ENDLESS}"
    place(course, "cell_own").write_text(json.dumps(notebook))
    assert_success(with_settings(course, seconds=SECONDS).autograde("tiny", "cell_own"))
    assert scores(course, "cell_own") == FULL | {WITNESS: 0}
    assert f"`{WITNESS}` took more than {SECONDS} s" in " ".join(shown(course, "cell_own", CHECK).split())


def test_a_notebook_has_a_budget(course):
    hand_in(course, "budget", "while True: pass")
    assert_success(with_settings(course, notebook_seconds=1.0).autograde("tiny", "budget"))
    assert scores(course, "budget") == FULL | {TORCH: 0}  # what came before it is graded
    message = "All answers of this notebook together took more than 1 s of processor time"
    assert message in " ".join(shown(course, "budget", CHECK).split())


@pytest.mark.exhaustive
def test_without_the_limit_the_same_answers_are_right(course):
    hand_in(course, "limit_none", "a = torch.ones(400 << 20, dtype=torch.uint8); print('x' * 100_000, flush=True)")
    assert_success(with_settings(course, memory_megabytes=4000.0).autograde("tiny", "limit_none"))
    assert scores(course, "limit_none") == FULL
