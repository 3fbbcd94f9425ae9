"""What a checker says of a row, and where it is kept."""

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from .row import HERE

RESULTS = HERE / "results"


@dataclass(frozen=True)
class Said:
    """found: whether it calls the program wrong. kind: of row.KINDS, "" where it names none. place, says: where, and
    in its own words. cannot: why it has nothing to say; then ``found`` is false. seconds: by the clock. date: of the
    run.
    """

    row: str
    found: bool = False
    kind: str = ""
    place: str = ""
    says: str = ""
    cannot: str = ""
    seconds: float = 0.0
    date: str = field(default_factory=lambda: str(date.today()))


def kept(checker: str, folder: Path = RESULTS) -> dict[str, Said]:
    """What a checker has said so far, by the row's name."""
    file = folder / f"{checker}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {said.row: said for said in (Said(**json.loads(line)) for line in lines)}


def keep(checker: str, all_said: dict[str, Said], folder: Path = RESULTS) -> None:
    """Writes it, a line a row, in the order of the names."""
    folder.mkdir(exist_ok=True)
    lines = [_without_folders(json.dumps(asdict(all_said[name]), ensure_ascii=False)) for name in sorted(all_said)]
    part = folder / f"{checker}.part"
    part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    part.rename(folder / f"{checker}.jsonl")


def _without_folders(line: str) -> str:
    """The same with paths from a checkout, or from here, on: where they lie on a machine says nothing."""
    for folder in (Path(os.environ.get("EXAM_CHECKOUTS", "checkouts")).resolve(), HERE.parent.parent):
        line = line.replace(f"{folder}/", "")
    return line
