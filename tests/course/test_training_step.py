"""A step of the modern block: the course's functions, and a learner's own kernels out of their notebooks, against
PyTorch's in float64.
"""

import json
import shutil

import pytest
import torch
from answers import ROOT
from graded_kernels.course.gpt import own, step
from graded_kernels.course.gpt.block import COURSE, PYTORCH, SmallModel
from graded_kernels.course.gpt.text import ALPHABET

CLOSE = 1e-6  # what the float32 gradients of PyTorch and ours are off by, three times over: at most 3.2e-7 at ten seeds


def model():
    torch.manual_seed(0)
    return SmallModel(len(ALPHABET), 32, 1, 2)


@pytest.fixture(scope="module")
def exact():
    return step.exact_gradients(model(), next(step.windows()))


def worst(ops, exact):
    return max(step.errors(step.gradients(model(), ops, next(step.windows())), exact).values())


@pytest.fixture
def notebooks(tmp_path):
    """A folder with the notebooks of a learner who has written everything as we have."""
    for source in sorted((ROOT / "course" / "source").glob("*/*.ipynb")):
        shutil.copy(source, tmp_path)
    return tmp_path


def change(folder, answer, source):
    """Writes ``source`` into the cell of an answer."""
    for path in folder.glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell.get("id") == answer:
                cell["source"] = source
                path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.parametrize("ops", [PYTORCH, COURSE], ids=["pytorch", "course"])
def test_every_gradient_is_that_of_float64(ops, exact):
    assert worst(ops, exact) < CLOSE


def test_the_learners_kernels_take_the_place_of_the_courses(notebooks, exact):
    ops, whose = own.ops(notebooks)
    assert set(whose.values()) == {"yours"}, whose
    assert worst(ops, exact) < CLOSE


def test_what_is_not_written_is_the_courses(notebooks, exact):
    change(notebooks, "swiglu_backward-triton", "def swiglu_backward(dy, gate, up):\n    ...\n")
    change(notebooks, "cross_entropy_forward-triton", "1 / 0")
    ops, whose = own.ops(notebooks)
    assert {name for name, one in whose.items() if one == "yours"} == {"rms_norm", "rotary", "attention", "adamw_step"}
    assert worst(ops, exact) < CLOSE


def test_what_a_learner_defines_beside_an_answer_is_there(notebooks, exact):
    path = notebooks / "01_silu.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    at = next(i for i, cell in enumerate(notebook["cells"]) if cell["id"] == "swiglu_backward-triton")
    own_cell = {"cell_type": "code", "id": "mine", "metadata": {}, "outputs": [], "execution_count": None}
    own_cell["source"] = ["def twice(x):\n", "    return 2 * x\n", "raise SystemExit(twice(1))\n"]
    notebook["cells"].insert(at, own_cell)
    notebook["cells"][at + 1]["source"] = "def swiglu_backward(dy, gate, up):\n    return twice(dy), twice(dy)\n"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    ops, whose = own.ops(notebooks)
    assert whose["swiglu"] == "yours"
    assert worst(ops, exact) > 0.1


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    with pytest.raises(ValueError, match="torn.ipynb is no notebook that can be read: move it out of"):
        own.ops(tmp_path)


def test_a_wrong_kernel_is_seen_in_the_tensors_before_it(notebooks, exact):
    change(notebooks, "swiglu_backward-triton", "def swiglu_backward(dy, gate, up):\n    return dy * up, dy * gate\n")
    ops, _ = own.ops(notebooks)
    errors = step.errors(step.gradients(model(), ops, next(step.windows())), exact)
    assert errors["blocks.0.gate_up.weight"] > 0.1, errors
    assert errors["blocks.0.down.weight"] < CLOSE, errors


def test_a_folder_without_notebooks_has_the_courses(tmp_path):
    (tmp_path / "other.ipynb").write_text('{"cells": []}')
    ops, whose = own.ops(tmp_path)
    assert ops == COURSE
    assert set(whose.values()) == {"the course's"}


def test_a_learners_own_step_is_taken(notebooks):
    ops, whose = own.ops(notebooks)
    assert whose["adamw_step"] == "yours"
    ours, theirs = (step.train(model(), functions, range(5)) for functions in (ops, PYTORCH))
    assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 1e-5
    change(notebooks, "adamw_step-triton", "def adamw_step(param, grad, m, v, step, **how):\n    param.zero_()\n")
    still = step.train(model(), own.ops(notebooks)[0], range(3))
    assert abs(still[-1] - torch.tensor(float(len(ALPHABET))).log()) < 1e-5  # of weights that are 0


@pytest.mark.exhaustive
def test_many_steps_stay_together_and_learn():
    ours, theirs = (step.train(model(), ops, range(40)) for ops in (COURSE, PYTORCH))
    assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 1e-4
    assert ours[-1] < ours[0] - 0.7
    assert step.train(model(), COURSE, range(1)) == ours[:1]
