"""One answer cell as it was released, with the learner's own version kept in a file beside."""

from pathlib import Path

import nbformat

from ..learner import release
from .notebook import DeskError, grade_id, keep, read, write


def reset(sources: list[Path], folder: Path, exercise: str, backend: str | None = None) -> list[str]:
    """Puts the answer to ``exercise`` back to its stub in the learner's ``folder``, and says what was done.

    sources: the chapters as built. backend: needed where the exercise is answered in both. The cell's old source goes
    to ``folder/kept`` as a Python file; its output and that of its check, which belong to the old source, are removed.
    Raises DeskError for an exercise of no chapter, a missing backend, or a notebook that cannot be read.
    """
    source, wanted = _find(sources, exercise, backend)
    path = folder / source.name
    notebook = read(path)
    fresh = nbformat.reads(release(source), as_version=4)
    stub = next(cell for cell in fresh.cells if grade_id(cell) == wanted)
    places = {grade_id(cell): number for number, cell in reversed(list(enumerate(notebook.cells)))}
    check = f"{wanted}-check"
    if wanted in places:
        cell = notebook.cells[places[wanted]]
    elif check in places:
        cell = nbformat.from_dict(stub | {"source": ""})
        notebook.cells.insert(places[check], cell)
    else:
        raise DeskError(f"{path} has neither the cell {wanted} nor its check; `graded-kernels update` puts both back")
    said = []
    if cell.source == stub.source:
        said.append(f"{path}: {wanted} is as it was released")
    elif cell.source.strip():
        kept = keep(folder, wanted, ".py", (cell.source + "\n").encode())
        said += [f"{path}: {wanted} is as it was released again", f"your answer is kept in {kept}"]
    else:
        said.append(f"{path}: {wanted} is back")
    cell.source, cell.metadata["nbgrader"] = stub.source, stub.metadata["nbgrader"]
    for other in notebook.cells:
        if grade_id(other) in (wanted, check) and other.cell_type == "code":
            other.outputs, other.execution_count = [], None
    write(path, notebook)
    return said


def _find(sources: list[Path], exercise: str, backend: str | None) -> tuple[Path, str]:
    """The chapter that asks for an exercise, and the name of its answer cell."""
    texts = {}
    known = set()
    for source in sources:
        for cell in read(source).cells:
            name, _, kind = (grade_id(cell) or "").rpartition("-")
            if name and kind != "check":
                known.add(name)
                if name == exercise:
                    texts[kind] = source
    if not texts:
        import difflib

        close = difflib.get_close_matches(exercise, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`graded-kernels list` shows them all."
        raise DeskError(f"no chapter asks for an exercise {exercise!r}; {hint}")
    if backend is None and len(texts) > 1:
        raise DeskError(f"{exercise} is answered in {' and in '.join(sorted(texts))}; say which with --backend")
    backend = backend or next(iter(texts))
    if backend not in texts:
        raise DeskError(f"{exercise} is answered in {' and in '.join(sorted(texts))}, not in {backend!r}")
    return texts[backend], f"{exercise}-{backend}"
