"""What decides about an isolated answer: its outputs' bytes, its inputs' bytes, and what its kernels alone give."""

import os

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Job, make_verdict
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.elements import bits
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.sandbox import Isolated, Limits, Worker, probe
from graded_kernels.autograder.runner.sandbox.persistent_children import PersistentChildren
from graded_kernels.autograder.runner.sandbox.wire import buffers

pytestmark = pytest.mark.skipif(probe().level is None, reason=f"not run: {probe()}")

SILU = EXERCISES["silu_forward"]
X = torch.linspace(-3.0, 3.0, 1000)
CALL = "graded_kernels.autograder.runner.call"
GRADER = "import sys\n\nimport torch\n\nchild = sys.modules['graded_kernels.autograder.runner.sandbox.worker.child']\n"
KERNEL = """
import ctypes

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x / (1 + tl.exp(-x)), mask=mask)


def silu_forward(x):
    y = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    {then}
    return y
"""


def isolated(source: str, worker: Worker, backend: str = "torch") -> Isolated:
    code = Answer("silu_forward", (Cell("cell", source),))
    return Isolated(code, SILU.contract, backend, worker=worker)


def poison(shape: torch.Size) -> torch.Tensor:
    return torch.full((*shape, 4), buffers.POISON, dtype=torch.uint8).view(torch.float32).squeeze(-1)


# Outputs


def test_what_an_answer_did_not_write_is_no_number_of_any_call(worker):
    """An answer that keeps the grader from handing its result over has nothing but poison to show: no zeros, which
    are right for many an input, and nothing of an earlier call.
    """
    right = "\n\ndef silu_forward(x):\n    return x * x.sigmoid()\n"
    with isolated(GRADER + right, worker) as runner:
        assert runner.examine(Call((X,))).first.outputs[0].equal(X * X.sigmoid())
    with isolated(f"{GRADER}child._copy = lambda *rest: None\n{right}", worker) as runner:
        args = (torch.zeros(1000),)
        for _ in range(2):  # first alone in its process, then after others
            call = Call(args, layouts=((X.dtype, X.shape),))
            assert runner.examine(call).first.outputs[0].equal(poison(X.shape))


def test_what_an_answer_wrote_in_part_is_poison_in_the_rest(worker):
    half = "def half(memory, layout, tensor):\n    torch.frombuffer(memory, dtype=tensor.dtype, count=500, "
    half += "offset=layout.offset).copy_(tensor[:500])\n\n\nchild._copy = half\n"
    with isolated(f"{GRADER}\n\n{half}\n\ndef silu_forward(x):\n    return x * x.sigmoid()\n", worker) as runner:
        for args in ((X,), (X.clone(),)):
            examined = runner.examine(Call(args, layouts=((X.dtype, X.shape),)))
            for outcome in (examined.first, examined.again):
                assert outcome.outputs[0][:500].equal((X * X.sigmoid())[:500])
                assert outcome.outputs[0][500:].equal(poison(X[500:].shape))


# Inputs


@pytest.mark.parametrize("when", ["True", "len(calls) > 1"])
@pytest.mark.parametrize("backend", ["torch", "triton"])
def test_the_parent_compares_the_inputs_with_its_own(when, backend, worker):
    """Also where the answer tells the grader in its own process that all inputs are as they were."""
    hide = f"{GRADER}\nsys.modules['{CALL}.given'].unchanged = lambda *rest: True\ncalls = []\n"
    change = f"calls.append(1)\n    if {when}:\n        ctypes.c_uint8.from_address(x.data_ptr() + 4).value = 0x80"
    body = "def silu_forward(x):\n    y = x * x.sigmoid()\n    {then}\n    return y\n"
    source = hide + (KERNEL if backend == "triton" else f"import ctypes\n\n\n{body}").replace("{then}", change)
    with isolated(source, worker, backend) as runner:
        runner.examine(Call((X,)))
        assert runner.examine(Call((X.clone(),))).first.mutated == ("x",)


# The kernels alone


def test_the_kernels_have_one_process_for_all_cases(worker, monkeypatch):
    """And the answer another one."""
    begun, begin = [], Worker.begin
    monkeypatch.setattr(Worker, "begin", lambda self, *how: begun.append(1) or begin(self, *how))
    with isolated(KERNEL.replace("{then}", "pass"), worker, "triton") as runner:
        for n in (1000, 300, 7):
            args = (torch.linspace(-3.0, 3.0, n),)
            assert runner.examine(Call(args, order=1)).again.trouble is None
    assert len(begun) == 2


