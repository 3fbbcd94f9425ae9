"""A teacher's own cases: a folder in the course root that is never released, with a Python file for each exercise."""

from pathlib import Path

from ...judge import Job

FORMER = "hidden_cases.toml"


class HiddenCasesError(ValueError):
    """Cases that cannot be used; the message says where and why."""


def texts(folder: Path, asked_for: bool) -> dict[str, str]:
    """The text of each file by its exercise, unchecked. asked_for: whether the teacher named the folder, so that one
    which is missing is a mistake. Raises HiddenCasesError.
    """
    former = folder if folder.suffix == ".toml" else folder.with_name(FORMER)
    if former.exists():
        way = "write them as Case in Python, hidden_cases/EXERCISE.py (course/OWN.md, Your own cases), and remove it"
        raise HiddenCasesError(f"{former}: cases in TOML are no longer read: {way}")
    if not folder.is_dir():
        if asked_for:
            raise HiddenCasesError(f"{folder}, which c.Grade.hidden_cases names, is not a folder")
        return {}
    try:
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    except (OSError, ValueError) as error:
        raise HiddenCasesError(f"{folder}: {error}") from None


def try_all(folder: Path, texts: dict[str, str], records: dict[str, str]) -> None:
    """Runs each file that was ``found``, draws its cases and computes what is right. records: the text of the record of
    each exercise that the class has and the course does not. Raises HiddenCasesError.
    """
    for name, text in texts.items():
        try:
            Job.record_and_cases(name, records.get(name, ""), text)
        except ValueError as error:
            raise HiddenCasesError(f"{folder}: {error}") from None
