"""formgrader in a real browser: the list of assignments, points for a written answer with its marking guide at hand,
reports that can be read in light and dark, and broken files shown, not crashed on.

Needs what `test_browser` needs. Pictures are left in the folder that GRADED_KERNELS_SCREENSHOTS names.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import axe
import pytest
import test_browser
from classroom import api, assert_success, copied, place, right_answers
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from tampered import TORCH, WORDS, find
from test_browser import browser, page, picture, scheme  # noqa: F401  fixtures

pytestmark = pytest.mark.release
# Of an element's text against what it stands on: WCAG 2. A canvas mixes colours as the page does.
CONTRAST = """element => {
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d');
  const light = () => {
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const around = [];
  for (let one = element; one; one = one.parentElement) around.unshift(getComputedStyle(one).backgroundColor);
  const found = [];
  for (const colours of [['#fff', ...around], [getComputedStyle(element).color]]) {
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    found.push(light());
  }
  return (Math.max(...found) + 0.05) / (Math.min(...found) + 0.05);
}"""

COLOURED = "# why not\n@torch.no_grad()\ndef f(x):\n    'A text.'\n    return x is not None and 1 in [1.5, 0x2]"
WIDE = f"$$\nx = {' + '.join(f'y_{i} ^ 2' for i in range(40))}\n$$"


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    """A graded class: right, wrong, not a notebook, and with a time of submission that is none."""
    root = copied(made_course, tmp_path_factory.mktemp("formgrader"))
    wrong = right_answers(root)
    find(wrong, TORCH)["source"] = f"{COLOURED}\n\n\ndef silu_forward(x):\n    return x * 0.5"
    wrong["cells"].append(new_markdown_cell(WIDE))
    for student, notebook in (("right", right_answers(root)), ("wrong", wrong), ("timeless", right_answers(root))):
        place(root, student).write_text(json.dumps(notebook))
    place(root, "broken").write_text('{"cells": [')
    (place(root, "timeless").parent / "timestamp.txt").write_text("the day before yesterday")
    assert_success(api(root).autograde("tiny", "*"))
    assert_success(api(root).generate_feedback("tiny", force=True))
    return root


@pytest.fixture(scope="module")
def address(course) -> str:
    """Of a server that only this machine reaches; the account's home is an empty folder."""
    home = course.parent / "home"
    home.mkdir()
    log = (course.parent / "log").open("w+")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--port=0", "--allow-root"]
    command.append("--IdentityProvider.token=")  # formgrader's own requests do not carry one
    environment = os.environ | {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    server = subprocess.Popen(command, cwd=course, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield test_browser.found_address(server, course.parent / "log")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)
        log.close()


def opened(page, address: str, path: str) -> None:  # noqa: F811
    page.goto(f"{re.match(r'http://[^/]+', address)[0]}/formgrader/{path}")


def submission(course: Path, student: str) -> str:
    """The path of the page on which a person grades."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return f"submissions/{gradebook.find_submission_notebook('tiny', 'tiny', student).id}/"


def test_the_lists_show_every_submission(page, address, course, scheme):  # noqa: F811
    opened(page, address, "manage_assignments")
    row = page.locator("tr", has_text="tiny")
    row.wait_for()
    assert "4" in row.locator(".num-submissions").inner_text()
    picture(page, f"formgrader-assignments-{scheme}")
    opened(page, address, "manage_submissions/tiny")
    for student in ("right", "wrong", "timeless", "broken"):
        page.locator("tr", has_text=student).first.wait_for()
    picture(page, f"formgrader-submissions-{scheme}")


def test_a_written_answer_gets_points_with_its_guide_at_hand(page, address, course, scheme):  # noqa: F811
    opened(page, address, submission(course, "right"))
    guide = page.locator(".text_cell", has_text="For whoever marks")
    guide.wait_for()
    page.wait_for_load_state("networkidle")  # a box works once formgrader's script has the grades
    assert "Whatever is right." in guide.inner_text()
    box, points = page.locator(f"#{WORDS}"), {"light": 2.5, "dark": 1.5}[scheme]
    box.fill(str(points))
    with page.expect_response(lambda answer: "/formgrader/api/grade/" in answer.url and answer.request.method == "PUT"):
        box.press("Tab")
    guide.scroll_into_view_if_needed()
    picture(page, f"formgrader-points-{scheme}")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert gradebook.find_grade(WORDS, "tiny", "tiny", "right").manual_score == points


def test_a_report_can_be_read(page, address, course, scheme):  # noqa: F811
    opened(page, address, submission(course, "wrong"))
    report = page.locator(".graded-kernels.fail").first
    report.wait_for()
    report.scroll_into_view_if_needed()
    picture(page, f"formgrader-report-{scheme}")
    assert "ordinary values" in report.inner_text()
    assert report.locator("summary").first.evaluate("one => getComputedStyle(one).display") == "list-item"
    texts = report.locator(":scope, :scope *").filter(has_text=re.compile(r"\w")).all()
    least = min(one.evaluate(CONTRAST) for one in texts if one.is_visible() and one.evaluate("e => !e.closest('svg')"))
    assert least >= 4.5  # WCAG AA


def test_what_is_broken_is_shown(page, address, course, scheme):  # noqa: F811
    opened(page, address, submission(course, "broken"))
    page.get_by_text("is not a notebook").first.wait_for()
    picture(page, f"formgrader-broken-{scheme}")
    opened(page, address, submission(course, "timeless"))
    page.get_by_text("holds no time that can be read").first.wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious_in_feedback(page, course, width, scheme):  # noqa: F811
    """With every kind of word that Python's colours tell apart, and a formula wider than a phone."""
    page.set_viewport_size({"width": width, "height": 844})
    for student in ("right", "wrong"):
        page.goto((course / "feedback" / student / "tiny" / "tiny.html").as_uri())
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        assert axe.serious(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_no_feedback_has_a_guide(course):
    pages = list((course / "feedback").rglob("*.html"))
    assert len(pages) == 4
    assert not any("whoever marks" in one.read_text() or "Whatever is right" in one.read_text() for one in pages)