def test_rows_alone_are_asked_of_kernels_recorded_on_probe_inputs(worker, monkeypatch):
    """The answer's own process would know the rows of the batch by the time that it is asked for one of them."""
    begun, begin, ask, asked = [], Worker.begin, Isolated._ask, []
    monkeypatch.setattr(Worker, "begin", lambda self, *how: begun.append(1) or begin(self, *how))

    def heard(runner, job, calls, *results, **how):
        asked.extend((job["mode"], made.args[0]) for made in calls)
        return ask(runner, job, calls, *results, **how)

    monkeypatch.setattr(Isolated, "_ask", heard)
    rows = [X[:1], X[:7], X[500:]]
    with isolated(KERNEL.replace("{then}", "pass"), worker, "triton") as runner:
        for x in rows:
            came = runner.examine(Call((x,), fresh=True)).proven
            torch.testing.assert_close(came.outputs[0], torch.nn.functional.silu(x))
    given = [x for mode, x in asked if mode == "answer"]
    assert [len(x) for x in given] == [1, 7, 500] and not any(x is row for x in given for row in rows)
    assert len(begun) == 2


def test_one_bit_that_no_kernel_computed_is_seen(worker):
    """Far within the tolerance: what was computed elsewhere may be as good as it likes."""
    flip = "bits = ctypes.c_uint8.from_address(y.data_ptr() + 4 * 7)\n    bits.value ^= 1"
    reports = []
    for then in ("", flip):
        with isolated(KERNEL.replace("{then}", then), worker, "triton") as runner:
            args = (X,)
            examined = runner.examine(Call(args, order=1))
            first, second = examined.first, examined.again
            reports.append(second.trouble)
            assert int((bits(first.outputs[0]) - bits(X * X.sigmoid())).abs().max()) < 10
    assert reports[0] is None
    assert reports[1].kind == "refused"
    assert "give another result" in reports[1].message


@pytest.mark.parametrize("then", ["torch.tensor(5.0)", "y.detach_()", "y.unsqueeze_(0).transpose_(0, 1).squeeze_(1)"])
def test_a_number_in_a_tensor_and_another_view_in_place_compute_nothing(then, worker):
    with isolated(KERNEL.replace("{then}", then), worker, "triton") as runner:
        examined = runner.examine(Call((X,), order=1))
    assert (examined.first.trouble, examined.again.trouble) == (None, None)


def test_the_record_is_made_before_the_numbers_are_there(worker):
    """An answer that keeps looking at its first argument's memory sees the real numbers when the plan is fixed."""
    then = "print(float(x.abs().min()))"
    with isolated(KERNEL.replace("{then}", then), worker, "triton") as runner:
        trouble = runner.examine(Call((torch.full((1000,), 7.0),))).first.trouble
        assert trouble.kind == "refused"  # abs: PyTorch's arithmetic
    source = KERNEL.replace("{then}", "print(ctypes.c_float.from_address(x.data_ptr()).value)")
    with isolated(source, worker, "triton") as runner:
        assert runner.examine(Call((torch.full((1000,), 7.0),))).first.trouble is None
        first, second, again = map(float, runner.printed.split())  # again: whether the record is still the same
        assert first != 7.0
        assert second == again == 7.0


# What the answer's process does not know


@pytest.mark.parametrize("name, backend", [("silu_forward", "triton"), ("silu_forward", "torch")])
def test_the_seed_does_not_enter_the_process_of_an_answer(name, backend, worker, monkeypatch):
    """Nor anything it can be computed from but the numbers themselves."""
    seed, jobs = 1_234_567, []
    run = PersistentChildren.run

    def noted(self, kind, files, *rest):
        jobs.append(os.pread(files["job"], 1 << 24, 0).decode())
        return run(self, kind, files, *rest)

    monkeypatch.setattr(PersistentChildren, "run", noted)
    assert make_verdict(Job(answer(name, backend), backend, seed, Limits()), worker).report["passed"]
    assert jobs
    assert not any(str(seed) in job for job in jobs)


def test_the_memory_of_a_triton_answer_is_what_its_kernels_need_alone(worker):
    """Its own process may say what it likes."""
    forged = f"{GRADER}\nsys.modules['{CALL}.peak_memory'].Peak.note = lambda self, result: None\n"
    for before in ("", forged):
        with isolated(before + KERNEL.replace("{then}", "pass"), worker, "triton") as runner:
            args = (X,)
            examined = runner.examine(Call(args, order=1))
            first, second = examined.first, examined.again
            assert second.trouble is None
            assert first.peak == X.numel() * 4


def test_memory_that_is_no_longer_used_is_given_back_in_a_replay(worker):
    """Ten pieces, one after the other, take the room of two."""
    chunks = """
    y = torch.zeros_like(x)
    for _ in range(10):
        piece = torch.empty_like(x)
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, piece, x.numel(), BLOCK=256)
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)"""
    source = KERNEL.replace("    y = torch.empty_like(x)", chunks).replace("{then}", "pass")
    with isolated(source, worker, "triton") as runner:
        args = (X,)
        examined = runner.examine(Call(args, order=1))
        first, second = examined.first, examined.again
        assert second.trouble is None
        assert first.peak == 2 * X.numel() * 4
