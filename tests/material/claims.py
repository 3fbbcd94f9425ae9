"""What the project says of itself, held to what proves it: ``claims.toml``, read by ``test_claims`` and `make claims`.

A claim is a text on one of `PAGES` and a proof: lines of another page (``shows``), a number of files or of lines
(``files``, ``lines``), or tests that the suite runs (``tests``). `make claims` runs those tests and the commands that
make the pages again (``command``), and compares afterwards; what this machine cannot run (``needs``) is named.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = next(folder for folder in Path(__file__).parents if (folder / "claims.toml").exists())
PAGES = ("README.md", "book/index.md", "CHANGELOG.md")  # research/README.md is made, and `test_exam` compares it
PROOFS = ("shows", "files", "lines", "tests")
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen").split()
# What makes a sentence a claim: a number, or a word that allows no exception. "One" and "two" seldom count.
NUMBER = r"(?<![\w.#^-])(?!0)\d[\d,.]*(?![\w-])"  # not 0, nor 05, a chapter
CLAIM = re.compile(rf"{NUMBER}|\b(?:{'|'.join(NUMBERS[3:])}|never|nothing|every|all)\b", re.I)
NO_PROSE = re.compile(r"```.*?```|\]\([^)]*\)|`[^`\n]*`|<img [^>]*>|^#.*?$", re.S | re.M)
CHAPTER_ROW = re.compile(r"^\| \[\d\d.*\n", re.M)  # its link is the page that proves it; the hours have a test
Claim = dict[str, Any]


def claims() -> list[Claim]:
    return list(tomllib.loads((ROOT / "claims.toml").read_text(encoding="utf-8"))["claim"])


def plain(text: str) -> str:
    """With one space for each stretch of white space."""
    return " ".join(text.split())


def numbers(text: str) -> set[str]:
    """The numbers in a text, words as digits; not those in names of files, versions and code."""
    words = {str(NUMBERS.index(word)) for word in re.findall(r"[a-z]+", text.lower()) if word in NUMBERS[3:]}
    return words | {number.rstrip(".,") for number in re.findall(NUMBER, text)}


def unproven(page: str, text: str, listed: list[Claim]) -> Iterator[str]:
    """The sentences of a page with a number or a promise that no claim of the list covers."""
    for claim in listed:
        if claim["page"] == page:
            text = re.sub(r"\s+".join(map(re.escape, claim["says"].split())), "", text)
    text = NO_PROSE.sub("", CHAPTER_ROW.sub("", text))
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\| )", text):
        for sentence in re.split(r"(?<=[.:;!?])\s+", plain(paragraph)):
            if CLAIM.search(sentence):
                yield f"{page}: no claim of claims.toml covers: {sentence}"


def wrong(claim: Claim) -> Iterator[str]:
    """What is not as a claim says, in sentences."""
    place = f"{claim['page']}, {claim['says']!r}"
    if not any(proof in claim for proof in PROOFS):
        yield f"{place}: a claim without a proof"
    if plain(claim["says"]) not in plain((ROOT / claim["page"]).read_text(encoding="utf-8")):
        yield f"{place}: the page does not say so (any longer)"
    known = set(claim.get("meant", ()))
    for one in _listed(claim.get("shows")):
        known |= numbers(one)
        if plain(one) not in plain((ROOT / claim["proof"]).read_text(encoding="utf-8")):
            yield f"{place}: {claim['proof']} does not show {one!r}"
    if "lines" in claim:
        text = (ROOT / claim["proof"]).read_text(encoding="utf-8")
        known.add(str(len(re.findall(claim["lines"], text, re.M))))
    if "files" in claim:
        known.add(str(len(list(ROOT.glob(claim["files"])))))
    if "tests" not in claim and (missing := numbers(claim["says"]) - known):
        yield f"{place}: the proof has other numbers than {', '.join(sorted(missing))}: {', '.join(sorted(known))}"
    for name in _listed(claim.get("tests")):
        if not node(name):
            yield f"{place}: there is no test {name}"


def node(test: str) -> str:
    """The id for pytest of ``module::function``, wherever the module lies below ``tests``; "" where there is none."""
    module, _, function = test.partition("::")
    for path in (ROOT / "tests").rglob(f"{module}.py"):
        if re.search(rf"^def {function}\(", path.read_text(encoding="utf-8"), re.M):
            return f"{path.relative_to(ROOT)}::{function}"
    return ""


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def main() -> int:
    listed = claims()
    for needs in sorted({claim["needs"] for claim in listed if "needs" in claim}):
        commands = {claim["command"] for claim in listed if claim.get("needs") == needs}
        print(f"not run, needs {needs}: {', '.join(sorted(commands))}")
    commands = sorted({claim["command"] for claim in listed if "command" in claim and "needs" not in claim})
    failed = [command for command in commands if not _run(command.split())]
    tests = sorted({node(test) for claim in listed for test in _listed(claim.get("tests"))} - {""})
    if not _run(["python", "-m", "pytest", "-q", "-m", "", *tests]):
        failed.append("the tests that prove claims")
    found = [sentence for claim in listed for sentence in wrong(claim)]
    print("\n".join([*found, *(f"failed: {command}" for command in failed)]) or f"{len(listed)} claims hold.")
    return bool(found or failed)


def _run(command: list[str]) -> bool:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run([sys.executable, *command[1:]], cwd=ROOT).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
