"""What is missing from an exercise or too much is told in one sentence each, with file and line, all at once."""

import dataclasses

import pytest
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.course import build, pieces
from graded_kernels.course.chapter_rules import CHECK_IMPORT

RECORDS, TORCH, TRITON = "autograder/exercises/silu.py", "solutions/silu.py", "kernels/silu.py"
CHAPTER = "course/chapters/01_silu.md"
SETUP = f"```{{code-cell}} python\n{CHECK_IMPORT}\n```\n"
ANSWERS = (
    *(f"solutions/silu_{which}" for which in ("forward", "backward", "witness")),
    *(f"kernels/{op}_{which}" for op in ("silu", "swiglu") for which in ("forward", "backward")),
)
ASKED = [f"{{exercise}}`{answer}`\n:step: The second hint of {answer}, of some length.\n" for answer in ANSWERS]
LIBRARY = "kernels/__init__.py"
TEXTS = {n: (build.ROOT / n).read_text("utf-8") for n in (RECORDS, TORCH, TRITON, "kernels/swiglu.py", LIBRARY)}
TEXTS[CHAPTER] = "\n".join(["# SiLU\n", SETUP, *ASKED])


@pytest.fixture
def root(tmp_path):
    """All that there is of SiLU and SwiGLU, with a chapter that asks for nothing else."""
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(root, **changed) -> list[str]:
    """The problems below ``root``, of records with ``changed`` fields."""
    exercises = {name: EXERCISES[name] for name in pieces.find_records(root)}
    exercises |= {name: dataclasses.replace(exercises[name], **fields) for name, fields in changed.items()}
    return pieces.problems(root, exercises)


def change(root, name: str, old: str, new: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new), encoding="utf-8")


def at(name: str, text: str) -> str:
    """File and line of ``text``."""
    before, there, _ = TEXTS[name].partition(text)
    assert there, text
    return f"{name}:{before.count(chr(10)) + 1}: "


RECORD = at(RECORDS, 'name="silu_backward"')
REGION = "# %% silu_backward\n"


def test_every_record_is_found():
    """What is missing of the course stops its build: `test_notebooks_are_fresh`."""
    assert set(EXERCISES) <= set(pieces.find_records(build.ROOT)), 'a record has a line name="..."'


def test_a_file_without_a_record(root):
    (root / "autograder/exercises/helpers.py").write_text("SHARED = 1\n")
    what = "has no record: write one, or move what several records share to autograder/exercises/cases"
    assert found(root) == [f"autograder/exercises/helpers.py:1: {what}"]


def test_a_part_of_it_has_every_piece_of_its_own(root):
    assert found(root) == []


@pytest.mark.parametrize(("folder", "backend", "name"), [("solutions", "torch", TORCH), ("kernels", "triton", TRITON)])
def test_a_record_without_an_answer(root, folder, backend, name):
    change(root, name, REGION, "")
    assert found(root) == [
        f'{RECORD}silu_backward is answered in {backend}, but {folder}/ has no region "# %% silu_backward"'
    ]


def test_an_answer_without_a_record(root):
    change(root, RECORDS, 'name="silu_witness"', 'name="another_witness"')
    exercises = {name: EXERCISES[name] for name in pieces.find_records(root) if name in EXERCISES}
    assert pieces.problems(root, exercises) == [
        at(TORCH, "# %% silu_witness")
        + "no record in autograder/exercises/ is named silu_witness: write one, or rename this region"
    ]


def test_a_pair_without_a_record_is_told_once_for_each(root):
    (root / "kernels/swish.py").write_text("".join(f"# %% swish{name}\n" for name in ("_forward", "_backward", "")))
    (root / "solutions/swish.py").write_text("".join(f"# %% swish{name}\n" for name in ("_forward", "_backward")))
    assert [one.partition(":")[0] for one in found(root)] == ["solutions/swish.py"] * 2


def test_a_line_for_nothing_at_all(root):
    change(root, CHAPTER, "{exercise}`solutions/silu_witness`", "{exercise}`solutions/silu_witnes`")
    line, record = found(root)
    assert line == at(CHAPTER, "{exercise}`solutions/silu_witness`") + (
        "no exercise is called `silu_witnes`: is it silu_witness?"
    )
    assert "no chapter has a line" in record


def test_an_answer_in_a_backend_that_the_record_does_not_name(root):
    line, region = found(root, silu_backward={"backends": ("torch",)})
    assert line.endswith("exercise `silu_backward` is not answered in triton")
    assert region == at(TRITON, REGION) + "silu_backward is not answered in triton: add it to backends, or delete this"


def test_an_exercise_in_no_chapter_or_in_two(root):
    asked = "{exercise}`kernels/silu_backward`"
    change(root, CHAPTER, f"{asked}\n:step: ", "")
    assert found(root) == [f"{RECORD}no chapter has a line {asked}: write it into one"]
    for name in ("07_a", "08_b"):
        step = f":step: The second hint of {name}, which is of some length."
        (root / f"course/chapters/{name}.md").write_text(f"# A\n\n{SETUP}\n{asked}\n{step}\n")
    assert found(root) == [
        "course/chapters/08_b.md:7: `silu_backward` is already in course/chapters/07_a.md:7: take one of the lines out"
    ]


