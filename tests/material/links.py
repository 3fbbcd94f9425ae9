"""``python tests/material/links.py``: whether what README, the guides, book and chapters link to is there.

Files and headings of this project are looked up without a network (`broken_here`, which the suite runs, too), then the
web is asked. A server that refuses programs (403, 429) has said nothing about its page, and is counted apart.
"""

import functools
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
TEXTS = (
    *("*.md", "autograder/*/README.md", "book/*.md", "course/*.md", "course/chapters/*.md"),
    *("examples/*/*.md", "research/**/*.md", "tests/*.md"),
)
SILENT = (401, 403, 429, 999)  # what servers answer to programs
STATUS = "status {}"
IN_HTML = re.compile(r'(?:src|href)="([^"]+)"')
PUNCTUATION = re.compile(r"[^\w\- ]")


def texts(root: Path = ROOT) -> list[Path]:
    return sorted({path for pattern in TEXTS for path in root.glob(pattern)})


@functools.cache
def tokens(path: Path) -> list[Token]:
    blocks = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    return [token for block in blocks for token in (block, *(block.children or ()))]


def targets(path: Path) -> Iterator[str]:
    """What a page links to or shows; what stands in code is no link."""
    for token in tokens(path):
        if token.type in ("html_block", "html_inline"):
            yield from IN_HTML.findall(token.content)
        elif address := token.attrGet("href") or token.attrGet("src"):
            yield str(address)


def anchors(path: Path) -> set[str]:
    """The names under which a code host has the headings of a page."""
    titles = [after.content for token, after in pairwise(tokens(path)) if token.type == "heading_open"]
    return {PUNCTUATION.sub("", title.lower()).replace(" ", "-") for title in titles}


def broken_here(root: Path = ROOT) -> list[str]:
    """A sentence for each link to a file or a heading of this project that is not there."""
    found = []
    for path in texts(root):
        for address in targets(path):
            if re.match(r"\w+:", address):  # the web, or a word of the glossary, which the builder looks up
                continue
            name, _, anchor = address.partition("#")
            target = path.parent / name if name else path
            if target.suffix == ".ipynb" and path.parent.name == "book":  # a page that the book makes of a chapter
                target = root / "course" / "chapters" / f"{target.stem}.md"
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                found.append(f"{path.relative_to(root)}: {address}: is not there")
    return found


def links() -> dict[str, str]:
    """Every address on the web, and the first file that has it."""
    found: dict[str, str] = {}
    for path in texts():
        for address in targets(path):
            if address.startswith(("http://", "https://")):
                found.setdefault(address.partition("#")[0], str(path.relative_to(ROOT)))
    return found


def answer(address: str) -> str:
    """ "" where the page is there, "refused" where the server does not say, else what is wrong."""
    request = urllib.request.Request(address, headers={"User-Agent": "graded-kernels links"})
    try:
        with urllib.request.urlopen(request, timeout=30):
            return ""
    except urllib.error.HTTPError as error:
        return "refused" if error.code in SILENT else STATUS.format(error.code)
    except (OSError, ValueError) as error:
        return str(error)


def report(found: dict[str, str], answers: Iterable[str]) -> list[str]:
    """A sentence for each link to the web that leads nowhere; none where no server answered."""
    said = list(zip(found.items(), answers, strict=True))
    refused = sum(what == "refused" for _, what in said)
    if said and not any(what in ("", "refused") or what.startswith(STATUS.format("")) for _, what in said):
        print(f"{len(found)} links to the web: not run, no server can be reached ({said[0][1]}).")
        return []
    print(f"{len(found)} links to the web; {refused} servers do not answer programs.")
    return [f"{file}: {address}: {what}" for (address, file), what in said if what not in ("", "refused")]


def main() -> int:
    broken = broken_here()
    print(f"The links of {len(texts())} texts within this project: {len(broken)} lead nowhere.")
    found = links()
    with ThreadPoolExecutor(8) as pool:
        broken += report(found, pool.map(answer, found))
    print("\n".join(broken))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
