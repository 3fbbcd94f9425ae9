"""A digest of the source that decides a verdict: a comment, a docstring or a page's layout leaves it as it is."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...runner import Offers

HOUSE = Path(__file__).parents[2]
# What decides, of the grader and of the published bugs that answers are compared with. Scores are computed from the
# stored report, and pages show it: `judge/results/scoring.py` and `judge/report/` are not among it.
DECIDES = (
    *(
        "exercises",
        "gpu/__init__.py",
        "gpu/aten.py",
        "gpu/devices.py",
        "gpu/compiler",
        "gpu/cuda",
        "gpu/emulator",
        "gpu/interpret.py",
        "gpu/rules.py",
    ),
    *("judge/checking", "judge/comparing", "judge/explaining", "judge/batches", "judge/records", "judge/results"),
    *("runner/call", "runner/sandbox", "words/quality.py", "words/text.py", "../kernels/wild"),
)
SCORES = "judge/results/scoring.py"
# A string is matched whole, so that neither a quote nor a # in one begins anything. Parsing a megabyte with `ast` takes
# half a second in each process that asks for the digest; this takes a twentieth. A test compares the two.
_LONG = r"(?:\"\"\"(?:[^\\\"]++|\\.|\"(?!\"\"))*\"\"\")"
_STRING = rf"""{_LONG}|'''(?:[^\\']++|\\.|'(?!''))*'''|"(?:[^"\\\n]++|\\.)*"|'(?:[^'\\\n]++|\\.)*'"""
_BLANK = r"(?:[ \t]*(?:\#[^\n]*)?\n)"  # a line without code, or the end of one
_DOCSTRING = rf"(?:(?P<before>:){_BLANK}+|\A{_BLANK}*)[ \t]*r?{_LONG}(?={_BLANK}|\Z)"
_PARTS = re.compile(rf"{_DOCSTRING}|(?P<string>{_STRING})|(?P<lines>\n{_BLANK}*)|[ \t]*\#[^\n]*", re.DOTALL)


def digest(house: Path = HOUSE, decides: tuple[str, ...] = DECIDES) -> str:
    """SHA-256 of what decides in the grader at ``house``, as hexadecimal digits."""
    return _digest((str(path.relative_to(house.parent)), path) for path in files(house, decides))


def digest_of_offered() -> str:
    """The same of the packages that offer exercises; "" where there is none."""
    places = [Path(place) for place in Offers(course=False).files]
    offered = sorted(path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place]))
    return _digest((path.name, path) for path in offered if path.suffix == ".py") if offered else ""


def _digest(named: Iterable[tuple[str, Path]]) -> str:
    sha256 = hashlib.sha256()
    for name, path in named:
        content = code(path.read_text(encoding="utf-8")).encode()
        sha256.update(f"{name} {len(content)}\n".encode() + content)
    return sha256.hexdigest()


def files(house: Path = HOUSE, decides: tuple[str, ...] = DECIDES) -> Iterator[Path]:
    """The files that decide, in order."""
    for place in decides:
        paths = sorted(house.glob(place)) if "*" in place else [(house / place).resolve()]
        modules = [module for path in paths for module in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
        yield from (module for module in modules if module != (house / SCORES).resolve())


def code(source: str) -> str:
    """``source`` without comments, docstrings and blank lines; every other character stays."""
    return _PARTS.sub(_kept, source).strip()


def _kept(part: re.Match[str]) -> str:
    return part["string"] or part["before"] or ("\n" if part["lines"] else "")