def test_a_pair_without_its_public_function(root):
    change(root, TRITON, "def silu(x: torch.Tensor)", "def swish(x: torch.Tensor)")
    (problem,) = found(root)
    assert problem.startswith(f"{at(TRITON, REGION)}silu_forward and silu_backward have no function `silu` that")
    (root / "kernels/silu_function.py").write_text("def silu(x):\n    return x\n")
    assert found(root) == []


def test_a_public_function_that_the_library_does_not_export(root):
    change(root, LIBRARY, "from .silu import silu\n", "")
    assert found(root) == [
        f"{at(TRITON, REGION)}training scripts cannot import `silu` yet: import it in kernels/__init__.py"
    ]


def test_a_gradient_of_nothing(root):
    assert found(root, silu_backward={"forward": None}) == [
        f"{RECORD}silu_backward does not say whose gradient it is: add forward=silu_forward"
    ]


def test_an_answer_that_is_a_stub(root):
    change(root, TORCH, "    return torch.full_like(x, -0.75), x\n", "    ...\n")
    assert found(root) == [at(TORCH, "def silu_witness") + "silu_witness is a stub: write its body"]


def test_an_answer_that_is_no_python_or_cannot_be_hidden(root):
    change(root, TORCH, "def silu_witness()", "def silu_witness(")
    (problem,) = found(root)
    assert problem.startswith(at(TORCH, "def silu_witness") + "invalid syntax")
    change(root, TORCH, "def silu_witness(", "def other_witness()")
    assert found(root) == [at(TORCH, "# %% silu_witness") + "region silu_witness defines no function of that name"]


def test_a_bug_without_its_case_is_found_where_it_is_written(root):
    bug = dataclasses.replace(EXERCISES["silu_backward"].wild[2], seen_by="every bfloat32 value")
    change(root, RECORDS, 'seen_by="from 2^24 on"', f'seen_by="{bug.seen_by}"')
    (problem,) = found(root, silu_backward={"wild": (bug,)})
    assert problem.startswith(at(RECORDS, 'seen_by="from 2^24 on"') + "record silu_backward: the bug of candle")


def test_a_mistake_without_a_place_is_found_at_the_name(root):
    problems = found(root, silu_backward={"cases": ()}, silu_forward={"about": ("nothing",)})
    assert problems == [
        at(RECORDS, 'name="silu_forward"')
        + "record silu_forward: it is about 'nothing', which is not the name of a case",
        RECORD + "record silu_backward: it has no cases: give a Case, or a family of them such as "
        'elementwise(("x",), "x", tail)',
    ]


def test_a_chapter_that_cannot_be_read_accuses_no_record(root):
    change(root, CHAPTER, "{exercise}`solutions/silu_witness`", "{exercise}`answers/silu_witness`")
    (problem,) = found(root)
    assert problem.startswith(at(CHAPTER, "{exercise}`solutions/silu_witness`") + "write {exercise}")


def test_all_of_it_is_said_at_once_and_nothing_is_built(root, capsys):
    change(root, TORCH, REGION, "")
    change(root, TRITON, "def silu(x: torch.Tensor)", "def swish(x: torch.Tensor)")
    assert build.main([], root=root) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert not (root / "course/source").exists()


# A record that cannot be imported.


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "def silu_forward(x: torch.Tensor)",
            "def silu_forward(values: torch.Tensor)",
            "silu_forward(values) has another signature than its record, (x)",
        ),
        (
            "def silu_forward(x: torch.Tensor)",
            "def silu_forward(x: torch.Tensor, beta: int = 1)",
            "silu_forward(x, beta=1) has another signature",
        ),
        (
            "def silu_witness()",
            "def silu_witness(seed: int)",
            "silu_witness(seed) has another signature than its record, ()",
        ),
    ],
)
def test_a_stub_with_another_signature_than_its_record(root, old, new, says):
    change(root, TORCH, old, new)
    (sentence,) = found(root)
    assert sentence.startswith(f"{at(TORCH, old)}{says}")


def test_a_default_is_part_of_the_signature(root):
    for name in (TORCH, TRITON):
        change(root, name, "def silu_forward(x: torch.Tensor)", "def silu_forward(x: torch.Tensor, beta: float = 1.0)")
    oracle = EXERCISES["silu_forward"].oracle
    assert found(root, silu_forward={"oracle": lambda x, beta=1.0: oracle(x)}) == []
    sentences = found(root, silu_forward={"oracle": lambda x, beta=2.0: oracle(x)})
    assert len(sentences) == 2
    assert "silu_forward(x, beta=1.0) has another signature than its record, (x, beta=2.0)" in sentences[0]


def test_a_stub_without_a_docstring(root):
    text = TEXTS[TORCH]
    begin = text.index('    """(dy, x): two tensors')
    change(root, TORCH, text[begin : text.index('"""\n', begin + 8) + 4], "")
    (sentence,) = found(root)
    assert sentence.startswith(f"{at(TORCH, 'def silu_witness')}silu_witness has no docstring")
