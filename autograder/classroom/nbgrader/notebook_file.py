"""Reading a submitted file, which may be anything: out come code, text, and which released cell each claims to be."""

import errno
import json
import os
import re
import stat
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
CELLS = 5_000  # a chapter has some fifty
PICTURES = 5  # MB that the pictures in the texts of a notebook may take: its feedback page holds them
PICTURE = re.compile(r"attachment:([^\s)\]>\"']+)")


TOO_LARGE = f"\n\n(A picture was left out: those of a notebook may take {PICTURES} MB. It is in the submitted file.)"


class UnreadableSubmission(Exception):
    """A submission out of which nothing can be read; the message completes "The submitted file ..."."""


@dataclass(frozen=True)
class Piece:
    """A submitted cell, less all that has no say: outputs, tags, flags and points.

    id: the notebook format's id of the cell, and grade_id: nbgrader's; "" where there is none. Both are only claims.
    """

    type: str
    source: str
    id: str = ""
    grade_id: str = ""
    attachments: dict[str, Any] = field(default_factory=dict)


def read(path: str | Path, megabytes: float, code_megabytes: float) -> tuple[list[Piece], str]:
    """The cells of the notebook at ``path``, at most ``megabytes``, of which ``code_megabytes`` are code and text; and
    the language that it says its code is in, "" where it says none.

    Raises Unreadable.
    """
    try:
        content = json.loads(_bytes(path, megabytes).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UnreadableSubmission("is not a notebook: it is not text.") from None
    except json.JSONDecodeError as error:
        raise UnreadableSubmission(f"is not a notebook: line {error.lineno} is not JSON ({error.msg}).") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableSubmission(f"is not a notebook: its JSON cannot be read ({error}).") from None
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise UnreadableSubmission(
            "is not a notebook: it has no list of cells. Save it from JupyterLab and hand it in again."
        )
    pictures = _Pictures()
    pieces = [piece for piece in (_piece(cell, pictures) for cell in cells) if piece]
    if not pieces:
        raise UnreadableSubmission("is a notebook without any cell.")
    if sum(len(piece.source) for piece in pieces) > code_megabytes * MEGABYTE:
        raise UnreadableSubmission(f"holds more than {code_megabytes:g} MB of code and text.")
    if len(pieces) > CELLS:
        raise UnreadableSubmission(f"has {len(pieces)} cells, of at most {CELLS}.")
    metadata = _dict(content, "metadata")
    return pieces, _name(_dict(metadata, "kernelspec"), "language") or _name(_dict(metadata, "language_info"), "name")


def _bytes(path: str | Path, megabytes: float) -> bytes:
    if Path(path).parent.is_symlink():  # to another learner's folder, say
        raise UnreadableSubmission("lies in a folder that is a symbolic link.")
    try:
        with open(path, "rb", opener=_open_file) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableSubmission("is not a file.")
            if not facts.st_size:
                raise UnreadableSubmission("is empty.")
            if facts.st_size > megabytes * MEGABYTE:
                size = f"{facts.st_size / MEGABYTE:.0f} MB large, of at most {megabytes:g}"
                raise UnreadableSubmission(f"is {size}. Clear the outputs and hand it in again.")
            return file.read()
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise UnreadableSubmission(f"{reason}.") from None


def _open_file(path: str, flags: int) -> int:
    """A link would be followed to files that the learner cannot read; opening a pipe would wait for ever."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _piece(cell: object, pictures: "_Pictures") -> Piece | None:
    """A cell as far as it has the shape of one; None where it has no text."""
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        return None
    source = _text(cell.get("source"))
    if source is None:
        return None
    metadata, attachments = _dict(_dict(cell, "metadata"), "nbgrader"), dict[str, dict[str, str]]()
    if cell["cell_type"] == "markdown":  # nbconvert renders no page at all that shows a picture which is not there
        attachments, too_large = pictures.of(cell)
        source = PICTURE.sub(lambda m: m[0] if m[1] in attachments else f"missing-{m[0]}", source)
        source += TOO_LARGE if too_large else ""
    return Piece(cell["cell_type"], source, _name(cell, "id"), _name(metadata, "grade_id"), attachments)


def _text(value: object) -> str | None:
    """A text of a notebook, which may be written as a list of lines."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    return _storable(value.replace("\r\n", "\n")) if isinstance(value, str) else None


def _storable(text: str) -> str:
    """Half a surrogate pair is a valid JSON string that no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _dict(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _name(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


class _Pictures:
    """The pictures in the texts of a notebook, as far as there is room for them."""

    def __init__(self) -> None:
        self._left = PICTURES * MEGABYTE

    def of(self, cell: dict[str, Any]) -> tuple[dict[str, dict[str, str]], bool]:
        """``{file name: {media type: base64 text}}``, and whether one was too large for what is left."""
        pictures, too_large = {}, False
        for name, bundle in _dict(cell, "attachments").items():
            texts = {kind: _text(value) for kind, value in bundle.items()} if isinstance(bundle, dict) else {}
            kept = {_storable(kind): text for kind, text in texts.items() if text is not None}
            size = len(name) + sum(map(len, kept.values()))
            if kept and size <= self._left:
                pictures[_storable(name)] = kept
                self._left -= size
            elif kept:
                too_large = True
        return pictures, too_large


def plain(name: str) -> str:
    """A file's name as it can be shown: it may hold Markdown, HTML, line breaks, and what no text can hold."""
    return re.sub(r"[^\w. ()-]", "?", name)[:60]


def beginning(source: str) -> str:
    """A sentence that shows a cell's first line: the learner never saw the name of a cell that the file gave none."""
    line = textwrap.shorten(source.strip().partition("\n")[0].replace("`", "'"), 60, placeholder=" ...")
    return f" It begins with `{line}`." if line else ""
