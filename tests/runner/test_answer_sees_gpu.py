"""An answer in Triton cannot tell the machine that grades from one with a GPU: what it asks is answered as there."""

import os

import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.runner import InProcess
from graded_kernels.autograder.runner.sandbox import probe
from isolation import X, isolated

needs_sandbox = pytest.mark.skipif(probe().level is None, reason=f"not run: {probe()}")

QUESTIONS = {
    "torch.cuda.is_available()": True,
    "torch.cuda.device_count()": 1,
    "torch.cuda.get_device_capability()": (9, 0),
    "torch.cuda.is_initialized()": True,
    "torch.version.cuda is None": False,
    "torch.backends.cuda.is_built()": True,
    "torch.accelerator.is_available()": True,
    "triton.runtime.driver.active.get_current_target().backend": "cuda",
    "triton.runtime.driver.active.is_active()": True,
    "'TRITON_INTERPRET' in os.environ": False,
    "'CUDA_VISIBLE_DEVICES' in os.environ": False,
    "triton.knobs.runtime.interpret": False,
    "isinstance(kernel, triton.JITFunction)": True,
    "type(kernel).__name__": "JITFunction",
    "type(kernel).__module__": "triton.runtime.jit",
    "'cpu' in torch.__version__": False,
    "'cpu' in torch.version.__version__": False,
    "x.untyped_storage().device.type": "cuda",
    "torch.empty_like(x).untyped_storage().is_cuda": True,
    "x.is_cuda": True,
    "x.is_cpu": False,
    "x.device.type": "cuda",
    "x.get_device()": 0,
    "torch.empty_like(x).is_cuda": True,
    "torch.empty(3, device=x.device).is_cuda": True,
    "x[1:].device.type": "cuda",
}
ASKS = """
import os, torch, triton

@triton.jit
def kernel(x_ptr):
    pass

def silu_forward(x):
    raise RuntimeError(repr([{asked}]))
"""


@needs_sandbox
def test_every_question_is_answered_as_where_a_gpu_is(worker):
    text = ASKS.format(asked=", ".join(QUESTIONS))
    with isolated(text, worker, backend="triton") as runner:
        message = runner.examine(Call((X,))).first.trouble.message
    answers = message.removeprefix("RuntimeError: ")
    assert dict(zip(QUESTIONS, eval(answers), strict=True)) == QUESTIONS


@needs_sandbox
def test_a_pytorch_answer_is_on_the_cpu(worker):
    text = ASKS.format(asked="torch.cuda.is_available(), x.is_cuda")
    with isolated(text, worker) as runner:
        assert runner.examine(Call((X,))).first.trouble.message == "RuntimeError: [False, False]"


LAUNCHES = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)

def silu_forward(x):
    y = {made}
    kernel[(1,)](x, y, x.numel(), BLOCK=16)
    return y
"""
MADE = (
    "torch.empty_like(x)",
    "torch.empty(x.shape, device=x.device)",
    "torch.empty(x.shape, pin_memory=True)",
    "torch.empty(x.shape)",
    'torch.empty(x.shape, device="cpu")',
)


@needs_sandbox
@pytest.mark.parametrize("made", MADE)
def test_what_was_written_where_there_is_no_gpu_need_not_name_one(made, worker):
    with isolated(LAUNCHES.format(made=made), worker, backend="triton") as runner:
        assert runner.examine(Call((X,))).first.trouble is None


def in_process(text: str, backend: str) -> str:
    """What goes wrong in a call of an answer in this process, as in a notebook."""
    runner = InProcess.of(Answer("silu_forward", (Cell("answer", text),)), EXERCISES["silu_forward"].contract, backend)
    with runner.facts.ready():
        trouble = runner.examine(Call((X,))).first.trouble
    return trouble.message.removeprefix("RuntimeError: ") if trouble else ""


def test_in_a_notebook_an_answer_finds_what_it_finds_in_a_class(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    answers = in_process(ASKS.format(asked=", ".join(QUESTIONS)), "triton")
    assert dict(zip(QUESTIONS, eval(answers), strict=True)) == QUESTIONS
    assert in_process(ASKS.format(asked="torch.cuda.is_available(), x.is_cuda"), "torch") == "[False, False]"


@pytest.mark.parametrize("made", MADE)
def test_in_a_notebook_it_need_not_name_one_either(made):
    assert not in_process(LAUNCHES.format(made=made), "triton")


def test_a_notebook_is_as_it_was_after_a_check():
    found = []

    def interrupted(x):
        found.append((x.is_cuda, torch.cuda.is_available(), "TRITON_INTERPRET" in os.environ))
        raise KeyboardInterrupt

    interrupt = pytest.raises(KeyboardInterrupt)
    with interrupt:
        check("silu_forward", interrupted, backend="triton")
    assert found == [(True, True, False)]
    x = torch.ones(3)
    assert not torch.cuda.is_available() and not x.is_cuda and not torch.empty_like(x).is_cuda
    assert os.environ["TRITON_INTERPRET"] == "1"


def test_an_answer_that_dispatches_by_device_is_judged_on_its_kernel():
    from graded_kernels.kernels.silu import silu_forward

    report = check("silu_forward", lambda x: silu_forward(x) if x.is_cuda else x * x.sigmoid(), backend="triton")
    assert report.passed and report.environment["device"] == "cpu", report


ON_HOPPER = LAUNCHES.format(made="torch.empty_like(x)").replace(
    "    tl.store(", "    if not tl.target_info.cuda_capability_geq(9, 0):\n        n = 0\n    tl.store("
)


@needs_sandbox
def test_a_kernel_run_alone_is_told_of_the_same_gpu(worker):
    """The GPU that it is compiled for, sm_90, in the answer's process and where its kernels are run alone."""
    with isolated(ON_HOPPER, worker, backend="triton") as runner:
        examined = runner.examine(Call((X,)))
        assert examined.first.trouble is None and examined.again.trouble is None
        assert torch.equal(examined.first.outputs[0], X)
