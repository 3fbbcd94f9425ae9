"""What audit.md says of a package, against float64 and without our exercises: ``python reproductions.py`` runs all.

Each needs its package on the path (``pip install --no-deps --target FOLDER``, then ``PYTHONPATH=FOLDER``); without it
it is "not run". Kernels run in the strict emulator; the first one's result has been seen on it only.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
from graded_kernels.autograder import Emulator
from graded_kernels.autograder.sanitize.cuda import shimmed


def a_first_block_of_infinity() -> str:
    """liger-kernel 0.8.5, cross-entropy: the online maximum starts at -inf. Dao-AILab/flash-attention#1930."""
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    logits = torch.full((1, 40_000), -torch.inf)
    logits[0, -2:] = torch.tensor([1.0, 2.0])  # the first block has 32,768 columns
    labels = torch.tensor([39_999])
    wanted = (logits.double().logsumexp(1) - logits.double()[0, labels]).item()
    with Emulator(fill=0.0):
        found = LigerCrossEntropyFunction.apply(logits.cuda(), labels.cuda(), None, -100, 0.0, 0.0, "none", None, False)
    return f"liger-kernel's loss is {found[0].item():.6g}, the formula in float64 {wanted:.6g}"


def main() -> None:
    def refuse(text: str) -> None:
        raise NotImplementedError(text)

    with shimmed(refuse):
        for reproduce in (a_first_block_of_infinity,):
            try:
                print(f"{reproduce.__name__}: {reproduce()}", flush=True)
            except ModuleNotFoundError as error:
                print(f"{reproduce.__name__}: not run: {error}", flush=True)


if __name__ == "__main__":
    main()
