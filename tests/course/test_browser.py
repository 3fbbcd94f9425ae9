"""A learner's path in a real browser: the start page, a wrong answer, then a right one, progress, and the way back.

Needs Playwright (`pip install -e .[browser]`), Debian's Chromium, and for accessibility axe-core (`axe`); says so where
one is missing. Pictures of what the browser showed are left in the folder that GRADED_KERNELS_SCREENSHOTS names, to be
looked at.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import axe
import pytest
from graded_kernels.autograder import check, cli
from graded_kernels.course import build, learner
from graded_kernels.course.desk import lab
from graded_kernels.kernels.wild import silu as wild

pytestmark = pytest.mark.release
playwright = pytest.importorskip("playwright.sync_api", reason="not run: needs Playwright (pip install -e .[browser])")
CHROMIUM = shutil.which("chromium")
CHECK = 'check("silu_forward", silu_forward, backend="torch")'
BESIDE = f"answers.beside({CHECK.removeprefix('check(')}"
SECONDS = 180  # a bound for what hangs; nothing is measured
WRONG = "def silu_forward(x):\n    return x * torch.sigmoid(x) * 1.01"
RIGHT = "def silu_forward(x):\n    v = x.double()\n    return (v * torch.sigmoid(v)).to(x.dtype)"


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """The learner's folder, as `make lab` fills it."""
    root = tmp_path_factory.mktemp("desk")
    (root / "state").mkdir()
    (root / "state" / "built").write_text(lab.fingerprint(build.ROOT))  # a test must not build what is committed
    assert lab.prepare(build.ROOT, root / "my-notebooks", root / "state") == 0
    return root


@pytest.fixture(scope="module")
def address(desk) -> str:
    """Of a JupyterLab with the settings of the project; its home is an empty folder."""
    home = desk / "home"
    home.mkdir()
    environment = lab.settings(build.ROOT, desk / "state", {**os.environ, "HOME": str(home)})
    options = [f"--notebook-dir={desk / 'my-notebooks'}", "--no-browser", "--port=0", "--allow-root"]
    log = (desk / "log").open("w+")
    command = [sys.executable, "-m", "jupyterlab", *options]
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield found_address(server, desk / "log")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)
        log.close()


def found_address(server: subprocess.Popen, log: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        if match := re.search(r"http://127\.0\.0\.1:\S+", log.read_text()):
            return match[0]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("not run: needs chromium (apt install chromium)")
    with playwright.sync_playwright() as play:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=[*flags, "--disable-dev-shm-usage"])
        yield chromium
        chromium.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request) -> str:
    return request.param


BACKGROUND = {"light": "white", "dark": "#1e1e1e"}


