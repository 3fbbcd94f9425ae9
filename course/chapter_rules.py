"""Says what a chapter keeps to, beside its directives: each breach in one sentence that begins with file and line."""

import ast
import itertools
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import words
from .chapter import Exercise
from .regions import Region, visible

MOST_LINES, MEDIAN_LINES, WIDTH = 25, 7, 100  # of code cells; a wider line makes a reader scroll sideways
SHORTEST_HINT, LONGEST_HINT = 40, 300
FENCE = re.compile(r"(`{3,}|~{3,})")
CODE = "```{code-cell}"
DIRECTIVES = (CODE, "```{question}")
CHECK_IMPORT = "from graded_kernels.autograder import check"  # before triton: it decides whether that interprets
HEADING = re.compile(r"(#+) ")
LINK = re.compile(r"\]\((?!https?://|word:)([^)]+)\)")
DRAWING = re.compile(r'figures\.drawing\("(\w+)"\)')
IMPORTS_ANSWER = re.compile(
    r"graded_kernels[.]solutions|graded_kernels[.]kernels(?![.]wild)|graded_kernels import .*(solutions|kernels)"
)
Numbered = list[tuple[int, str]]  # lines with their numbers


@dataclass(frozen=True)
class Block:
    """A fenced block: the line that opens it, and the lines in it."""

    line: int
    opened: str
    lines: Numbered


@dataclass(frozen=True)
class Asked:
    """A line ``{exercise}`` of a chapter, its answer, if there is one, and the hints that its report gives."""

    piece: Exercise
    region: Region | None
    given: frozenset[str]


def breaches(chapters: dict[Path, list[Asked]], root: Path) -> Iterator[str]:
    """Yields what is wrong with the chapters below ``root``, of which ``chapters`` says what they ask for."""
    for path, asked in chapters.items():
        yield from _of_chapter(path, asked, root)
    yield from _of_repeated_hints(chapters)
    yield from _of_drawings(root)


def _of_chapter(path: Path, asked: list[Asked], root: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    prose, blocks = split(text)
    cells = [block for block in blocks if block.opened.startswith(CODE)]
    yield from (f"{path}:{line}: {says}" for line, says in [*_of_headings(prose), *_of_links(prose)])
    yield from (f"{path}:{line}: {says}" for line, says in _of_words(prose, words.glossary(root)))
    yield from (f"{path}:{line}: {says}" for line, says in [*_of_setup(cells, asked), *_of_blocks(blocks)])
    yield from (f"{path}:{line}: {says}" for cell in cells for line, says in _of_cell(cell, root))
    yield from (f"{path}:{request.piece.line}: {says}" for request in asked for says in _of_hint(request))
    answers = {request.region: _lines_seen(request.region) for request in asked if request.region is not None}
    for region, lines in answers.items():
        if lines > MOST_LINES:
            yield f"{region.path}:{region.line}: a learner sees {lines} lines of {region.name}: at most {MOST_LINES}"
    lengths = [*(len(cell.lines) for cell in cells), *answers.values(), *(1 for _ in answers)]  # a check is a line
    if lengths and statistics.median(lengths) > MEDIAN_LINES:
        yield f"{path}:1: half of the code cells have more than {MEDIAN_LINES} lines: cut some in two"


def _lines_seen(region: Region) -> int:
    """Returns how many lines of an answer a learner sees; a signature counts as one, over however many it is laid."""
    text = visible(region)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.returns]
    ends = [(node.lineno, node.returns.end_lineno or node.lineno) for node in functions if node.returns]
    return len(text.splitlines()) - sum(last - first for first, last in ends)


def split(text: str) -> tuple[Numbered, list[Block]]:
    """A chapter's prose, and its fenced blocks."""
    prose: Numbered = []
    blocks: list[Block] = []
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        opens = FENCE.match(line)
        if fence and line.rstrip() == fence:
            fence = ""
        elif fence:
            blocks[-1].lines.append((number, line))
        elif opens:
            fence = opens[1]
            blocks.append(Block(number, line, []))
        else:
            prose.append((number, line))
    return prose, blocks


