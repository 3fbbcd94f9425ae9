"""The glossary, ``course/WORDS.md``, and a chapter's links to it, which are written ``[warps](word:warp)``.

A notebook travels alone, so it gets the paragraphs of its own words, in a section that the links lead to. A link shows
its paragraph as a tooltip, too.
"""

import re
from pathlib import Path

ENTRY = re.compile(r"^\*\*([^*]+)\*\*: (.+)$", re.M)
LINK = re.compile(r"\]\(word:([^)]+)\)")
HEADING = "Words of this chapter"
ANCHOR = f"#{HEADING.replace(' ', '-')}"  # as JupyterLab and nbconvert make one of a heading


def glossary(root: Path) -> dict[str, str]:
    """Each word, and what it means; none where there is no glossary."""
    path = root / "course" / "WORDS.md"
    return dict(ENTRY.findall(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def linked(text: str, meanings: dict[str, str]) -> tuple[str, list[str]]:
    """A chapter's text with links that work in its notebook, and the words that it links to, in order.

    Raises KeyError for a word that the glossary does not have.
    """
    linked = list(dict.fromkeys(LINK.findall(text)))
    return LINK.sub(lambda match: f']({ANCHOR} "{match[1]}: {_tooltip(meanings[match[1]])}")', text), linked


def section(words: list[str], meanings: dict[str, str]) -> str:
    """Returns what the links of a notebook lead to; "" where there are none."""
    lines = [f"- **{word}**: {meanings[word]}" for word in sorted(words, key=str.lower)]
    return "\n".join([f"## {HEADING}", "", *lines]) if lines else ""


def _tooltip(meaning: str) -> str:
    """Without what Markdown would read within a title."""
    return re.sub(r'[`*"]', "", meaning)
