"""An answer in Triton cannot tell the machine that grades from one with a GPU: what it asks is answered as there."""

import pytest
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.sandbox import probe
from isolation import X, isolated

pytestmark = pytest.mark.skipif(probe().rung is None, reason=f"not run: {probe()}")

QUESTIONS = {
    "torch.cuda.is_available()": True,
    "torch.cuda.device_count()": 1,
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


def test_every_question_is_answered_as_where_a_gpu_is(worker):
    text = ASKS.format(asked=", ".join(QUESTIONS))
    with isolated(text, worker, backend="triton") as runner:
        message = runner.examine(Call((X,))).first.trouble.message
    answers = message.removeprefix("RuntimeError: ")
    assert dict(zip(QUESTIONS, eval(answers), strict=True)) == QUESTIONS


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
MADE = {
    "torch.empty_like(x)": "",
    "torch.empty(x.shape, device=x.device)": "",
    "torch.empty(x.shape, pin_memory=True)": "",
    "torch.empty(x.shape)": "Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?)",
    "x.cpu()": "Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?)",
}


@pytest.mark.parametrize("made", MADE)
def test_a_kernel_is_given_what_a_gpu_can_access(made, worker):
    with isolated(LAUNCHES.format(made=made), worker, backend="triton") as runner:
        trouble = runner.examine(Call((X,))).first.trouble
    assert MADE[made] in (trouble.message if trouble else "") and bool(trouble) == bool(MADE[made])
