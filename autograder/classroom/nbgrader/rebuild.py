"""The notebook to be graded: the released one with the learner's answers and added cells in it, whatever a file claims.

Every cell of the released notebook is there, as it was released. An answer is found by its grade id; if that was lost,
by its cell id, or by the function it defines. What is ambiguous is reported in a note, never guessed.
"""

import copy
import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from .notebook_code import defined, is_blank, is_prose, kernels, launches
from .notebook_file import Piece, beginning

RECORD = "graded_kernels"  # our key in the metadata of a notebook and of a cell
MOVED = "moved"  # under it, of a check: its points before a regrade and now, and what had changed
NOT_GRADED = "not_graded"  # under it, of a check that waits for a person
NOTES, UNREAD = "notes", "unread"  # under it: what was odd about a submission, and why one was not read
FORM = "appeals"  # under it, of a released cell: a learner asks for a second look in it (`appeal_form`)
DOUBT = "doubt"  # under it, of an answer that a person has to find in the notebook: why
LOST = "All cells have lost their ids. Answers were found by the names of their functions: "
PYTHON = "python"  # and the code of a cell that runs as Python, with what was left out of it
_OWN = "_record"  # ends the name of a module with a teacher's own record, as `graded-kernels new` writes it
DEMONSTRATION = "demonstration"  # a cell's tag: it shows something, and no answer needs it


@functools.lru_cache(maxsize=8)
def released_notebook(path: Path, changed: int) -> NotebookNode:
    """Read once for all submissions of a run, unless it has ``changed``."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def records_beside(folder: Path) -> dict[str, Path]:
    """The records of a teacher's own exercises in a folder of notebooks, ``softcap_record.py`` say, by exercise."""
    return {path.stem.removesuffix(_OWN): path for path in sorted(folder.glob(f"*{_OWN}.py"))}


def rebuild(released: NotebookNode, pieces: list[Piece], notes_on_file: Sequence[str] = ()) -> NotebookNode:
    """The released notebook with the submitted ``pieces`` in it, and under `NOTES` in its metadata what was wrong with
    the submission, ``notes_on_file`` first.
    """
    pieces, general = _without_other_version(released, pieces)
    places = _places(released.cells, pieces)
    lost = not any(place is not None and is_answer(released.cells[place]) for place in places)
    notes, recognised = _recognise(released.cells, pieces, places)
    if lost and recognised:
        general.append(LOST + ", ".join(f"`{grade_id(released.cells[index])}`" for index in sorted(recognised)) + ".")
        notes = defaultdict(list, {index: said for index, said in notes.items() if index not in recognised})
    between = _between(pieces, places)
    doubts = _doubts(released.cells, pieces, places, recognised)
    notebook = copy.deepcopy(released)
    cells, notebook.cells = notebook.cells, _added(between[-1])
    for index, cell in enumerate(cells):
        parts = [piece for piece, place in zip(pieces, places, strict=True) if place == index]
        if is_form(cell):
            cell.source = parts[-1].source if parts else cell.source
        else:
            notes[index] += _fill(cell, parts) if is_answer(cell) else _changes(cell, parts)
        if is_question(cell) and cell.source.strip() == released.cells[index].source.strip():
            notes[index] += _written_below(cell, between[index])
        if notes[index]:
            cell.metadata.setdefault(RECORD, {})[NOTES] = notes[index]
        if doubt := doubts.get(grade_id(cell)):
            cell.metadata.setdefault(RECORD, {})[DOUBT] = doubt
        notebook.cells += [cell, *_added(between[index])]
    for number, cell in enumerate((c for c in notebook.cells if is_added(c)), start=1):
        cell.id = f"added-{number}"
    sentences = [*notes_on_file, *general, *(sentence for index in sorted(notes) for sentence in notes[index])]
    if sentences:
        notebook.metadata.setdefault(RECORD, {})[NOTES] = sentences
    return notebook


def without_submission(released: NotebookNode, sentence: str, file_notes: Sequence[str] = ()) -> NotebookNode:
    """The released notebook, for a submission that was not read; the ``sentence`` says why."""
    notebook = copy.deepcopy(released)
    notebook.metadata.setdefault(RECORD, {})[UNREAD] = sentence
    return with_notes(notebook, [sentence, "Nothing in it is graded yet. A person will look at it.", *file_notes])


def grade_id(cell: NotebookNode) -> str:
    """nbgrader's name for the cell; "" where it has none."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def is_answer(cell: NotebookNode) -> bool:
    """Returns whether the cell is there for an answer of the learner's."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution", False))


def is_question(cell: NotebookNode) -> bool:
    """Returns whether the cell is there for an answer in words."""
    return is_answer(cell) and cell.cell_type == "markdown"


