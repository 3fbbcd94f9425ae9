"""What audit.md and suites.md say of a package, against float64, without our exercises: ``python reproductions.py``.

Each needs its package on the path (``pip install --no-deps --target FOLDER``, then ``PYTHONPATH=FOLDER``); without it
it is "not run". Kernels run on the GPU where there is one, otherwise in the strict emulator.
"""

import contextlib

import torch
from graded_kernels.autograder import Emulator
from graded_kernels.autograder.sanitize.cuda import shimmed
from torch.nn import functional as F

SIMULATED = not torch.cuda.is_available()


def a_first_block_of_infinity() -> str:
    """liger-kernel 0.8.5, cross-entropy: the online maximum starts at -inf. Dao-AILab/flash-attention#1930."""
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    logits = torch.full((1, 40_000), -torch.inf)
    logits[0, -2:] = torch.tensor([1.0, 2.0])  # the first block has 32,768 columns
    labels = torch.tensor([39_999])
    wanted = (logits.double().logsumexp(1) - logits.double()[0, labels]).item()
    with emulated():
        found = LigerCrossEntropyFunction.apply(logits.cuda(), labels.cuda(), None, -100, 0.0, 0.0, "none", None, False)
    return f"liger-kernel's loss is {found[0].item():.6g}, the formula in float64 {wanted:.6g}"


def a_sum_in_half_precision() -> str:
    """liger-kernel 0.5.4, layer norm: a float16 row is summed in float16, which ends at 65,504."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    x = (torch.randn(4, 4096, generator=torch.Generator().manual_seed(0)) + 20).half()
    weight, bias = torch.ones(4096).half(), torch.zeros(4096).half()
    wanted = F.layer_norm(x.double(), (4096,))
    with emulated():
        found = LigerLayerNormFunction.apply(x.cuda(), weight.cuda(), bias.cuda(), 1e-5).cpu()
    error, own = ((y.double() - wanted).abs().max().item() for y in (found, F.layer_norm(x, (4096,))))
    return f"liger-kernel's largest error is {error:.2g}, PyTorch's own {own:.2g}"


def a_reference_in_half_precision() -> str:
    """PyTorch's layer norm on the CPU, the reference of liger-kernel's tests: bfloat16 is added in bfloat16."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    x, dy = torch.randn(2, 64, 128, generator=torch.Generator().manual_seed(0)).bfloat16()

    def gradient(norm, x, dy) -> torch.Tensor:
        weight = torch.ones_like(x[0]).requires_grad_()
        return torch.autograd.grad(norm(x, weight, torch.zeros_like(x[0])), weight, dy)[0].double().cpu()

    def by_pytorch(x, weight, bias):
        return F.layer_norm(x, (128,), weight, bias)

    wanted = gradient(by_pytorch, x.double(), dy.double())
    with emulated():
        found = gradient(lambda *given: LigerLayerNormFunction.apply(*given, 1e-5), x.cuda(), dy.cuda())
    own, rounded = gradient(by_pytorch, x, dy), wanted.bfloat16().double()
    errors = ((y - wanted).abs().max().item() for y in (found, own, rounded))
    return "largest errors: liger-kernel {:.3g}, PyTorch on the CPU {:.3g}, float64 rounded {:.3g}".format(*errors)


def emulated():
    return Emulator(fill=0.0) if SIMULATED else contextlib.nullcontext()


def main() -> None:
    def refuse(text: str) -> None:
        raise NotImplementedError(text)

    with shimmed(refuse) if SIMULATED else contextlib.nullcontext():
        for reproduce in (a_first_block_of_infinity, a_sum_in_half_precision, a_reference_in_half_precision):
            try:
                print(f"{reproduce.__name__}: {reproduce()}", flush=True)
            except ModuleNotFoundError as error:
                print(f"{reproduce.__name__}: not run: {error}", flush=True)


if __name__ == "__main__":
    main()
