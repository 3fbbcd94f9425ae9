"""The start page: its table of chapters is text, so that it is there before any cell has run."""

from pathlib import Path
from urllib.parse import quote

from .chapter_progress import read_progress
from .progress_table import Course, bar

NAME = "start.ipynb"
HEADING = "## The chapters, and how far you are"


def refresh(page: Path, sources: list[Path]) -> bool:
    """Writes how far the learner is into the start page; says whether that changed it. No other cell is touched."""
    from .notebook import DeskError, read, write  # when there is a page: nbformat takes a while to import

    try:
        notebook = read(page)
    except DeskError:
        return False
    cell = next((c for c in notebook.cells if c.cell_type == "markdown" and c.source.startswith(HEADING)), None)
    text = table(Course(tuple(read_progress(page.parent, sources))))
    if cell is None or cell.source == text:
        return False
    cell.source = text
    write(page, notebook)
    return True


def table(course: Course) -> str:
    """The chapters as Markdown, with links."""
    rows = [f"{HEADING}\n", "| chapter | estimated | passed | |", "|---|---|---|---|"]
    for c in course.chapters:
        title = c.title.replace("|", "\\|")
        of = len(c.required)
        rows.append(f"| [{title}]({quote(c.name)}.ipynb) | {c.hours} | `{bar(c.passed, of)}` | {c.passed} of {of} |")
    rows += ["", f"**{course.next()}** As it was when JupyterLab started; the next cell shows it as it is now."]
    return "\n".join(rows)