def is_form(cell: NotebookNode) -> bool:
    """Returns whether the cell is there for a learner to ask for a second look."""
    return FORM in cell.metadata.get(RECORD, {})


def is_added(cell: NotebookNode) -> bool:
    """Returns whether the learner added the cell."""
    return bool(cell.metadata.get(RECORD, {}).get("added", False))


def is_check(cell: NotebookNode) -> bool:
    """Returns whether nbgrader would read a score from this cell's output."""
    return cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade", False) and not is_answer(cell)


def runs(cell: NotebookNode) -> bool:
    """Returns whether the code of a rebuilt notebook's cell runs before the answers below it: the learner's does, and
    all that was released but checks and demonstrations.
    """
    shows = is_check(cell) or DEMONSTRATION in cell.metadata.get("tags", ())
    return cell.cell_type == "code" and (is_answer(cell) or is_added(cell) or not shows)


def exercise_of(answer_id: str) -> tuple[str, str]:
    """(exercise, backend) of the answer cell ``silu_backward-torch``."""
    name, _, backend = answer_id.rpartition("-")
    return name, backend


def _without_other_version(released: NotebookNode, pieces: list[Piece]) -> tuple[list[Piece], list[str]]:
    """The pieces but for those of another version of the chapter, whose cells bear the chapter's name in their ids."""
    of_chapter = re.compile(re.escape(released.metadata.get(RECORD, {}).get("chapter", "")) + r"-[0-9a-f]{8}(-\d+)?")
    ids = {cell.get("id") for cell in released.cells}
    kept = [piece for piece in pieces if piece.grade_id or piece.id in ids or not of_chapter.fullmatch(piece.id)]
    if len(kept) == len(pieces):
        return pieces, []
    return kept, ["The submission was made from another version of the chapter. It was graded by the released one."]


def _places(released: list[NotebookNode], pieces: list[Piece]) -> list[int | None]:
    """Returns for each piece the index of the released cell that it is, or None for one that the learner added."""
    by_grade_id = {grade_id(cell): index for index, cell in enumerate(released) if grade_id(cell)}
    by_id = {cell.get("id"): index for index, cell in enumerate(released)}
    by_source = {cell.source.strip(): index for index, cell in enumerate(released) if not is_answer(cell)}
    forms = {cell.source.partition("\n")[0]: index for index, cell in enumerate(released) if is_form(cell)}
    places: list[int | None] = []
    taken: set[int | None] = set()
    for piece in pieces:
        text = piece.source.strip()
        like = next((index for begins, index in forms.items() if text.startswith(begins)), None)  # its ids may be lost
        place = by_grade_id.get(piece.grade_id, by_id.get(piece.id, by_source.get(text, like)))
        if place is not None and place in taken and not is_answer(released[place]):
            # A copied cell takes its grade id along. Here the learner may have written something of their own into it.
            place = place if text == released[place].source.strip() else None
        places.append(place)
        taken.add(place)
    return places


def _recognise(
    released: list[NotebookNode], pieces: list[Piece], places: list[int | None]
) -> tuple[dict[int, list[str]], list[int]]:
    """Finds answers whose cell is missing, or as it was released, among the added cells by the function they define.
    Returns notes by released cell, and the cells that were found so.
    """
    notes: dict[int, list[str]] = defaultdict(list)
    recognised: list[int] = []
    pairs = zip(pieces, places, strict=True)
    answered = {place for piece, place in pairs if place is not None and not _is_stub(piece, released[place])}
    wanted = [index for index, cell in enumerate(released) if is_answer(cell) and index not in answered]
    added = [number for number, place in enumerate(places) if place is None] if wanted else []
    functions = {number: defined(pieces[number].source) for number in added}
    compiled = {name for piece in pieces if added and piece.type == "code" for name in kernels(piece.source)}
    in_triton = {number: compiled and _is_triton(pieces[number].source, compiled) for number in added}
    for index in wanted:
        name, backend = exercise_of(grade_id(released[index]))
        alike = [number for number in added if places[number] is None and name in functions[number]]
        alike = [number for number in alike if bool(in_triton[number]) == (backend == "triton")]
        there = index in places
        state = f"The cell `{grade_id(released[index])}` is {'as it was released' if there else 'missing'}"
        if len(alike) == 1:
            places[alike[0]] = index
            recognised.append(index)
            lost = "" if there else " or has lost its grade id"
            notes[index] = [f"{state}{lost}. The cell that defines `{name}` was taken for it."]
        elif alike:
            notes[index] = [
                f"{state}, and {len(alike)} cells define `{name}`. None was graded: say which one is meant."
            ]
        elif not there:
            notes[index] = [f"{state}."]
    return notes, recognised


