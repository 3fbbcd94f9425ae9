"""What the loss and the fused last layer cost, counted without a GPU; Liger-Kernel's beside ours where it is installed.

    python benchmarks/loss.py                 writes benchmarks/loss.md and prints it

Memory is what PyTorch's tensors take at their peak, traffic what Triton's programs load and store in the emulator. Both
are the same on every machine.
"""

import dataclasses
import importlib
import sys
from importlib import metadata
from importlib.metadata import version
from pathlib import Path

import torch
import torch.nn.functional as F
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.judge.records.ulp import ulp_error
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.runner import InProcess
from graded_kernels.solutions import cross_entropy as cpu
from graded_kernels.solutions.linear_cross_entropy import linear_cross_entropy_forward_backward

try:
    from liger_kernel.ops import LigerCrossEntropyFunction as Liger
except ImportError:
    Liger = None

kernels = importlib.import_module("graded_kernels.kernels.cross_entropy")
fused = importlib.import_module("graded_kernels.kernels.linear_cross_entropy")

ROWS, WIDTH, CLASSES = 256, 32, (256, 1024, 4096, 8192)
NOTE = """# The loss

Made by `python benchmarks/loss.py` with PyTorch {torch}, Triton {triton} and {liger}.

## Memory at its peak: hidden ({rows}, {width}), weight (V, {width}), float32

`linear_cross_entropy_forward_backward` over all logits at once (`F.cross_entropy(hidden @ weight.t(), labels)` and its
gradients).

"""
TRAFFIC = """
## Traffic of cross-entropy, forward and backward, over the bytes of the logits (16, 5000)

Three is the least for a backward pass that is called on its own: the logits twice, their gradient once.

"""
GRADIENT = """
## The label's gradient in bfloat16, worst error in ulp over 400 probabilities from 1e-6 to 1 - 1e-6

"""


def table(header: tuple, rows: list[tuple]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (header, ("---",) * len(header), *rows)) + "\n"


def all_logits(hidden, weight, labels):
    h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    loss = F.cross_entropy(h @ w.t(), labels)
    return loss.detach(), *torch.autograd.grad(loss, (h, w))


def peak(function, backend: str, classes: int) -> int:
    record = dataclasses.replace(EXERCISES["linear_cross_entropy_forward_backward"], refused=frozenset())
    args = torch.randn(ROWS, WIDTH), torch.randn(classes, WIDTH), torch.randint(classes, (ROWS,))
    outcome = InProcess(function, record.contract, backend).examine(Call(args)).first
    assert outcome.trouble is None, outcome.trouble
    return outcome.peak


def memory() -> list[tuple]:
    rows = []
    for classes in CLASSES:
        plain = peak(all_logits, "torch", classes)
        ours = [
            peak(linear_cross_entropy_forward_backward, "torch", classes),
            peak(fused.linear_cross_entropy_forward_backward, "triton", classes),
        ]
        rows.append((f"{classes:,}", f"{plain / 2**20:.1f} MiB", *(f"{own / plain:.2f}" for own in ours)))
    return rows


def ours_both_ways(logits, labels, dloss):
    _, lse = kernels.cross_entropy_forward(logits, labels)
    return kernels.cross_entropy_backward(dloss, logits, labels, lse)


def liger_both_ways(logits, labels, dloss):
    """Its gradient of a sum; where all of dloss are one number. The loss is one number, so that is all it is asked."""
    x = logits.clone().requires_grad_()
    loss, *_ = Liger.apply(x, labels, None, -100, 0.0, 0.0, "sum")
    return torch.autograd.grad(loss, x, dloss[0].to(loss.dtype))[0]


def traffic() -> list[tuple]:
    logits, labels = torch.randn(16, 5000), torch.randint(5000, (16,))
    rows = []
    for name, both_ways in {"ours": ours_both_ways, "Liger-Kernel": Liger and liger_both_ways}.items():
        times = []
        for upstream in (1.0, 0.7) if both_ways else ():
            with Emulator() as emulator:
                both_ways(logits, labels, torch.full((16,), upstream))
            moved = sum(t["loaded"] + t["stored"] for t in emulator.traffic.values())
            times.append(f"{moved / (logits.numel() * 4):.2f}")
        rows.append((name, *(times or ("not run", "not run"))))
    return rows


def gradients() -> list[tuple]:
    gap = torch.linspace(-13.8, 13.8, 400).bfloat16()
    logits = torch.stack([torch.zeros_like(gap), gap, gap - 2], dim=1)
    labels, dloss = torch.zeros(400, dtype=torch.int64), torch.full((400,), 0.75)
    exact = -torch.sigmoid(torch.logsumexp(logits[:, 1:].double(), 1) - logits[:, 0].double()) * 0.75

    def pytorch(logits, labels, dloss):
        x = logits.clone().requires_grad_()
        return torch.autograd.grad(F.cross_entropy(x, labels, reduction="sum"), x, dloss[0].bfloat16())[0]

    def ours_in_pytorch(logits, labels, dloss):
        return cpu.cross_entropy_backward(dloss, logits, labels, cpu.cross_entropy_forward(logits, labels)[1])

    authors = {"PyTorch": pytorch, "ours, PyTorch": ours_in_pytorch, "ours, Triton": ours_both_ways}
    rows = []
    for name, function in (authors | {"Liger-Kernel": Liger and liger_both_ways}).items():
        if not function:
            rows.append((name, "not run"))
            continue
        with Emulator():
            own = function(logits, labels, dloss)[:, 0]
        rows.append((name, f"{ulp_error(own, exact, torch.bfloat16).max().item():.2f}"))
    return rows


def page() -> str:
    torch.manual_seed(0)
    liger = f"liger-kernel {metadata.version('liger-kernel')}" if Liger else "without liger-kernel (its rows: not run)"
    return "".join(
        (
            NOTE.format(torch=torch.__version__, triton=version("triton"), liger=liger, rows=ROWS, width=WIDTH),
            table(("V", "all logits at once", "ours, PyTorch", "ours, Triton"), memory()),
            TRAFFIC,
            table(("", "upstream gradient 1", "upstream gradient 0.7"), traffic()),
            GRADIENT,
            table(("computed by", "worst error"), gradients()),
        )
    )


if __name__ == "__main__":
    text = page()
    sys.stdout.write(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
