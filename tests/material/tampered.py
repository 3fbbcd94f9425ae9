"""Everything that a submitted notebook can be, and the scores it deserves.

Each function changes a right notebook of the small chapter, given as a dictionary, or returns a file's bytes.
"""

import hashlib

import nbformat
from unreadable import NO_NOTEBOOKS

WITNESS, TORCH, TRITON, WORDS = "silu_witness-torch", "silu_forward-torch", "silu_forward-triton", "tiny_words"
FULL = {WITNESS: 2, TORCH: 2, WORDS: None}
NOTHING = {WITNESS: 0, TORCH: 0, WORDS: 0}
UNREAD = dict.fromkeys(FULL)  # waits for a person
LIMITED = "linear_cross_entropy_forward_backward-torch"
MEMORY = {"label_logits-torch": 2, "cross_entropy_forward-torch": 6, "cross_entropy_backward-torch": 4, LIMITED: 8}
BOTH = FULL | {TRITON: 2}
ZEROS = "def silu_forward(x):\n    return torch.zeros_like(x)"


def find(nb: dict, grade_id: str) -> dict:
    return next(cell for cell in nb["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def code(source: str) -> dict:
    cell_id = f"new-{hashlib.sha256(source.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return nbformat.v4.new_code_cell(source, id=cell_id)


def add(nb: dict, before: str, source: str) -> None:
    nb["cells"].insert(nb["cells"].index(find(nb, before)), code(source))


def copy_of(cell: dict, source: str) -> dict:
    return {**cell, "id": f"{cell['id'][:40]}-copy", "source": source}


def right(nb): ...


def skip_tags(nb):
    find(nb, TORCH)["source"] = ZEROS
    find(nb, f"{TORCH}-check")["metadata"]["tags"] = ["skip-execution"]


def edited_check(nb):
    find(nb, TORCH)["source"] = ZEROS
    find(nb, f"{TORCH}-check")["source"] = "check = lambda *a, **k: 2.0\n2.0"


def forged_output(nb):
    find(nb, TORCH)["source"] = ZEROS
    result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2.0"}}
    find(nb, f"{TORCH}-check")["outputs"] = [result]


def deleted_checks(nb):
    nb["cells"] = [cell for cell in nb["cells"] if cell.get("id", "").removesuffix("-check") == cell.get("id", "")]


def deleted_answer(nb):
    nb["cells"].remove(find(nb, TORCH))


def emptied_answer(nb):
    find(nb, TORCH)["source"] = "# I will do this tomorrow\n"


def copied_answer(nb):
    """A first draft, and below the check a copy of its cell with the final answer."""
    final = find(nb, TORCH)
    draft = copy_of(final, ZEROS)
    at = nb["cells"].index(final)
    nb["cells"][at : at + 2] = [draft, nb["cells"][at + 1], final]


def split_answer(nb):
    """Cut in two inside the function, with a cell between the halves."""
    cell = find(nb, TORCH)
    head, cut, tail = cell["source"].partition("    return ")
    cell["source"] = head
    nb["cells"].insert(nb["cells"].index(cell) + 1, copy_of(cell, cut + tail))
    nb["cells"].insert(nb["cells"].index(cell) + 1, code("print('halfway')"))


def changed_numbers(nb):
    for cell in nb["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(points=1000, schema_version=2, locked=False, checksum="x")
    nb["metadata"]["kernelspec"] = {"name": "julia", "display_name": "Julia", "language": "julia"}


def newer_schema(nb):
    find(nb, TORCH)["metadata"]["nbgrader"]["schema_version"] = 99


def swapped_flags(nb):
    find(nb, f"{TORCH}-check")["metadata"]["nbgrader"].update(solution=True, grade=False)
    find(nb, TORCH)["metadata"]["nbgrader"].update(solution=False, grade=True, points=2)
    find(nb, TORCH)["source"] = ZEROS


def renamed_ids(nb):
    """Other grade ids; the notebook format's own ids are still there."""
    for number, cell in enumerate(nb["cells"]):
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["grade_id"] = f"renamed-{number}"


def lost_metadata(nb):
    """As after a journey through a program that keeps neither metadata nor ids."""
    for cell in nb["cells"]:
        cell["metadata"] = {}
        del cell["id"]
    nb["nbformat_minor"] = 4


def lost_and_ambiguous(nb):
    lost_metadata(nb)
    nb["cells"].append(code(ZEROS))


def odd_metadata(nb):
    add(nb, TORCH, "print('\ud800')")  # half a surrogate pair
    odd = ["x", 5, None, [], {"grade_id": []}, {"grade_id": "\ud800"}]
    for cell, value in zip(nb["cells"], odd, strict=False):
        cell["metadata"]["nbgrader"] = value
    nb["cells"] += ["x", {}, {"cell_type": "code"}, {"cell_type": "code", "source": 5}, {"cell_type": [], "source": ""}]


def magics(nb):
    find(nb, TORCH)["source"] = "%%time\n" + find(nb, TORCH)["source"] + "\n%timeit silu_forward(torch.ones(3))"
    add(nb, TORCH, "%matplotlib inline\n!pip list\nfiles = !ls\ntorch.exp?")


def right_below_a_hundred_magics(nb):
    find(nb, TORCH)["source"] = "%time x = 1\n" * 100 + find(nb, TORCH)["source"]


def helper_cells(nb):
    """One before the answer, and one between it and its check."""
    add(nb, TORCH, "def wide(x):\n    return x.to(torch.promote_types(x.dtype, torch.float32))")
    find(nb, TORCH)["source"] = "def silu_forward(x):\n    return product(wide(x)).to(x.dtype)"
    add(nb, f"{TORCH}-check", "def product(v):\n    return v * torch.sigmoid(v)")


def helper_in_a_copied_cell(nb):
    """Copying the setup cell copies its grade id."""
    helper = "def wide(x):\n    return x.to(torch.promote_types(x.dtype, torch.float32))"
    nb["cells"].insert(nb["cells"].index(find(nb, TORCH)), copy_of(find(nb, "setup"), helper))
    find(nb, TORCH)["source"] = "def silu_forward(x):\n    v = wide(x)\n    return (v * torch.sigmoid(v)).to(x.dtype)"


def edited_demo(nb):
    """Demo cells are there to play with, and are not run for a grade."""
    demo = next(cell for cell in nb["cells"] if cell["source"].startswith("torch.exp"))
    demo["source"] = "torch.exp(torch.zeros(4))"


def other_version(nb):
    """Cells that the released chapter no longer has."""
    nb["cells"].insert(3, code("raise RuntimeError") | {"id": "tiny-0123abcd"})
    nb["cells"].insert(4, nbformat.v4.new_markdown_cell("Old text.", id="tiny-4567abcd-2"))


def later_cell(nb):
    """A grade comes from the cells up to the check."""
    helper_cells(nb)
    nb["cells"].append(code("def wide(x):\n    raise RuntimeError('too late')"))


def course_in_a_helper(nb):
    add(nb, TORCH, "from graded_kernels.autograder import check\nfrom graded_kernels.course import figures\nx = 1")


def course_in_an_answer(nb):
    find(nb, TORCH)["source"] = "from graded_kernels.solutions.silu import silu_forward"


def torch_answer_in_tritons_cell(nb):
    find(nb, TRITON)["source"] = find(nb, TORCH)["source"]


def one_cell_for_both(nb):
    """The Triton answer below the PyTorch answer, in its cell."""
    find(nb, TORCH)["source"] += "\n\n\n" + find(nb, TRITON)["source"]


def system_exit(nb):
    add(nb, TORCH, "import sys\nsys.exit(1)")


def raising_cell(nb):
    add(nb, TORCH, "1 / 0")
    add(nb, TORCH, "def broken(:\n")


def helper_after_what_fails(nb):
    """In a notebook of the learner's own the module, the device and the file were there."""
    fails = "import pandas_of_tomorrow as pd\ntorch.ones(1).cuda()\nopen('scores.csv')\n"
    add(nb, TORCH, f"{fails}def negated(v):\n    return -v")
    find(nb, TORCH)["source"] += "\n\nright = silu_forward\n\n\ndef silu_forward(x):\n    return negated(-right(x))"


def what_failed_is_called(nb):
    helper_after_what_fails(nb)
    find(nb, TORCH)["source"] = find(nb, TORCH)["source"].replace(
        "    return negated", "    pd.Series(x)\n    return negated"
    )


def answer_in_another_cell(nb):
    """Below its check, which passed when it was run once more."""
    cell = find(nb, TORCH)
    add(nb, WORDS, cell["source"])
    head, docstring, _ = cell["source"].split('"""')
    cell["source"] = f'{head}"""{docstring}"""\n    ...  # YOUR CODE HERE'


def raising_after_the_answer(nb):
    find(nb, TORCH)["source"] += "\nprint(1 / 0)"
    add(nb, f"{TORCH}-check", "this is not python")


def noisy(nb):
    loud = "import sys, warnings\nwarnings.warn('careful')\nprint('!', file=sys.stderr)\n"
    find(nb, TORCH)["source"] = loud + find(nb, TORCH)["source"].replace(
        "    v = ", "    warnings.warn('again')\n    print('!', file=sys.stderr)\n    v = ", 1
    )


def hostile_message(nb):
    evil = "'<script>alert(1)</script>\\033[2J'"
    find(nb, TORCH)["source"] = f"def silu_forward(x):\n    raise ValueError({evil})\n%time {evil}"


def missing_picture(nb):
    words = find(nb, WORDS)
    words["source"] = "See ![here](attachment:gone.png) and ![there](attachment:kept.png)."
    words["attachments"] = {"kept.png": {"image/png": "iVBORw0KGgo="}, "empty.png": {}}


def words_in_a_cell_of_their_own(nb):
    find(nb, WORDS)["source"] = ""
    nb["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "My answer."})


def null_byte(nb):
    find(nb, TORCH)["source"] = ZEROS + "\n\0"


def no_cells(nb):
    nb["cells"] = []


def too_much_code(nb):
    add(nb, TORCH, "#" * 1_100_000)


TAMPERED = {
    right: FULL,
    skip_tags: FULL | {TORCH: 0},
    edited_check: FULL | {TORCH: 0},
    forged_output: FULL | {TORCH: 0},
    deleted_checks: FULL,
    deleted_answer: FULL | {TORCH: 0},
    emptied_answer: FULL | {TORCH: 0},
    copied_answer: FULL,
    split_answer: FULL,
    changed_numbers: FULL,
    newer_schema: FULL,
    swapped_flags: FULL | {TORCH: 0},
    renamed_ids: FULL,
    lost_metadata: FULL,
    lost_and_ambiguous: FULL | {TORCH: 0},
    odd_metadata: FULL,
    magics: FULL,
    right_below_a_hundred_magics: FULL,
    helper_cells: FULL,
    helper_in_a_copied_cell: FULL,
    edited_demo: FULL,
    other_version: FULL,
    later_cell: FULL,
    course_in_a_helper: FULL,
    course_in_an_answer: FULL | {TORCH: 0},
    system_exit: FULL,
    raising_cell: FULL,
    helper_after_what_fails: FULL,
    what_failed_is_called: FULL | {TORCH: 0},
    answer_in_another_cell: FULL,
    raising_after_the_answer: FULL,
    noisy: FULL,
    hostile_message: FULL | {TORCH: 0},
    missing_picture: FULL,
    words_in_a_cell_of_their_own: FULL,
    null_byte: FULL | {TORCH: 0},
    **dict.fromkeys(NO_NOTEBOOKS, UNREAD),
    no_cells: UNREAD,
    too_much_code: UNREAD,
}


def not_python_in_torchs_cell(nb):
    find(nb, TORCH)["source"] = "silu_forward <- function(x) x / (1 + exp(-x))"


IN_BOTH = {
    right: BOTH,
    course_in_an_answer: BOTH | {TORCH: 0},
    not_python_in_torchs_cell: BOTH | {TORCH: 0},
    torch_answer_in_tritons_cell: BOTH | {TRITON: 0},
    one_cell_for_both: BOTH | {TORCH: 0},
    lost_metadata: BOTH,
}
