"""Hostile notebooks through ``nbgrader autograde``: each gets what it deserves, and nobody else notices."""

import os

import pytest
from attack_notebooks import batch, on_the_page, table
from attack_notebooks.attack import Attack
from bleach._vendor import html5lib  # parses as browsers do, also what only a browser would take for an element
from classroom import about, api, asked_for, assert_success
from isolation import LEVEL, needs_good_isolation
from tampered import FULL, TORCH, WITNESS, find

SCRIPTS = ("script_in_an_answer", "script_in_an_error")
REPRESENTATIVES = {  # of each kind of attack one; `test_every_attack` grades all of them
    "writes_the_gradebook",  # in code; one without end: test_teaching_limits.py
    "always_equal",  # on the judgement
    "forged_report",  # in the file
    "link_to_the_gradebook",  # in the folder
    *SCRIPTS,  # on the page
}

OF_EACH_KIND = [attack for attack in table.OWN if attack.name in REPRESENTATIVES]
PAGES = [attack for attack in on_the_page.ATTACKS if attack.name != "wordy_error"]  # slow

pytestmark = needs_good_isolation


@pytest.fixture(scope="module")
def made(made_course):
    return made_course


@pytest.fixture(scope="module")
def graded(made, tmp_path_factory, request):
    """Those that are asked for; where no test asks for one, those that a test of the pages looks at."""
    wanted = asked_for(request) & {attack.name for attack in OF_EACH_KIND + PAGES} or REPRESENTATIVES
    attacks = [attack for attack in table.OWN if attack.name in wanted]
    return batch.Batch(made, tmp_path_factory.mktemp("batch"), attacks, LEVEL)


@pytest.mark.parametrize("attack", OF_EACH_KIND, ids=lambda attack: attack.name)
def test_attack(graded, attack):
    assert not graded.wrong(attack), graded.log[-2000:]


def test_nobody_else_noticed(graded):
    assert not graded.wrong_afterwards()


def test_every_name_is_used_once():
    assert {attack.name for attack in OF_EACH_KIND} == REPRESENTATIVES
    names = [attack.name for attack in table.ALL]
    assert len(names) == len(set(names)) >= 100


# The pages


HAS_NONE = ("endless_text", "terminal_codes", "script_in_an_id")  # ids have no say, and are not kept


INSIDE = ("data:image/", "#")  # a picture in the page itself, and another part of the page


def unsafe(page: str) -> list[str]:
    """What a browser would run on the page, or load into it, less what nbgrader itself puts there."""
    found = []
    for element in html5lib.parse(page, namespaceHTMLElements=False).iter():
        name = str(element.tag).rpartition("}")[2].lower()
        where = " ".join(f"{key}={value}" for key, value in element.items())
        if name in ("iframe", "object", "embed", "form", "input", "base", "applet", "frame", "template", "textarea"):
            found.append(f"{name} {where}")
        if name == "script" and "alert" in "".join(element.itertext()) + where:
            found.append(f"script {where}")
        if name == "style" and "body{display:none}" in "".join(element.itertext()):
            found.append("style")
        if name in ("link", "meta") and ("example.org" in where):
            found.append(f"{name} {where}")
        loads = ("src", "srcset", "poster", "background", "data", "ping") + (() if name == "a" else ("href",))
        outside = [f"{key}={value}" for key, value in element.items() if key.rpartition("}")[2].lower() in loads]
        if name not in ("script", "link"):  # nbgrader's own page has some
            found += [f"{name} {one}" for one in outside if not one.partition("=")[2].lower().startswith(INSIDE)]
        for key, value in element.items():
            if "url(" in value.lower().replace("url(#", ""):
                found.append(f"{name} {key}={value}")
            if key.lower().startswith("on") or value.strip().lower().startswith(
                ("javascript:", "data:text", "vbscript:")
            ):
                found.append(f"{name} {key}={value}")
    return found


@pytest.mark.parametrize("attack", about(PAGES, REPRESENTATIVES), ids=lambda attack: attack.name)
def test_feedback_runs_nothing(graded, attack):
    student = graded.students[attack.name]
    assert_success(api(graded.course).generate_feedback("tiny", student))
    page = (graded.course / "feedback" / student / "tiny" / "tiny.html").read_text()
    assert "alert(1)" in page or attack.name in HAS_NONE  # it is all there, as text
    assert unsafe(page) == []
    assert not set(page) & {"\033", "\x9b", "\0"}


def test_formgrader_runs_nothing(graded):
    """The page on which a person grades the written answer."""
    from nbconvert.exporters import HTMLExporter

    config = api(graded.course).config
    config.HTMLExporter.template_name = "formgrade"
    exporter = HTMLExporter(config=config)

    def page(student: str) -> str:
        resources = {"base_url": "", "index": 0, "total": 1, "submission_id": "1", "notebook_id": "tiny"}
        return exporter.from_filename(str(graded.graded(student)), resources=resources)[0]

    own = set(unsafe(page("999_honest")))  # formgrader's boxes and buttons
    for name in SCRIPTS:
        found = page(graded.students[name])
        assert "alert(1)" in found and not set(unsafe(found)) - own


# That these tests see what they look for


@pytest.mark.exhaustive
def test_a_batch_sees_what_is_done_to_it(made, tmp_path):
    """A grader that an answer could reach: here it does itself what attacks try."""
    hook = """
import glob, os, sqlite3, subprocess

def harm(assignment, student, notebooks):
    if "planted" not in notebooks[0]:
        return
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    open("planted", "w").close()
    book = sqlite3.connect("gradebook.db", timeout=9)
    book.execute("update grade set manual_score = 4")
    book.execute("update grade_cells set max_score = 100")
    book.commit()
    book.close()

c.Autograde.post_convert_hook = harm
"""
    (tmp_path / "made").mkdir()
    course = tmp_path / "made" / "course"
    batch.shutil.copytree(made, course)
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(hook)

    def planted(nb):
        find(nb, TORCH)["source"] = "def silu_forward(x):\n    raise ValueError('ESC' + 'APED')"

    attack = Attack(planted, FULL | {TORCH: 0, WITNESS: 0}, "no such sentence")
    one = batch.Batch(course, tmp_path, [attack], LEVEL)
    scores, says, got = one.wrong(attack)
    assert (scores, says) == ("0 0 - expected", "it does not say 'no such sentence'")
    assert got.startswith("it got something: ESCAPED")
    found = "\n".join(one.wrong_afterwards())
    for sentence in ("planted changed", "the gradebook's record of the assignment changed", "sleep 600", "nobody gave"):
        assert sentence in found


# All of it


@pytest.mark.parametrize("first", range(4))  # each fourth attack from this one on
@pytest.mark.parametrize(
    "level",  # the best one in test-all, the others before a release
    [pytest.param(r, marks=pytest.mark.exhaustive if r == LEVEL else pytest.mark.release) for r in table.LEVELS_HERE],
)
def test_every_attack(made, level, first):
    rows = table.run(made, level, table.ALL[first::4], False)
    print(*rows, sep="\n")
    assert not [str(row) for row in rows if row.wrong]


@pytest.mark.release
@pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can become an unprivileged user")
@pytest.mark.parametrize("level", table.LEVELS_HERE)
def test_every_attack_as_an_unprivileged_user(made, level):
    try:
        batch.as_user()
    except RuntimeError as error:
        pytest.skip(str(error))
    rows = table.run(made, level, table.ALL, True)
    print(*rows, sep="\n")
    assert not [str(row) for row in rows if row.wrong]
