"""What a chapter keeps to is told with file and line where it does not."""

from pathlib import Path

import pytest
from graded_kernels.course.chapter import Exercise, parse
from graded_kernels.course.chapter_rules import CHECK_IMPORT, Asked, breaches
from graded_kernels.course.regions import Region

GIVEN = "A hint that the report gives, of more than forty characters."
GOOD = f"""# Title

```{{code-cell}} python
{CHECK_IMPORT}
```

## What happened

Prose with [a link](https://example.org).

```{{code-cell}} python
figures.drawing("shown")
```

{{exercise}}`kernels/f`
:step: The first step is to look at the sum, and then at its largest term.

{{exercise}}`kernels/g`
:step: The first step is to look at the product, and then at its smallest factor.
"""


@pytest.fixture
def root(tmp_path):
    for name in ("course/chapters", "course/images"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "course/images/shown.svg").write_text("<svg/>")
    return tmp_path


def region(name: str, lines: int = 1) -> Region:
    """An answer of which a learner sees ``lines`` and two more."""
    return Region(name, "kernels", Path("kernels/f.py"), 5, "A = 1\n" * lines + f"def {name}(x):\n    return x")


def told(root, text: str, lines: int = 1) -> list[str]:
    path = root / "course/chapters/00_x.md"
    path.write_text(text)
    asked = [
        Asked(piece, region(piece.name, lines), frozenset([GIVEN]))
        for piece in parse(path, text)
        if isinstance(piece, Exercise)
    ]
    return [one.replace(f"{root}/", "") for one in breaches({path: asked}, root)]


def test_a_chapter_that_keeps_to_everything(root):
    assert told(root, GOOD) == []


CELL = "```{code-cell} python\n"
F = "The first step is to look at the sum, and then at its largest term."


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("# Title", "## Title", 1, "a chapter begins with its title"),
        ("## What", "# What", 7, "a chapter has one title"),
        ("## What", "### What", 7, "this heading skips a level: begin it with `##`"),
        ("https://example.org", "01_silu.md", 9, "01_silu.md does not travel with the notebook"),
        (CHECK_IMPORT, "import torch", 4, f"the setup cell, the first code cell, must begin with `{CHECK_IMPORT}`"),
        (
            "# Title\n",
            "# Title\n{exercise}`kernels/h`\n:step: First a look at all of it, then one at its parts.\n",
            2,
            "a setup",
        ),
        (
            'figures.drawing("shown")\n',
            "\n" * 22 + 'figures.drawing("shown")\n' + "\n" * 3,
            11,
            "this cell has 26 lines",
        ),
        ('figures.drawing("shown")', f'figures.drawing("shown")  # {"x" * 73}', 12, "this line has 101 characters"),
        (
            'figures.drawing("shown")',
            'figures.drawing("shown"), figures.drawing("other")',
            12,
            "course/images/other.svg",
        ),
        ("figures.d", "from graded_kernels.kernels import silu; figures.d", 12, "this imports an answer"),
        ("figures.d", "from graded_kernels import solutions; figures.d", 12, "this imports an answer"),
        (f"{CELL}figures", f"{CELL}:tags: [x]\nfigures", 11, "a cell is a {code-cell} block without options"),
        (f"{CELL}figures", "```{raw-cell}\nfigures", 11, "a cell is a {code-cell} block without options"),
        (f":step: {F}\n", "", 15, "below f a line `:step:` gives the second hint"),
        (F, "Too short to be of any use.", 15, "below f a line `:step:` gives"),
        (F, F[:-1], 15, "below f a line `:step:` gives"),
        (F, 5 * F, 15, "below f a line `:step:` gives"),
        (F, GIVEN, 15, "the second hint of f is one that its report gives already"),
        (
            F,
            "The first step is to look at the product, and then at its smallest factor.",
            18,
            "this answer has the second",
        ),
    ],
)
def test_a_breach_is_told_with_its_line(root, old, new, line, says):
    assert old in GOOD
    found = told(root, GOOD.replace(old, new, 1))
    assert any(one.startswith(f"course/chapters/00_x.md:{line}: {says}") for one in found), found


def test_an_answer_that_is_too_long_to_see(root):
    assert told(root, GOOD, lines=24)[0] == "kernels/f.py:5: a learner sees 26 lines of f: at most 25"
    assert not told(root, GOOD, lines=5)


def test_cells_that_are_long_in_the_middle(root):
    cell = f"{CELL}{'1' + chr(10)}{'2' * 3}\n{'3' + chr(10)}" + "4\n" * 5 + "```\n\n"
    assert told(root, GOOD + "\n" + cell * 7)[-1].startswith(
        "course/chapters/00_x.md:1: half of the code cells have more"
    )


def test_a_drawing_that_is_shown_nowhere(root):
    (root / "course/images/other.svg").write_text("<svg/>")
    assert told(root, GOOD) == [
        "course/images/other.svg:1: no chapter shows this drawing: delete it, or show it with figures.drawing"
    ]
