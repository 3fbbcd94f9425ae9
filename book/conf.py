"""The book: the chapters as a site. ``make book`` builds it into build/book/, without a network.

The chapters are released without their answers, as for a learner, and executed by MyST-NB, which keeps the outputs in
its cache. No page loads anything from elsewhere: mathematics is MathML, made here, and not a script.
"""

import re
import sys
from functools import partial
from pathlib import Path

import nbformat
from docutils import nodes
from graded_kernels.autograder.classroom.nbgrader.markdown import mathml
from graded_kernels.course import learner, words
from graded_kernels.course.learner import ROOT
from graded_kernels.course.public_notebooks import REPOSITORY, install_cell
from jupyter_cache.executors import utils

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import example_reports  # noqa: E402

project = "Graded Kernels"
author = "the authors of Graded Kernels"
copyright = "the authors of Graded Kernels; text and figures CC BY 4.0, code MIT"
extensions = ["myst_nb", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Graded Kernels"
html_static_path = ["static"]
html_css_files = ["book.css"]
exclude_patterns = ["notebooks"]  # which are downloaded, not read
html_copy_source = html_show_sourcelink = False
html_math_renderer = "mathml"
html_scaled_image_link = False  # `mend` makes each picture a link, and one around it would have no name
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "book-cache")
nb_execution_timeout = 1200
nb_execution_raise_on_error = True
nb_merge_streams = True
# MyST-NB's own merge breaks a line that a busy kernel sent in pieces.
utils.executenb = partial(utils.executenb, coalesce_streams=True)
suppress_warnings = ["mystnb.unknown_mime_type"]  # the data of a report, which nobody is to read
autodoc_typehints = "description"
default_role = "code"


def chapters() -> None:
    """The chapters as a learner gets them, less the cells about one's own progress."""
    for source in learner.sources(ROOT):
        notebook = nbformat.reads(learner.release(source), as_version=4)
        notebook.cells = notebook.cells[:-2]  # which `course.build` puts at the end of each
        notebook.cells = [
            in_the_book(cell) for cell in notebook.cells if not cell.source.startswith(f"## {words.HEADING}")
        ]
        if REPOSITORY:
            install = nbformat.v4.new_code_cell(install_cell(), id="install")
            write(HERE / "notebooks" / source.name, {**notebook, "cells": [install, *notebook.cells]})
            notebook.cells.insert(1, nbformat.v4.new_markdown_cell(elsewhere(source.stem), id="elsewhere"))
        notebook.cells += example_reports.cells(ROOT / "course" / "chapters" / f"{source.stem}.md")
        write(HERE / "chapters" / source.name, notebook)


TO_A_WORD = re.compile(rf'\]\({words.ANCHOR} "([^:"]+):[^"]*"\)')


def in_the_book(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Words are explained on one page, which their links lead to."""
    cell.source = TO_A_WORD.sub(lambda match: f"](../words.md#{slug(match[1])})", cell.source)
    return cell


def slug(word: str) -> str:
    return f"word-{re.sub('[^a-z0-9]+', '-', word.lower())}"


def write(page: Path, notebook: dict) -> None:
    """Leaves a file alone that is the same already: Sphinx reads again what is new."""
    text = nbformat.writes(nbformat.from_dict(notebook), version=4) + "\n"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")


def elsewhere(name: str) -> str:
    path = f"lab%2Ftree%2Fmy-notebooks%2F{name}.ipynb"
    binder = f"https://mybinder.org/v2/gh/{REPOSITORY}/HEAD?urlpath={path}"
    notebook = f"{{download}}`as a notebook <../notebooks/{name}.ipynb>`"
    return (
        f"Run this chapter [on Binder]({binder}), or download it {notebook} whose first cell installs the course, for\n"
        "Colab (**File > Upload notebook**) and the like. [Where it runs](../where.md) says what has been tried."
    )


def tables(app, name: str, source: list[str]) -> None:
    """The README's table, with links to the pages of this book; the glossary, with a target for each word."""
    if name == "index":
        rows = [row for row in (ROOT / "README.md").read_text(encoding="utf-8").split("\n") if row.startswith("|")]
        table = re.sub(r"course/chapters/(\w+)\.md", r"chapters/\1.ipynb", "\n".join(rows))
        source[0] = (
            source[0].replace("THE CHAPTERS", table).replace("THE ADDRESS", install_cell().rpartition(" --quiet ")[2])
        )
    if name == "words":
        entries = (f"({slug(word)})=\n**{word}**: {meaning}" for word, meaning in words.glossary(ROOT).items())
        source[0] = source[0].replace("THE WORDS", "\n\n".join(entries))


NAMED = re.compile(r"(\w[\w, ]{0,59}): (\S.*)")  # how our docstrings explain a parameter or an attribute


def docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """A paragraph of ``name: text``, continued in indented lines, as a list."""
    made: list[str] = []
    for paragraph in "\n".join(lines).replace("|", r"\|").split("\n\n"):  # | a vector |, and no substitution
        rows = paragraph.strip("\n").split("\n")
        if NAMED.fullmatch(rows[0]) and all(NAMED.fullmatch(row) or row.startswith(" ") for row in rows):
            rows = [NAMED.sub(r"- **\1**: \2", row) if NAMED.fullmatch(row) else f"  {row.strip()}" for row in rows]
        made += [*rows, ""]
    lines[:] = made


def inline_math(translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def block_math(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


# What axe-core finds in the theme's pages: a scrolling box that keys cannot reach, landmarks and headings that lack a
# name or a level.
MENDED = {
    "<pre>": '<pre tabindex="0">',
    '<div class="math">': '<div class="math" tabindex="0">',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
    '<div class="cell_output ': '<div tabindex="0" class="cell_output ',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
}


FIGURE = re.compile(r'<img [^>]*src="([^"]*_images/[^"]+)"[^>]*/?>')


def mend(app, error: Exception | None) -> None:
    for page in [] if error else Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = FIGURE.sub(r'<a class="figure" href="\1" title="The picture alone, larger">\g<0></a>', text)
        for old, new in MENDED.items():
            text = text.replace(old, new)
        page.write_text(text, encoding="utf-8")


def setup(app) -> None:
    app.connect("source-read", tables)
    app.connect("build-finished", mend)
    app.connect("autodoc-process-docstring", docstring)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    chapters()
