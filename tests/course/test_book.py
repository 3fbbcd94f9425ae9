"""The book: it builds without a warning, loads nothing from elsewhere, leads nowhere that is not there, and holds no
answer. Needs Sphinx, MyST-NB and Furo (`pip install -e .[book]`). Its accessibility is checked where Playwright,
Chromium and axe-core are there (`axe`).
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import axe
import nbformat
import pytest
from graded_kernels.course import build, learner, regions

pytestmark = pytest.mark.release
REASON = "not run: needs what `make book` installs (pip install -e .[book])"
pytest.importorskip("myst_nb", reason=REASON)
pytest.importorskip("furo", reason=REASON)
LINK = re.compile(r'<(\w+)\b[^>]*?\s(?:href|src)="([^"]+)"')


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    site = tmp_path_factory.mktemp("book")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(build.ROOT / "book"), str(site)]
    environment = {**os.environ, "GITHUB_REPOSITORY": "owner/name"}  # as where a code host builds it
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return site


def test_what_was_printed_in_pieces_is_one_text(tmp_path):
    """A busy kernel sends what it has; a page must not break lines there."""
    import jupyter_cache
    from jupyter_cache.executors import load_executor
    from myst_nb.core.render import coalesce_streams

    runpy.run_path(str(build.ROOT / "book" / "conf.py"))
    cell = nbformat.v4.new_code_cell("import time\nprint('one ', flush=True, end='')\ntime.sleep(1)\nprint('line')")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    cache = jupyter_cache.get_cache(tmp_path / "cache")
    nbformat.write(notebook, tmp_path / "pieces.ipynb")
    cache.add_nb_to_project(tmp_path / "pieces.ipynb")
    load_executor("local-serial", cache).run_and_cache()
    merged = coalesce_streams(cache.get_cache_bundle(1).nb.cells[0].outputs)
    assert [output.text for output in merged] == ["one line\n"]


def pages(book: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(book.rglob("*.html"))}


def test_there_is_a_page_for_each_chapter_with_what_it_printed(book):
    for source in learner.sources(build.ROOT):
        page = (book / "chapters" / f"{source.stem}.html").read_text(encoding="utf-8")
        assert "cell_output" in page
        assert ("graded-kernels stub" in page) == ("-check" in source.read_text(encoding="utf-8"))
        assert "<math" in page
        assert "progress.chapter" not in page


def test_a_chapter_is_downloaded_as_a_notebook_that_installs(book):
    for source in learner.sources(build.ROOT):
        (file,) = book.glob(f"_downloads/*/{source.name}")
        notebook = nbformat.read(file, as_version=4)
        nbformat.validate(notebook)
        first, title, *rest = notebook.cells
        assert "%pip install --quiet git+https://github.com/owner/name" in first.source
        assert title.source.startswith("# ")
        released = nbformat.reads(learner.release(source), as_version=4).cells
        assert [title.source, *(cell.source for cell in rest)] == [cell.source for cell in released[:-2]]
        page = (book / "chapters" / f"{source.stem}.html").read_text(encoding="utf-8")
        assert f"../_downloads/{file.parent.name}/{file.name}" in page


def test_no_page_loads_anything_from_elsewhere(book):
    for path, text in pages(book).items():
        loaded = [target for tag, target in LINK.findall(text) if tag in ("script", "link", "img", "iframe")]
        assert [t for t in loaded if urlsplit(t).scheme not in ("", "data")] == [], path


def test_every_link_leads_somewhere(book):
    made = pages(book)
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in made.items()}
    missing = []
    for path, text in made.items():
        for _, target in LINK.findall(text):
            parts = urlsplit(unescape(target))
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not file.exists() or (fragment and file in ids and fragment not in ids[file]):
                missing.append(f"{path.name}: {target}")
    assert missing == []


def test_no_answer_is_in_the_book(book):
    """No line of a hidden body that is long enough to be one's own and stands nowhere in the released chapters."""
    given = " ".join(learner.release(source) for source in learner.sources(build.ROOT)).replace('\\"', '"')
    shown = " ".join(unescape(re.sub(r"<[^>]+>", "", text)) for text in pages(book).values())
    hidden = set()
    for region in regions.find_regions(build.ROOT).values():
        body = re.findall(rf"{regions.BEGIN}\n(.*?){regions.END}", regions.hide_bodies(region), re.DOTALL)
        hidden |= {line.strip() for text in body for line in text.splitlines() if len(line.strip()) > 40}
    hidden = {line for line in hidden if line not in given}
    assert len(hidden) > 100
    assert [line for line in hidden if line in shown] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(book, scheme):
    """At the width of a phone and of a desktop, with every folded part open."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="not run: needs Playwright (pip install -e .[browser])"
    )
    axe.script()
    if not (chromium := shutil.which("chromium")):
        pytest.skip("not run: needs chromium (apt install chromium)")
    found = []
    with playwright.sync_playwright() as play:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=chromium, args=[*flags, "--disable-dev-shm-usage"])
        for width in (390, 1280):
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            for path in pages(book):
                page.goto(path.as_uri())
                page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
                found += [f"{path.name} at {width}: {what}" for what in axe.serious(page)]
        browser.close()
    assert found == []
