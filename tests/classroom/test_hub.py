"""A class on a JupyterHub, in a real browser: release, fetch, work, submit, collect, grade, and the feedback read.

Two people log in, a teacher and a learner, with system accounts of their own; formgrader is a service of a third. Needs
root, JupyterHub, its proxy, Playwright and Chromium; says so where one is missing.
"""

import json
import re
import tempfile
from pathlib import Path

import hub
import pytest
from classroom import copied, right_answers
from tampered import TORCH, WITNESS, find
from test_browser import browser, code, picture, write  # noqa: F401

pytestmark = pytest.mark.release
pytest.importorskip("jupyterhub", reason="not run: needs JupyterHub (pip install jupyterhub)")
SERVICE = "services/graded-kernels"


@pytest.fixture(scope="module")
def place():
    """A folder that other accounts can reach."""
    if reason := hub.missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="gk-hub-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def course(made_course, place) -> Path:
    return copied(made_course, place)


@pytest.fixture(scope="module")
def address(course, place):
    with hub.running(place, course) as found:
        yield found


def logged_in(browser, address: str, name: str):  # noqa: F811
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(hub.SECONDS * 1000)
    page = context.new_page()
    page.goto(f"{address}/hub/login")
    page.fill("#username_input", name)
    page.fill("#password_input", hub.PASSWORD)
    page.click("#login_submit")
    return page


def formgrader(page, address: str, path: str) -> None:
    page.goto(f"{address}/{SERVICE}/formgrader/{path}")


def done(page, button) -> None:
    """Clicks, waits for the dialog that says how it went, and closes it."""
    button.click()
    dialog = page.locator(".modal.in, .modal.show").last
    dialog.wait_for()
    assert "Success" in dialog.inner_text(), dialog.inner_text()
    dialog.locator("button.close, [data-dismiss=modal]").first.click()
    dialog.wait_for(state="detached")


def manage(page, address: str, column: str) -> None:
    """The teacher's button in that column of formgrader's list of assignments."""
    formgrader(page, address, "manage_assignments")
    picture(page, f"hub-{column}")
    row = page.locator("tr", has=page.locator(".name", has_text=re.compile(r"^\s*tiny\s*$")))
    done(page, row.locator(f".{column} a"))


def assignments(page):
    page.locator(".lm-MenuBar-item", has_text="Nbgrader").click()
    page.locator(".lm-Menu-item", has_text="Assignment List").first.click()


def listed(page, kind: str, button: str):
    return page.locator(f"#{kind}_assignments_list .list_item", has_text="tiny").locator("button", has_text=button)


def test_an_assignment_goes_around(browser, address, course, place):  # noqa: F811
    teacher = logged_in(browser, address, hub.TEACHER)
    teacher.locator("#jupyterlab-splash").wait_for(state="detached")
    manage(teacher, address, "release")
    assert (place / "exchange" / "graded-kernels" / "outbound" / "tiny" / "tiny.ipynb").is_file()

    learner = logged_in(browser, address, hub.LEARNER)
    learner.locator("#jupyterlab-splash").wait_for(state="detached")
    assignments(learner)
    listed(learner, "released", "Fetch").click()
    listed(learner, "fetched", "Submit").wait_for()
    picture(learner, "hub-assignments")

    home = place / hub.LEARNER
    answers = right_answers(course)
    learner.goto(f"{address}/user/{hub.LEARNER}/lab/tree/tiny/tiny.ipynb?reset")
    for name, stub in ((WITNESS, "def silu_witness"), (TORCH, "def silu_forward")):
        write(code(learner, stub), find(answers, name)["source"])
    picture(learner, "hub-notebook")
    learner.keyboard.press("Escape")
    learner.keyboard.press("Control+s")
    learner.wait_for_function("document.querySelectorAll('.jp-mod-dirty').length === 0")
    assert "# YOUR CODE HERE" not in json.dumps(find(json.loads((home / "tiny" / "tiny.ipynb").read_text()), TORCH))
    assignments(learner)
    listed(learner, "fetched", "Submit").click()
    listed(learner, "submitted", "Fetch Feedback").wait_for()

    manage(teacher, address, "collect")
    formgrader(teacher, address, "manage_submissions/tiny")
    done(teacher, teacher.locator("tr", has_text=hub.LEARNER).locator(".autograde a"))
    row = teacher.locator("tr", has_text=hub.LEARNER)
    assert row.locator(".score").inner_text().startswith("4 /")
    picture(teacher, "hub-formgrader")
    manage(teacher, address, "generate-feedback")
    manage(teacher, address, "release-feedback")

    assignments(learner)
    listed(learner, "submitted", "Fetch Feedback").click()
    learner.locator("a", has_text="view feedback").wait_for()
    (feedback,) = (home / "tiny" / "feedback").rglob("*.html")
    text = feedback.read_text()
    assert "passed" in text
    assert "whoever marks" not in text

    answer = learner.goto(f"{address}/{SERVICE}/formgrader/manage_assignments")
    assert answer.status == 403
    assert not learner.locator("tr", has_text="tiny").count()