def _is_triton(source: str, compiled: set[str]) -> bool:
    """Returns whether a cell holds one of these kernels or launches one."""
    return bool(kernels(source)) or launches(source, compiled)


def _doubts(
    released: list[NotebookNode], pieces: list[Piece], places: list[int | None], indices: list[int]
) -> dict[str, str]:
    """Says by answer what a person has to look at: where a cell was taken for one answer, and another answer of that
    name lacks its function, the cell may be the other's.
    """
    doubts: dict[str, str] = {}
    for taken in (grade_id(released[index]) for index in indices):
        name, _ = exercise_of(taken)
        for index, cell in enumerate(released):
            other = grade_id(cell)
            if other == taken or not is_answer(cell) or exercise_of(other)[0] != name:
                continue
            parts = [piece for piece, place in zip(pieces, places, strict=True) if place in (index, None)]
            begun = any(place == index for place in places) and not any(_is_stub(part, cell) for part in parts)
            if begun and not any(name in defined(part.source) for part in parts):
                why = f"the cell that defines `{name}` was taken for `{taken}`, and `{other}` has no such function"
                doubts[taken] = doubts[other] = f"{why}: one cell may be a half of the other"
    return doubts


def _is_stub(piece: Piece, released: NotebookNode) -> bool:
    return bool(piece.source.strip() == released.source.strip())


def _between(pieces: list[Piece], places: list[int | None]) -> dict[int, list[Piece]]:
    """The cells the learner added, by the released cell that they follow; -1 for those that come first."""
    between: dict[int, list[Piece]] = defaultdict(list)
    last, passed = -1, set()
    for piece, place in zip(pieces, places, strict=True):
        if place is None:
            if piece.type != "raw" and piece.source.strip():
                between[last].append(piece)
        elif place not in passed:
            last = place
            passed.add(place)
    return between


def _added(pieces: list[Piece]) -> list[NotebookNode]:
    cells = []
    for piece in pieces:
        cell = new_code_cell(piece.source) if piece.type == "code" else new_markdown_cell(piece.source)
        if piece.attachments and piece.type == "markdown":
            cell["attachments"] = piece.attachments
        cell.metadata[RECORD] = {"added": True}
        cells.append(cell)
    return cells


def _fill(cell: NotebookNode, parts: list[Piece]) -> list[str]:
    """Puts the parts of an answer into its cell. Returns notes."""
    parts = [part for part in parts if not _is_stub(part, cell)] or parts
    source = "\n".join(part.source for part in parts)
    if cell.cell_type == "markdown":
        # As it was released it would count as no answer, though there may be one elsewhere. So a person looks at it.
        cell.source = source if parts else "*This cell is missing from the submission.*"
        attachments = {name: bundle for part in parts for name, bundle in part.attachments.items()}
        if attachments:
            cell["attachments"] = attachments
    elif not all(is_blank(part.source) for part in parts):
        cell.source = source
    elif parts:
        return [f"The cell `{grade_id(cell)}` is empty."]
    if len(parts) < 2:
        return []
    return [
        f"The cell `{grade_id(cell)}` is there {len(parts)} times, copied or split. The parts were joined in order."
    ]


def _written_below(question: NotebookNode, added: list[Piece]) -> list[str]:
    """Has a person look at a question that is as it was released, where the learner wrote a text of their own below
    it, if need be into a cell of code, which is what JupyterLab adds: untouched it would be a final 0. Returns notes.
    """
    texts = [piece for piece in added if piece.type == "markdown" or is_prose(piece.source)]
    if not texts:
        return []
    question.source += "\n\n*Nothing was written here. The text below it may be the answer.*"
    name, begins = grade_id(question), beginning(texts[0].source)
    return [f"The cell `{name}` is as it was released, and a text follows it, which may be the answer.{begins}"]


def _changes(cell: NotebookNode, parts: list[Piece]) -> list[str]:
    """Notes on a released cell that is not an answer. Those that neither run nor have a grade id are to play with."""
    if not grade_id(cell) and not runs(cell):
        return []
    name = f"The cell `{grade_id(cell) or cell.id}`"
    if not parts:
        return [f"{name} is missing. It was put back as released."]
    if any(part.source.strip() != cell.source.strip() for part in parts):
        begins = "" if grade_id(cell) else beginning(cell.source)
        return [f"{name} had been changed. It was put back as released.{begins}"]
    return []


def with_notes(notebook: NotebookNode, sentences: list[str]) -> NotebookNode:
    """Puts the notes on a submission, if any, before everything else."""
    if sentences:
        lines = "\n".join(f"- {sentence}" for sentence in sentences)
        notebook.metadata.setdefault(RECORD, {})[NOTES] = sentences
        notebook.cells.insert(0, new_markdown_cell(f"**About this submission**\n\n{lines}", id="about-this-submission"))
    return notebook
