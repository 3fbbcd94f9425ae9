"""The builder: what it hides from a learner, which mistakes it names, and how a learner gets a copy."""

import shutil
from pathlib import Path

import pytest
from graded_kernels.course import build, chapter, chapter_rules, learner, regions


def test_a_stale_notebook_is_named_with_the_cure(tmp_path, capsys):
    one_chapter = build.ROOT / "course/chapters/01_silu.md"
    for folder in ("course/source/01_silu", "solutions", "kernels"):
        shutil.copytree(build.ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / one_chapter.relative_to(build.ROOT)
    shown = [one for one in (build.ROOT / "course/images").iterdir() if one.stem in one_chapter.read_text("utf-8")]
    for copied in (one_chapter, build.ROOT / "course/WORDS.md", *shown):
        target = tmp_path / copied.relative_to(build.ROOT)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(copied, target)
    path.write_text(path.read_text() + "\nOne more sentence.\n")
    assert build.main(["--check"], root=tmp_path) == 1
    line = capsys.readouterr().out.strip()
    assert line.startswith(f"course/source/{path.stem}/{path.stem}.ipynb is stale")
    assert line.endswith(build.COMMAND)
    assert build.main([], root=tmp_path) == 0
    assert build.main(["--check"], root=tmp_path) == 0


def test_a_stray_file_would_be_released(tmp_path, capsys):
    (tmp_path / "course/source/01_silu").mkdir(parents=True)
    (tmp_path / "course/source/01_silu/answers.py").write_text("secret = 1\n")
    assert build.main(["--check"], root=tmp_path) == 1
    assert "course/source/01_silu/answers.py" in capsys.readouterr().out


def test_an_assignment_of_a_teachers_own_is_left_where_it_is(tmp_path, capsys):
    path = tmp_path / "course/source/residual/residual.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert build.main([], root=tmp_path) == 0
    assert path.read_text() == "{}"
    assert "course/source/residual/residual.ipynb: no chapter" in capsys.readouterr().out


# The builder says what is wrong, and where.

SETUP = f"# Title\n\n```{{code-cell}} python\n{chapter_rules.CHECK_IMPORT}\n```\n\n"
EXERCISE = "{exercise}`solutions/silu_forward`\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SETUP + "{exercise}`solutions/no_such`\n", r"x\.md:7: no exercise is called `no_such`"),
        (
            SETUP + "{exercise}`solutions/swiglu_forward`\n",
            r"x\.md:7: exercise `swiglu_forward` is not answered in torch",
        ),
        (
            SETUP + "{exercise}`solutions/silu_backward`\n",
            r"x\.md:7: no file in solutions/ has a region `# %% silu_back",
        ),
        (SETUP + "{exercise}`answers/silu_forward`\n", r"x\.md:7: write \{exercise\}"),
        (SETUP + "{exercise}`solutions/silu_forward` now\n", r"x\.md:7: write \{exercise\}"),
        (SETUP + EXERCISE + "\n" + EXERCISE, r"x\.md:9: `silu_forward` is already used in line 7"),
        (SETUP + ":step: Alone.\n", r"x\.md:7: :step: follows an \{exercise\} line"),
        (SETUP + EXERCISE + "\n:step: Apart.\n", r"x\.md:9: :step: follows an \{exercise\} line"),
        (SETUP + EXERCISE + ":step: One.\n\n:step: Two.\n", r"x\.md:10: :step: follows an \{exercise\} line, once"),
        (EXERCISE + SETUP, r"x\.md:1: a setup cell must come before `silu_forward`"),
        ("# Title\n\nNo code.\n", r"x\.md:1: no code cell"),
        ("# Title\n\n```{code-cell} python\nimport torch\n```\n", r"x\.md:4: the setup cell.* must begin with"),
        (SETUP + "```{question} why\nguide\n```\n", r"x\.md:7: a question is"),
        (SETUP + "```{question} why\n:points: 2\n```\n", r"x\.md:7: a question is"),
        (SETUP + "```{question} why\n:points: 2\nguide\n", r"x\.md:7: the block that opens here is never closed"),
        (SETUP + "```{code-cell} python\n:tags: [x]\n1\n```\n", r"x\.md:\d+: a cell is a \{code-cell\} block without"),
    ],
)
def test_mistakes_in_a_chapter_are_named(tmp_path, text, message):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions/silu.py").write_text("# %% silu_forward\ndef silu_forward(x):\n    return x\n")
    (tmp_path / "course/chapters").mkdir(parents=True)
    (tmp_path / "course/chapters/x.md").write_text(text)
    with pytest.raises(chapter.ChapterError, match=message):
        build.build_all(tmp_path)
    assert build.main([], root=tmp_path) == 1


def test_a_region_may_not_start_twice(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/a.py").write_text("# %% one\n")
    (tmp_path / "kernels/b.py").write_text("\n# %% one\n")
    with pytest.raises(ValueError, match=r"b\.py:2: region one already starts at .*a\.py:1"):
        regions.find_regions(tmp_path)


def shown(text: str) -> str:
    return regions.visible(regions.Region("f", "kernels", Path("f.py"), 1, text))


def test_what_a_learner_sees_of_an_answer():
    text = shown(
        "SIZE = 4\n\n\n# helps\n@jit\ndef helper(x):\n    return 1\n\n\ndef other():\n    return 2\n\n\n"
        '@jit\ndef f_kernel(x):\n    """Doc."""\n    # A hint.\n\n    y = 3\n    # Done.\n    return y\n    # Really.\n'
        "\n\nclass f_class:\n    def f_method(self):\n        return 5\n"
        "\n\ndef f(\n    x,\n):\n    # Shown.\n    return 4"
    )
    assert text == (
        'SIZE = 4\n\n\n...\n\n\n@jit\ndef f_kernel(x):\n    """Doc."""\n    # A hint.\n\n    ...\n\n\n'
        "class f_class:\n    def f_method(self):\n        ...\n\n\ndef f(\n    x,\n):\n    # Shown.\n    ..."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x): return x", "body on the line of its signature"),
        ('def f(x):\n    """Doc."""', "a docstring and no body"),
        ("def g(x):\n    return x", "defines no function of that name"),
    ],
)
def test_an_answer_that_cannot_be_hidden_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        shown(text)


def test_a_learners_notebook_is_never_overwritten(tmp_path):
    original, folder = tmp_path / "source.ipynb", tmp_path / "mine"
    shutil.copy(next((build.ROOT / "course/source").glob("*/*.ipynb")), original)
    copy = folder / original.name
    assert learner.give([original], folder) == [f"new      {copy}"]
    mine = copy.read_text().replace("YOUR ANSWER HERE", "my answer")
    copy.write_text(mine)
    assert learner.give([original], folder) == [f"kept     {copy}"]

    version = learner.version(original)
    original.write_text(original.read_text().replace(version, "0123456789ab"))
    (line,) = learner.give([original], folder)
    assert line.startswith(f"kept     {copy} (the chapter has changed")
    assert "graded-kernels update source" in line
    assert list(folder.iterdir()) == [copy]
    assert copy.read_text() == mine

    copy.write_text("not a notebook")
    learner.give([original], folder)
    assert copy.read_text() == "not a notebook"
