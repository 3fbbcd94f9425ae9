"""The check in a real IPython kernel: what a learner sees who forgets a return, or runs a broken cell."""

import pytest
from graded_kernels.autograder import EXERCISES

from tests.notebook_kernel import SETUP, Notebook

RIGHT = """
def silu_forward(x):
    v = x.float()
    return (v * torch.sigmoid(v)).to(x.dtype)
"""
CASES = len(EXERCISES["silu_forward"].cases)
CHECK = 'check("silu_forward", silu_forward, backend="torch")'
AXPY = """
@triton.jit
def axpy_kernel(a, x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, (a * x + y).to(out_ptr.dtype.element_ty), mask=mask)


def axpy(a, x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if x.numel():
        axpy_kernel[(triton.cdiv(x.numel(), 1024),)](float(a), x, y, out, x.numel(), BLOCK=1024)
    return out
"""
CHECK_AXPY = 'check("axpy", axpy, backend="triton", compiler=False)'


@pytest.fixture(scope="module")
def notebook():
    notebook = Notebook()
    assert notebook.outcome(SETUP) == ""
    yield notebook
    notebook.close()


@pytest.mark.parametrize("body", ["...  # YOUR CODE HERE", "pass", '"""What."""', "raise NotImplementedError()"])
def test_a_stub_is_not_implemented_yet(notebook, body):
    notebook.run(f'def silu_forward(x):\n    """x * sigmoid(x)"""\n    {body}\n')
    assert "not implemented yet" in notebook.outcome(CHECK)


def test_a_forgotten_return_is_named(notebook):
    notebook.run(RIGHT.replace("return", "y ="))
    outcome = notebook.outcome(CHECK)
    assert "`silu_forward` returns nothing (None)" in outcome
    assert "not implemented" not in outcome


def test_the_function_of_an_earlier_run_is_not_checked_when_its_cell_broke(notebook):
    notebook.run(RIGHT)
    assert ": passed" in notebook.outcome(CHECK)
    notebook.run(RIGHT.replace("x.float()", "x.float("))
    outcome = notebook.outcome(CHECK)
    assert "stopped with SyntaxError in line 2" in outcome
    assert ": passed" not in outcome
    notebook.run("not_there = nothing\n" + RIGHT)
    assert "stopped with NameError in line 1" in notebook.outcome(CHECK)
    notebook.run(RIGHT + "1 / 0\n")  # below the function, which is the new one
    assert ": passed" in notebook.outcome(CHECK)


def test_the_function_of_an_earlier_run_is_not_checked_when_its_cell_no_longer_defines_it(notebook):
    """A learner renames the function, and the old one is still there: a passed check would be of code that is gone."""
    notebook.run(RIGHT, cell="answer")
    assert ": passed" in notebook.outcome(CHECK, cell="check")
    notebook.run(RIGHT.replace("silu_forward", "my_silu"), cell="answer")
    outcome = " ".join(notebook.outcome(CHECK, cell="check").split())
    assert "has no `def silu_forward` any more" in outcome
    assert ": passed" not in outcome
    notebook.run(RIGHT, cell="moved to another cell")
    assert ": passed" in notebook.outcome(CHECK, cell="check")
    notebook.run("silu_forward(torch.ones(2))", cell="answer")
    assert ": passed" in notebook.outcome(CHECK, cell="check")


def test_a_broken_triton_answer_leaves_the_pytorch_answer_of_that_name_alone(notebook):
    notebook.run(RIGHT)
    notebook.run("@triton.jit\ndef silu_kernel(x_ptr:\n    ...\n\ndef silu_forward(x):\n    return x\n")
    assert ": passed" in notebook.outcome(CHECK)
    assert "stopped with SyntaxError" in notebook.outcome(CHECK.replace("torch", "triton"))


def test_a_kernel_whose_name_another_cell_took_is_named(notebook):
    """The answer would launch the other cell's kernel; a grader, which stops at the answer's cell, never sees that."""
    notebook.run(AXPY)
    other = AXPY.replace("axpy(a, x, y)", "doubled(a, x, y)").replace("a * x + y", "2 * x")
    notebook.run(other)
    outcome = " ".join(notebook.outcome(CHECK_AXPY).split())
    assert "`axpy_kernel`, which the cell of `axpy` defines, was defined anew by another cell" in outcome
    notebook.run(AXPY)
    assert ": passed" in notebook.outcome(CHECK_AXPY)
    notebook.run(AXPY.replace("axpy(a, x, y)", "again(a, x, y)"))  # the same kernel
    assert ": passed" in notebook.outcome(CHECK_AXPY)
    notebook.run("mine = axpy\naxpy = None")  # the answer under another name
    assert ": passed" in notebook.outcome(CHECK_AXPY.replace(" axpy,", " mine,"))


LOOP = '    print("begun", flush=True)\n    while True: x = x + 1\n'


@pytest.mark.parametrize(
    ("check", "answer", "line"),
    [
        (CHECK, RIGHT.replace("    v =", f"{LOOP}    v ="), 3),
        (CHECK_AXPY, AXPY.replace("    tl.st", f"{LOOP}    tl.st"), 8),
    ],
)
def test_interrupting_an_endless_loop_names_its_line(notebook, check, answer, line):
    """The interruption may still find the loop's first statement above it, which says that it has begun."""

    def interrupt(message):
        if message["type"] == "stream":
            notebook.manager.interrupt_kernel()

    assert notebook.outcome(answer) == ""
    *_, last = notebook.run(check, on=interrupt)
    assert last["type"] == "error"
    assert last["text"].count("\n") == 0
    assert "Interrupted while" in last["text"]
    assert any(f"line {at}, `" in last["text"] for at in (line - 1, line))


def test_an_error_in_the_launcher_names_the_line(notebook):
    assert notebook.outcome(AXPY.replace("out = torch.empty_like(x)", "out = x.empty()")) == ""
    outcome = " ".join(notebook.outcome(CHECK_AXPY).split())
    assert (
        "`axpy` fails in line 12, `out = x.empty()`: AttributeError: 'Tensor' object has no attribute 'empty'"
        in outcome
    )


def test_of_what_a_kernel_prints_a_few_lines_are_shown(notebook):
    assert notebook.outcome(AXPY.replace("    tl.store", "    print(x)\n    tl.store")) == ""
    printed = [message["text"] for message in notebook.run(CHECK_AXPY) if message["type"] == "stream"]
    text = "".join(printed)
    assert len(text) < 3000
    assert text.count("more lines") == 1
    assert text.count("\n") <= 12


@pytest.mark.exhaustive
def test_a_slow_check_says_where_it_is_and_clears_the_line(notebook):
    slow = RIGHT.replace("    return", "    import time; time.sleep(1.5)\n    return")
    assert notebook.outcome(slow) == ""
    found = notebook.run(CHECK)
    shown = [message for message in found if message["type"] == "display_data"]
    updates = [message for message in found if message["type"] == "update_display_data"]
    assert shown
    assert shown[0]["text"].startswith("checking silu_forward")
    assert f"case 1 of {CASES}," in shown[0]["text"]
    assert updates[-1]["text"] == ""
    assert found[-1]["type"] == "execute_result"


def test_a_report_is_quiet_where_nbgrader_runs_the_notebook(notebook):
    assert notebook.outcome(RIGHT) == ""
    run = f"import os; os.environ['NBGRADER_EXECUTION'] = 'validate'\n{CHECK}"
    try:
        assert notebook.run(run) == []
    finally:
        notebook.run("del os.environ['NBGRADER_EXECUTION']")
    assert ": passed" in notebook.outcome(CHECK)
