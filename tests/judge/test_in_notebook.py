"""The check in a real IPython kernel: what a learner sees who forgets a return, or runs a broken cell."""

import pytest
from graded_kernels.autograder import EXERCISES
from notebook_kernel import SETUP, Notebook

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
SILU_KERNEL = """
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
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


def checked(notebook, backend="torch") -> str:
    """What the check cell of a built notebook shows."""
    name = f"silu_forward-{backend}-check"
    return " ".join(notebook.outcome(CHECK.replace("torch", backend), cell=name).split())


def test_a_check_takes_the_answer_of_its_own_cell_in_any_order(notebook):
    notebook.run(RIGHT, cell="silu_forward-torch")
    notebook.run(SILU_KERNEL, cell="silu_forward-triton")
    assert ": passed" in checked(notebook, "torch")
    assert ": passed" in checked(notebook, "triton")
    assert ": passed" in checked(notebook, "torch")


def test_a_check_takes_the_helpers_of_its_own_cell(notebook):
    """Both answers may give them one name, as both answers have one."""
    helper = "def part(v):\n    return torch.sigmoid(v)\n" + RIGHT.replace("torch.sigmoid(v)", "part(v)")
    notebook.run(helper, cell="silu_forward-torch")
    notebook.run("def part(v):\n    return v\n" + SILU_KERNEL, cell="silu_forward-triton")
    assert ": passed" in checked(notebook, "torch")


def test_an_answers_cell_that_stops_is_named(notebook):
    notebook.run(RIGHT, cell="silu_forward-torch")
    notebook.run(RIGHT.replace("x.float()", "x.float("), cell="silu_forward-torch")
    assert "stopped with SyntaxError in line 2" in checked(notebook)
    notebook.run(RIGHT.replace("    return", "   return"), cell="silu_forward-torch")
    assert "stopped with IndentationError in line 4" in checked(notebook)
    notebook.run("not_there = nothing\n" + RIGHT, cell="silu_forward-torch")
    assert "stopped with NameError in line 1 (name 'nothing' is not defined)" in checked(notebook)


def test_a_function_above_the_line_at_which_its_cell_stops_is_checked(notebook):
    notebook.run(RIGHT + "1 / 0\n", cell="silu_forward-torch")
    assert ": passed" in checked(notebook)


def test_a_function_that_was_renamed_is_not_checked_under_its_old_name(notebook):
    notebook.run(RIGHT, cell="silu_forward-torch")
    assert ": passed" in checked(notebook)
    notebook.run(RIGHT.replace("silu_forward", "my_silu"), cell="silu_forward-torch")
    assert "The cell of this answer defines no `silu_forward`" in checked(notebook)


def test_an_answer_in_a_cell_of_the_learners_own_is_checked(notebook):
    notebook.run(RIGHT.replace("return (v", "return (2 * v"), cell="silu_forward-torch")
    notebook.run(RIGHT, cell="added")
    assert ": passed" in checked(notebook)
    notebook.run(RIGHT.replace("return (v", "return (2 * v"), cell="silu_forward-torch")
    assert ": passed" not in checked(notebook)


def test_a_broken_cell_of_the_learners_own_does_not_matter(notebook):
    notebook.run(RIGHT, cell="silu_forward-torch")
    notebook.run(SILU_KERNEL, cell="silu_forward-triton")
    notebook.run("if silu_forward:\n    pass\n  pass", cell="added")
    assert ": passed" in checked(notebook)


def test_a_check_in_the_answers_own_cell_is_of_the_function_there(notebook):
    notebook.run("runs = 0")
    assert ": passed" in notebook.outcome(f"runs += 1\n{RIGHT}\n{CHECK}", cell="silu_forward-torch")
    notebook.run(SILU_KERNEL, cell="silu_forward-triton")
    assert ": passed" in checked(notebook)
    assert notebook.outcome("runs") == "2"


def test_a_check_does_not_repeat_what_the_answers_cell_prints(notebook):
    assert notebook.outcome(RIGHT + "print('once')\n", cell="silu_forward-torch") == "once\n"
    assert "once" not in checked(notebook)


def test_without_ids_the_function_defined_last_is_checked(notebook):
    notebook.run(RIGHT)
    notebook.run(SILU_KERNEL)
    assert "is not the PyTorch answer" in " ".join(notebook.outcome(CHECK).split())
    notebook.run(RIGHT)
    assert ": passed" in notebook.outcome(CHECK)


def test_a_check_of_a_function_of_another_name_is_of_that_function(notebook):
    wrong = RIGHT.replace("silu_forward", "mine").replace("return (v", "return (2 * v")
    notebook.run(RIGHT + wrong, cell="silu_forward-torch")
    outcome = notebook.outcome(CHECK.replace(", silu_forward,", ", mine,"), cell="silu_forward-torch-check")
    assert ": not passed" in outcome


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