def _of_headings(prose: Numbered) -> Iterator[tuple[int, str]]:
    """The book lists each heading of the first level as a chapter, and a screen reader walks from level to level."""
    levels = [(number, len(match[1])) for number, line in prose if (match := HEADING.match(line))]
    if not levels or levels[0][1] != 1:
        yield 1, "a chapter begins with its title, `# Title`"
    for number, level in levels[1:]:
        if level == 1:
            yield number, "a chapter has one title: begin this heading with `##`"
    for (_, before), (number, after) in itertools.pairwise(levels):
        if after > before + 1:
            yield number, f"this heading skips a level: begin it with `{'#' * (before + 1)}`"


def _of_links(prose: Numbered) -> Iterator[tuple[int, str]]:
    for number, line in prose:
        for link in LINK.findall(line):
            yield number, f"{link} does not travel with the notebook: link to the web, or draw it in a cell"


def _of_words(prose: Numbered, known: dict[str, str]) -> Iterator[tuple[int, str]]:
    seen: dict[str, int] = {}
    for number, line in prose:
        for word in words.LINK.findall(line):
            if word not in known:
                yield number, f"course/WORDS.md has no word `{word}`: write its paragraph, or another word"
            elif seen.setdefault(word, number) != number:
                yield (
                    number,
                    f"`{word}` is linked in line {seen[word]} already: a word is linked where it is first used",
                )


def _of_setup(cells: list[Block], asked: list[Asked]) -> Iterator[tuple[int, str]]:
    if not cells:
        yield 1, "no code cell; the first one is the setup cell"
        return
    if not cells[0].lines or not cells[0].lines[0][1].startswith(CHECK_IMPORT):
        yield cells[0].line + 1, f"the setup cell, the first code cell, must begin with `{CHECK_IMPORT}`"
    for piece in (request.piece for request in asked):
        if piece.line < cells[0].line:
            yield piece.line, f"a setup cell must come before `{piece.name}`"


def _of_blocks(blocks: list[Block]) -> Iterator[tuple[int, str]]:
    for block in blocks:
        options = block.opened.startswith(CODE) and block.lines and block.lines[0][1].startswith((":", "---"))
        if options or (block.opened.startswith("```{") and not block.opened.startswith(DIRECTIVES)):
            yield block.line, "a cell is a {code-cell} block without options"


def _of_cell(cell: Block, root: Path) -> Iterator[tuple[int, str]]:
    if len(cell.lines) > MOST_LINES:
        yield cell.line, f"this cell has {len(cell.lines)} lines: at most {MOST_LINES}"
    for number, line in cell.lines:
        if len(line) > WIDTH:
            yield number, f"this line has {len(line)} characters: at most {WIDTH}"
        if IMPORTS_ANSWER.search(line):
            yield (
                number,
                "this imports an answer, which a learner could then read: import from kernels.wild, or PyTorch",
            )
        for name in DRAWING.findall(line):
            if not drawing(root, name).is_file():
                yield number, f"course/images/{name}.svg is not there"


def drawing(root: Path, name: str) -> Path:
    """The file of a drawing."""
    return root / "course" / "images" / f"{name}.svg"


def _of_hint(asked: Asked) -> Iterator[str]:
    name, step = asked.piece.name, asked.piece.step
    if not SHORTEST_HINT < len(step) < LONGEST_HINT or not step.endswith((".", "?")):
        yield (
            f"below {name} a line `:step:` gives the second hint: one to three sentences of {SHORTEST_HINT} to "
            f"{LONGEST_HINT} characters, on the step of this answer"
        )
    elif any(step in hint or (hint and hint in step) for hint in asked.given):
        yield f"the second hint of {name} is one that its report gives already: name a step of this answer"


def _of_repeated_hints(chapters: dict[Path, list[Asked]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, asked in chapters.items():
        for request in asked:
            place = f"{path}:{request.piece.line}"
            if request.piece.step and first.setdefault(request.piece.step, place) != place:
                yield f"{place}: this answer has the second hint of {first[request.piece.step]}: name a step of its own"


def _of_drawings(root: Path) -> Iterator[str]:
    texts = (root / "course" / "chapters").glob("*.md")
    shown = {name for path in texts for name in DRAWING.findall(path.read_text(encoding="utf-8"))}
    for path in sorted(drawing(root, "*").parent.glob("*.svg")):
        if path.stem not in shown:
            yield f"{path}:1: no chapter shows this drawing: delete it, or show it with figures.drawing"
