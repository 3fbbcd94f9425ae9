"""``python tests/material/links.py``: whether the web still has what README, the guides, book and chapters link to.

A server that refuses programs (403, 429) has said nothing about its page, and is counted apart.
"""

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
TEXTS = ("*.md", "book/*.md", "course/*.md", "course/chapters/*.md", "research/**/*.md")
LINK = re.compile(r"\]\((https?://[^)\s]+)\)")
SILENT = (401, 403, 429, 999)  # what servers answer to programs


def links() -> dict[str, str]:
    """Every address, and the first file that has it."""
    found: dict[str, str] = {}
    for pattern in TEXTS:
        for path in sorted(ROOT.glob(pattern)):
            for address in LINK.findall(path.read_text(encoding="utf-8")):
                found.setdefault(address.partition("#")[0], str(path.relative_to(ROOT)))
    return found


def answer(address: str) -> str:
    """ "" where the page is there, "refused" where the server does not say, else what is wrong."""
    request = urllib.request.Request(address, headers={"User-Agent": "graded-kernels links"})
    try:
        with urllib.request.urlopen(request, timeout=30):
            return ""
    except urllib.error.HTTPError as error:
        return "refused" if error.code in SILENT else f"status {error.code}"
    except (OSError, ValueError) as error:
        return str(error)


def report(found: dict[str, str], answers: Iterable[str]) -> list[str]:
    """A sentence for each link that leads nowhere."""
    said = list(zip(found.items(), answers, strict=True))
    refused = sum(what == "refused" for _, what in said)
    print(f"{len(found)} links; {refused} servers do not answer programs.")
    return [f"{file}: {address}: {what}" for (address, file), what in said if what not in ("", "refused")]


def main() -> int:
    found = links()
    with ThreadPoolExecutor(8) as pool:
        broken = report(found, pool.map(answer, found))
    print("\n".join(broken))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
