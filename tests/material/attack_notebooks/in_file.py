"""Attacks by the file: its cells, metadata and outputs, and what is no notebook at all."""

import json

from tampered import TORCH, UNREAD, WITNESS, WORDS, ZEROS, add, code, copy_of, find

from .attack import registry

ATTACKS, attack = registry()
LEFT_OUT = "s to read as Python, and was left out."
REPORT = "application/vnd.graded-kernels.report+json"


def check_of(nb: dict) -> dict:
    return find(nb, f"{TORCH}-check")


def wrong(nb: dict) -> None:
    find(nb, TORCH)["source"] = ZEROS


def retype(cell: dict, kind: str) -> None:
    del cell["outputs"], cell["execution_count"]
    cell["cell_type"] = kind


# Checks


@attack({TORCH: 0}, f"The cell `{TORCH}-check` is missing.")
def stripped_check(nb):
    """A check without its metadata."""
    wrong(nb)
    check_of(nb).update(metadata={}, id="mine", source="2.0")


@attack({TORCH: 0})
def check_as_markdown(nb):
    """A check that is text."""
    wrong(nb)
    retype(check_of(nb), "markdown")


@attack({TORCH: 0})
def check_as_raw(nb):
    """A check that is neither."""
    wrong(nb)
    retype(check_of(nb), "raw")


@attack({TORCH: 0})
def check_that_is_an_answer(nb):
    """The check retagged as the learner's own cell, with a score in it."""
    wrong(nb)
    check_of(nb)["metadata"]["nbgrader"].update(solution=True, grade=True, locked=False, points=2)
    check_of(nb)["source"] = "2.0"


@attack()
def check_in_front(nb):
    """The checks first, the answers last."""
    checks = [cell for cell in nb["cells"] if cell["id"].endswith("-check")]
    rest = [cell for cell in nb["cells"] if not cell["id"].endswith("-check")]
    nb["cells"] = checks + rest


@attack({TORCH: 0})
def check_many_times(nb):
    """Copies of the check, each with the score that it would like."""
    wrong(nb)
    cell = check_of(nb)
    for points in (2, 1000, "nan"):
        nb["cells"].append(copy_of(cell, f"float('{points}')"))


@attack()
def check_of_its_own(nb):
    """A cell that claims to be a check of another exercise, worth 100 points."""
    claim = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False}
    cell = code("100.0")
    cell["metadata"]["nbgrader"] = claim | {"points": 100, "grade_id": "bonus-torch-check", "cell_type": "code"}
    cell["outputs"] = [{"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": forged(100)}]
    nb["cells"].append(cell)


@attack({TORCH: 0, WITNESS: 0})
def swapped_ids(nb):
    """Each answer under the other's name, each check too."""
    for one, other in ((TORCH, WITNESS), (f"{TORCH}-check", f"{WITNESS}-check")):
        first, second = find(nb, one), find(nb, other)
        first["metadata"]["nbgrader"]["grade_id"] = other
        second["metadata"]["nbgrader"]["grade_id"] = one
    wrong_one = find(nb, TORCH)  # the witness, under this name now
    wrong_one["source"] = "def silu_forward(x):\n    return x"


# What metadata and outputs claim


@attack({TORCH: 0})
def every_tag(nb):
    """Tags that other programs heed."""
    wrong(nb)
    tags = ["skip-execution", "raises-exception", "remove-cell", "remove_output", "hide-input", "parameters"]
    for cell in nb["cells"]:
        cell["metadata"].update(tags=tags, jupyter={"source_hidden": True, "outputs_hidden": True}, collapsed=True)