@pytest.fixture
def page(browser, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(SECONDS * 1000)
    yield context.new_page()
    context.close()


def picture(page, name: str) -> None:
    if folder := os.environ.get("GRADED_KERNELS_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def opened(page, address: str, title: str) -> None:
    """Opens an address in an empty workspace and waits for the notebook of that title."""
    page.goto(f"{address}&reset")
    shown(page, title)


def shown(page, title: str) -> None:
    page.wait_for_selector("#jupyterlab-splash", state="detached")
    page.locator(".jp-NotebookPanel:visible h1", has_text=title).wait_for()


def seen(page, cell, name: str) -> None:
    """A picture in which the cell stands at the top."""
    cell.evaluate("cell => cell.scrollIntoView({block: 'start'})")
    picture(page, name)


def run(cell) -> None:
    """Runs one cell, as Shift+Enter does, and waits for its end."""
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    cell.page.keyboard.press("Control+Enter")
    ended(cell)


def ended(cell) -> None:
    cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for()


def write(cell, source: str) -> None:
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    cell.page.keyboard.press("Control+A")
    cell.page.keyboard.insert_text(source)


def code(page, text: str):
    return page.locator(".jp-NotebookPanel:visible .jp-CodeCell").filter(has_text=text).first


def test_the_lab_opens_on_a_start_page_and_is_quiet(page, address, desk, scheme):
    opened(page, address, "Graded Kernels")
    notebook = page.locator(".jp-NotebookPanel:visible")
    assert page.evaluate("document.body.dataset.jpThemeLight") == str(scheme == "light").lower()
    table = notebook.locator("table").first
    chapters = len(learner.sources(learner.ROOT))
    table.locator("tr").nth(chapters).wait_for()
    assert table.locator("tr").count() == chapters + 1
    assert "0 of 5" in table.inner_text()
    assert page.locator(".jp-Notification-Toast, .jp-Dialog").count() == 0
    names = page.locator(".lm-MenuBar").inner_text() + page.locator(".jp-SideBar").first.inner_html()
    names += page.locator(".jp-SideBar").last.inner_html()
    assert "File" in names
    assert not re.search("assignment|formgrader|nbgrader", names, re.IGNORECASE)
    assert notebook.locator(".cm-lineNumbers").count() > 0
    picture(page, f"start-{scheme}")
    run(code(page, "from graded_kernels.autograder import check"))
    run(code(page, "divide_back, backend"))
    report = notebook.locator(".graded-kernels").first
    report.wait_for()
    assert "candle" in report.inner_text()
    assert "nan" in report.inner_text()
    run(code(page, "progress.course()"))
    table = notebook.locator(".gk-progress")
    table.wait_for()
    assert table.locator("progress").count() == chapters
    assert "0 of 2" not in table.inner_text()
    picture(page, f"report-{scheme}")
    table.locator("a", has_text="SiLU").click()
    shown(page, "SiLU")
    assert not {".jupyter", ".ipython", ".local"} & {path.name for path in (desk / "home").iterdir()}


@pytest.mark.parametrize("scheme", ["light"], indirect=True)
@pytest.mark.parametrize("name, title", [("start", "Graded Kernels"), ("01_silu", "SiLU")])
def test_a_notebook_that_was_only_opened_counts_as_saved(page, address, name, title):
    opened(page, address.replace("start.ipynb", f"{name}.ipynb"), title)
    page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
    page.wait_for_timeout(10_000)  # until its kernel has said what it is, which no element of the page shows
    assert page.locator(".lm-TabBar-tab.jp-mod-dirty").count() == 0


def test_a_chapter_from_top_to_bottom_wrong_at_first_then_right(page, address, desk, scheme):
    chapter, folder = address.replace("start.ipynb", "01_silu.ipynb"), str(desk / "my-notebooks")
    opened(page, chapter, "SiLU")
    page.locator(".lm-MenuBar-item", has_text="Run").click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Run All Cells$")).click()
    end = code(page, "progress.chapter")
    ended(end)
    noise = page.locator(
        ".jp-NotebookPanel:visible [data-mime-type$='stderr'], .jp-NotebookPanel:visible .jp-RenderedError"
    )
    assert noise.count() == 0, noise.first.inner_text()
    answer, check = code(page, "def silu_forward(x"), code(page, CHECK)
    check.scroll_into_view_if_needed()
    check.locator(".graded-kernels.stub", has_text="not implemented yet").wait_for()
    write(answer, WRONG)
    run(answer)
    run(check)
    report = check.locator(".graded-kernels.fail")
    report.wait_for()
    read = report.inner_text()
    assert "ordinary values" in read
    assert "ulp" in read
    assert "y is 1.01 times what is right" in read
    seen(page, check, f"wrong-{scheme}")
    ladder = page.locator(".jp-NotebookPanel:visible .jp-MarkdownCell", has_text=BESIDE)
    hint = ladder.locator("li", has_text="nothing rounded in between")
    assert not hint.is_visible()
    ladder.locator("summary").click()
    hint.wait_for()
    seen(page, ladder, f"ladder-{scheme}")
    ladder.click(position={"x": 200, "y": 5})
    page.keyboard.press("b")
    beside = ladder.locator("xpath=following-sibling::*[1]")
    write(beside, f"from graded_kernels.course import answers\n\n{BESIDE}")
    run(beside)
    beside.locator(".gk-beside").wait_for()
    assert beside.locator(".gk-beside pre").evaluate("pre => getComputedStyle(pre).whiteSpace") == "pre", "lines break"
    rows = beside.locator(".gk-beside").inner_text()
    assert "not passed" in rows
    assert "error, " in rows
    assert "torch.exp" in rows
    seen(page, beside, f"beside-{scheme}")
    write(answer, RIGHT)
    run(answer)
    run(check)
    check.locator(".graded-kernels.pass").wait_for()
    seen(page, check, f"right-{scheme}")
    run(end)
    table = end.locator(".gk-progress")
    table.locator("text=1 of 5 passed").wait_for()
    assert table.locator("a", has_text="GELU").count() == 1
    seen(page, end, f"end-{scheme}")
    page.keyboard.press("Control+S")
    page.locator(".jp-mod-current.jp-mod-dirty").wait_for(state="detached")
    assert "1/5" in output_of("progress", "--notebooks", folder)
    assert cli.main(["reset", "silu_forward", "--backend", "torch", "--notebooks", folder]) == 0
    assert "0/5" in output_of("progress", "--notebooks", folder).split("SiLU")[1].splitlines()[0]
    opened(page, chapter, "SiLU")
    code(page, "def silu_forward(x").filter(has_text="YOUR CODE HERE").wait_for(state="attached")
    assert any("v = x.double()" in kept.read_text() for kept in (desk / "my-notebooks" / "kept").iterdir())
    seen(page, code(page, "def silu_forward(x"), f"reset-{scheme}")


def test_a_report_is_legible_without_jupyterlabs_colours(page, scheme):
    """As in another editor. A share of a share of the text's colour would be hard to read."""
    report = check("silu_backward", wild.silu_backward_divide_back, backend="torch")._repr_html_()
    ink = {"light": "black", "dark": "white"}[scheme]
    page.set_content(f"<body style='background: {BACKGROUND[scheme]}; color: {ink}'>{report}")
    colour = "element => getComputedStyle(element).color"
    muted = page.locator(".graded-kernels .answers").evaluate(colour)
    assert set(page.locator(".graded-kernels .quiet").evaluate_all(f"all => all.map({colour})")) == {muted}
    picture(page, f"elsewhere-{scheme}")


OURS = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-RenderedHTMLCommon"  # text and reports, not JupyterLab's own controls


def test_axe_finds_nothing_serious_in_start_page_and_reports(page, address, scheme):
    axe.script()
    opened(page, address, "Graded Kernels")
    run(code(page, "from graded_kernels.autograder import check"))
    run(code(page, "divide_back, backend"))
    run(code(page, "progress.course()"))
    page.locator(".gk-progress").wait_for()
    assert unfolded(page) == []
    opened(page, address.replace("start.ipynb", "01_silu.ipynb"), "SiLU")
    run(code(page, "import torch.nn.functional as F"))
    answer, check = code(page, "def silu_forward(x"), code(page, CHECK)
    for source, state in ((None, "stub"), (WRONG, "fail"), (RIGHT, "pass")):
        if source:
            write(answer, source)
        run(answer)
        run(check)
        check.locator(f".graded-kernels.{state}").wait_for()
        assert (state, unfolded(page)) == (state, [])
    run(code(page, "progress.chapter"))
    page.locator(".gk-progress").wait_for()
    assert unfolded(page) == []


def test_axe_would_find_pale_text(page, scheme):
    """What the tests with axe rest on, in a part of a page as on a whole one."""
    pale = {"light": "#bbb", "dark": "#444"}[scheme]
    page.set_content(f"<body style='background: {BACKGROUND[scheme]}'><div class=ours style='color: {pale}'>Pale")
    for within in ((), (".ours",)):
        assert any(what.startswith("color-contrast, 1 times") for what in axe.serious(page, *within))


def unfolded(page) -> list[str]:
    page.evaluate("for (const d of document.querySelectorAll('.jp-RenderedHTMLCommon details')) d.open = true")
    return axe.serious(page, OURS)


def output_of(*arguments: str) -> str:
    command = [sys.executable, "-m", "graded_kernels.autograder", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
