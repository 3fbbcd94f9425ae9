"""A new chapter: ``python -m graded_kernels.course.new_chapter 10_topic [--title "The topic"]``.

It writes ``course/chapters/NN_topic.md``, a skeleton of the path that all chapters follow, which builds and runs, and
nothing else: a chapter of one's own changes no file of the course.
"""

import argparse
import re
import sys
from pathlib import Path

from ..autograder.words import UsageError
from .build import ROOT

NAME = re.compile(r"(\d\d[a-z]?)_([a-z][a-z0-9_]*)")
TEMPLATE = Path(__file__).parent / "templates" / "chapter.md.txt"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Writes the skeleton, and prints what is left to do. Returns an exit status."""
    parser = argparse.ArgumentParser(prog="make chapter", description="Begin a chapter.")
    parser.add_argument("name", metavar="NAME", help="10_topic: its number, and its file's name")
    parser.add_argument("--title", default="", help="its title (the topic)")
    options = parser.parse_args(arguments)
    try:
        chapter = add(options.name, options.title, root)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {chapter.relative_to(root)}: write what its lines in italics say, `make exercise` adds exercises,")
    print("and `make build` says what is wrong. Chapters of the course itself have rows in README.md and TEACHING.md.")
    return 0


def add(name: str, title: str, root: Path) -> Path:
    """Writes it and returns its path. Raises UsageError, and nothing is written then."""
    match = NAME.fullmatch(name)
    if match is None:
        raise UsageError(f"{name!r} is not a name for a chapter; write its number and topic, as in NAME=10_softcap")
    number, topic = match.groups()
    path = root / "course" / "chapters" / f"{name}.md"
    if taken := [other.name for other in path.parent.glob(f"{number}_*.md")]:
        raise UsageError(f"course/chapters/{taken[0]} exists and stays as it is: choose another number")
    title = title or topic.replace("_", " ").capitalize()
    text = TEMPLATE.read_text(encoding="utf-8").replace("TITLE", title).replace("TOPIC", topic)
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