@attack({TORCH: 0})
def extra_keys(nb):
    """Keys that nbgrader's format forbids, and points of another type."""
    wrong(nb)
    for cell in nb["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(extra_credit=5, auto_score=2, points="1000", remove=True)


@attack()
def another_kernel(nb):
    """A kernel that is a command, and a language that is not Python."""
    nb["metadata"]["kernelspec"] = {"name": "../../bash", "display_name": "<b>", "argv": ["rm", "-rf", "/"]}
    nb["metadata"]["language_info"] = {"name": "bash", "pygments_lexer": "html", "file_extension": ".sh"}


@attack()
def no_kernel(nb):
    """Metadata of the wrong types."""
    nb["metadata"] = {"kernelspec": None, "language_info": [], "widgets": {"application/json": "</script>"}}


@attack({TORCH: 0})
def our_own_records(nb):
    """The marks that the grader itself puts on notebook and cells: added, not graded, unreadable, not finished."""
    wrong(nb)
    claims = {"added": True, "not_graded": True, "unreadable": "x", "begun": True, "notes": ["<b>Full marks.</b>"]}
    nb["metadata"]["graded_kernels"] = claims | {"chapter": ".*"}
    for cell in nb["cells"]:
        cell["metadata"]["graded_kernels"] = claims


def forged(points: float) -> dict:
    report = {"exercise": "silu_forward", "backend": "torch", "passed": True, "score": 1.0, "cases": []}
    return {"text/plain": repr(float(points)), "text/html": f"<b>{points:g} of {points:g} points</b>", REPORT: report}


@attack({TORCH: 0})
def forged_report(nb):
    """Outputs in every cell as the grader writes them, for full marks."""
    wrong(nb)
    result = {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": forged(2)}
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": forged(2)}, result]


@attack({TORCH: 0})
def outputs_of_the_wrong_type(nb):
    """Outputs that are no outputs, and cells without what a cell has."""
    wrong(nb)
    odd = ("text", 5, [None, 5, {"output_type": "stream"}, {"output_type": []}], {"data": 1}, [[]] * 3)
    for cell, outputs in zip((c for c in nb["cells"] if c["cell_type"] == "code"), odd, strict=False):
        cell["outputs"], cell["execution_count"] = outputs, "<b>1</b>"


@attack()
def large_outputs(nb):
    """30 MB of outputs, as a plot in a loop leaves them: dropped before they cost anything."""
    html = {"text/html": "<b>x</b>" * 2_000_000}
    check_of(nb)["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": html}]
    find(nb, TORCH)["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["x" * 100] * 100_000}]


# Answers


@attack({TORCH: 0}, "2 cells define `silu_forward`")
def answer_copied_under_other_ids(nb):
    """Two answers, none under its id."""
    cell = find(nb, TORCH)
    nb["cells"].append(code(ZEROS))
    cell["metadata"], cell["id"] = {}, "mine"


@attack()
def answer_as_raw_text(nb):
    """The answer's cell is raw, its code is right."""
    retype(find(nb, TORCH), "raw")


@attack({WORDS: None})
def words_as_code(nb):
    """The written answer as a code cell."""
    find(nb, WORDS).update(cell_type="code", outputs=[], execution_count=None)


# Files


@attack(UNREAD, "of at most 5000")
def many_cells(nb):
    """A hundred thousand copies of a locked cell: one after another would be compared with all before it."""
    cell = {"cell_type": "code", "source": check_of(nb)["source"][:2], "id": f"{TORCH}-check"}
    nb["cells"] += [cell] * 100_000


@attack(says=LEFT_OUT)
def magics_without_end(nb):
    """A megabyte that IPython would read again for every magic."""
    add(nb, TORCH, "x = [1, 2, 3]\n" * 60_000 + "%time x\n" * 20)


@attack(says=LEFT_OUT)
def endless_question(nb):
    """One word of 200,000 characters, and a question mark that IPython looks for behind each."""
    add(nb, TORCH, "%time 1\n" + "a" * 200_000 + " ?")


@attack(says=LEFT_OUT)
def fields_without_end(nb):
    """A formatted string of 60,000 fields, which Python 3.11 reads in quadratic time."""
    add(nb, TORCH, 'x = f"""' + "{x}" * 60_000 + '"""')


@attack(UNREAD, "of memory to read")
def empty_lists(nb):
    """48 MB of JSON that take thirty times as much memory."""
    return ("[" + "[]," * 16_000_000 + "[]]").encode()


@attack()
def half_surrogates(nb):
    """In the name of a picture and of its type: a valid JSON string that no file can hold."""
    find(nb, WORDS)["attachments"] = {"a\ud800.png": {"image/\ud800": "aaaa"}}


@attack()
def large_picture(nb):
    """Twenty megabytes in a text: its feedback page would be as large."""
    find(nb, WORDS)["attachments"] = {"large.png": {"image/png": "a" * 20_000_000}}


@attack()
def deep_code(nb):
    """Parentheses, sums and blocks too deep for a parser, in cells that a grade does not need."""
    for source in ("(" * 100_000, "1" + "+1" * 100_000, "-" * 100_000 + "1", "a" + ".a" * 100_000, "9" * 100_000):
        add(nb, TORCH, source)


@attack()
def byte_order_mark(nb):
    """As some editors of Windows save it."""
    return b"\xef\xbb\xbf" + json.dumps(nb).encode()


@attack(UNREAD, "is not text")
def another_encoding(nb):
    """UTF-16."""
    return json.dumps(nb).encode("utf-16")


@attack()
def numbers_that_json_has_not(nb):
    """NaN and infinities, where a number is allowed."""
    nb["metadata"]["nan"] = float("nan")
    nb["nbformat_minor"] = float("inf")
    for cell in nb["cells"]:
        cell["execution_count"] = float("-inf")


@attack({TORCH: 0})
def keys_twice(nb):
    """Two sources in one cell, of which JSON's readers take the last: so does JupyterLab."""
    wrong(nb)
    last = json.dumps(ZEROS)
    return (
        json.dumps(nb).replace(last, '"def silu_forward(x): return x * torch.sigmoid(x)", "source": ' + last).encode()
    )


@attack(UNREAD, "without any cell")
def cells_twice(nb):
    """Two lists of cells; the last is empty."""
    return json.dumps(nb)[:-1].encode() + b', "cells": []}'


@attack(UNREAD, "cannot be read")
def deep_metadata(nb):
    """A notebook whose metadata are 100,000 lists deep."""
    nb["metadata"]["deep"] = "@@"
    return json.dumps(nb).replace('"@@"', "[" * 100_000 + "]" * 100_000).encode()


@attack()
def metadata_somewhat_deep(nb):
    """500 lists deep: JSON can be read, and nothing else needs to follow."""
    nb["metadata"]["deep"] = find(nb, TORCH)["metadata"]["deep"] = json.loads("[" * 500 + "]" * 500)


@attack(UNREAD, "no list of cells")
def old_format(nb):
    """The notebook format of 2013, with worksheets."""
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": nb["cells"]}], "metadata": {}}).encode()


@attack()
def future_format(nb):
    """A format that does not exist yet; its cells are cells."""
    nb["nbformat"] = 99


@attack(UNREAD, "cannot be read")
def huge_number(nb):
    """A number of a million digits, which takes Python minutes to read."""
    return json.dumps(nb).encode()[:-1] + b', "n": ' + b"9" * 1_000_000 + b"}"
