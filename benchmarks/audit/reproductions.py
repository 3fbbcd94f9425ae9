"""What audit.md says of a package, against float64 and without our exercises: ``python reproductions.py`` runs all.

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


def emulated():
    return Emulator(fill=0.0) if SIMULATED else contextlib.nullcontext()


def main() -> None:
    def refuse(text: str) -> None:
        raise NotImplementedError(text)

    with shimmed(refuse) if SIMULATED else contextlib.nullcontext():
        for reproduce in (a_first_block_of_infinity, a_sum_in_half_precision):
            try:
                print(f"{reproduce.__name__}: {reproduce()}", flush=True)
            except ModuleNotFoundError as error:
                print(f"{reproduce.__name__}: not run: {error}", flush=True)


if __name__ == "__main__":
    main()
