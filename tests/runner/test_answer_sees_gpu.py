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
