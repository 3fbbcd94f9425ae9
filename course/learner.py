"""Gives learners their own notebooks: ``python -m graded_kernels.course.learner [--to FOLDER]``.

Every chapter that is not yet in the learner's folder (``my-notebooks/``) is released into it: the instructor's notebook
without the answers, made by nbgrader's own preprocessors and without a gradebook. What is there is never touched here:
``make lab`` renews a copy in which nothing was changed (`desk.update.renew`), and ``graded-kernels update``, when asked
to, merges a chapter that has changed into any other.
"""

import argparse
import json
import sys
from pathlib import Path

from . import first_cell

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = "answers"  # in a notebook's metadata: whether it may show the course's


def release(source: Path) -> str:
    """The notebook a learner gets for the instructor's notebook ``source``, as the text of its file."""
    # nbgrader takes seconds to import; a second `make lab` has nothing to release.
    import nbformat
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import SaveCells
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT / "course")).load_config()
    notebook = nbformat.read(source, as_version=4)
    resources: dict[str, object] = {}
    for preprocessor in GenerateAssignment(config=config).preprocessors:
        if preprocessor is not SaveCells:
            notebook, resources = preprocessor(config=config)(notebook, resources)
    return f"{nbformat.writes(notebook, version=4)}\n"


def version(notebook: Path) -> str | None:
    """Says which build of its chapter a notebook comes from; None if it does not say, cannot be read, or is missing."""
    try:
        return str(json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["graded_kernels"]["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sources(root: Path) -> list[Path]:
    """The chapters as built, in order; not a teacher's own assignments beside them."""
    names = sorted(text.stem for text in (root / "course" / "chapters").glob("*.md"))
    built = [root / "course" / "source" / name / f"{name}.ipynb" for name in names]
    return [path for path in built if path.exists()]


def notebooks(root: Path) -> list[Path]:
    """All that a learner gets: the start page and the chapters."""
    start = root / "course" / "start.ipynb"
    return [start] * start.exists() + sources(root)


def give(sources: list[Path], folder: Path, *, answers: bool = True) -> list[str]:
    """Releases what ``folder`` lacks; returns a line for each chapter that says what was done.

    answers: whether its notebooks may show the course's answers after a try (`course.answers`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_give(source, folder / source.name, answers) for source in sources]


def _give(source: Path, copy: Path, answers: bool) -> str:
    if not copy.exists():
        notebook = json.loads(release(source))
        notebook["metadata"]["graded_kernels"][ANSWERS] = answers
        notebook["metadata"]["language_info"] = _language_info()
        _write_new(copy, json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        return f"new      {copy}"
    if version(copy) == version(source):
        return f"kept     {copy}"
    return f"kept     {copy} (the chapter has changed since; `graded-kernels update {source.stem}` merges it in)"


def _language_info() -> dict[str, object]:
    """Returns what a kernel of this environment says of its language. JupyterLab writes it into a notebook that it
    opens, which then counts as changed and not saved, unless it is there.
    """
    from ipykernel.ipkernel import IPythonKernel  # takes a second to import; a second `make lab` gives nothing out

    return dict(IPythonKernel.language_info)


def _write_new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:  # "x" fails rather than overwrite
        file.write(text)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Gives out the chapters that are missing, and prints what was done with each. Returns an exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m graded_kernels.course.learner", description="Put the chapters into the learner's own folder."
    )
    parser.add_argument("--to", type=Path, default=root / "my-notebooks", metavar="FOLDER", help="my-notebooks")
    parser.add_argument("--without-answers", action="store_true", help="the notebooks never show the course's answers")
    options = parser.parse_args(arguments)
    if not sources(root):
        print("course/source holds no notebooks. Run: python -m graded_kernels.course.build", file=sys.stderr)
        return 1
    for line in give(notebooks(root), options.to, answers=not options.without_answers):
        print(line)
    first_cell.configure_this_environment()
    return 0


if __name__ == "__main__":
    sys.exit(main())
