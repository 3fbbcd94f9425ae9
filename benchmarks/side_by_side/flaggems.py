"""What `compare` says of operators of FlagGems beside PyTorch's.

    git clone https://github.com/flagos-ai/FlagGems
    pip install packaging PyYAML sqlalchemy
    python benchmarks/side_by_side/flaggems.py FlagGems [operator ...]     all by default

FlagGems's own functions are called, and their Triton kernels run in the emulator, on a simulated GPU. The reference is
PyTorch's function; where FlagGems has a backward, it is compared with autograd's.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from graded_kernels.autograder import compare  # before triton is imported
from graded_kernels.autograder.gpu import shimmed
from torch import Tensor
from verdicts import Verdict, verdict_of

Example = tuple[Tensor, ...]


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def operators(gems: Any) -> dict[str, tuple[Callable[..., Any], Any, Example]]:
    """By name: PyTorch's function, FlagGems's (with its backward, where the forward has one), and an example."""

    def softmax_backward(dy: Tensor, x: Tensor) -> Tensor:
        return gems.softmax_backward(dy, gems.softmax(x, -1), -1, x.dtype)

    def log_softmax_backward(dy: Tensor, x: Tensor) -> Tensor:
        return gems.log_softmax_backward(dy, gems.log_softmax(x, -1), -1, x.dtype)

    def layer_norm_backward(dy: Tensor, x: Tensor, w: Tensor, b: Tensor) -> Any:
        _, mean, rstd = gems.layer_norm(x, x.shape[-1:], w, b)
        return gems.layer_norm_backward(dy, x, x.shape[-1:], mean, rstd, w, b, [True, True, True])

    rows = draw(6, 70)
    return {
        "silu": (F.silu, (gems.silu, gems.silu_backward), (rows,)),
        "gelu": (F.gelu, (gems.gelu, gems.gelu_backward), (rows,)),
        "tanh": (torch.tanh, gems.tanh, (rows,)),
        "softplus": (F.softplus, (gems.softplus, gems.softplus_backward), (rows,)),
        "softmax": (lambda x: torch.softmax(x, -1), (lambda x: gems.softmax(x, -1), softmax_backward), (rows,)),
        "log_softmax": (
            lambda x: torch.log_softmax(x, -1),
            (lambda x: gems.log_softmax(x, -1), log_softmax_backward),
            (rows,),
        ),
        "logsumexp": (lambda x: torch.logsumexp(x, -1), lambda x: gems.logsumexp(x, [-1]), (rows,)),
        "layer_norm": (
            lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
            (lambda x, w, b: gems.layer_norm(x, x.shape[-1:], w, b)[0], layer_norm_backward),
            (rows, draw(70), draw(70)),
        ),
        "var_mean": (
            lambda x: torch.var_mean(x, -1),
            lambda x: gems.var_mean(x, [-1], correction=1),
            (rows,),
        ),
        "vector_norm": (
            lambda x: torch.linalg.vector_norm(x, dim=-1),
            lambda x: gems.vector_norm(x, 2, [-1]),
            (rows,),
        ),
        "cumsum": (lambda x: torch.cumsum(x, -1), lambda x: gems.cumsum(x, -1), (rows,)),
        "mm": (torch.mm, gems.mm, (draw(6, 20), draw(20, 10))),
        "argmax": (lambda x: torch.argmax(x, -1), lambda x: gems.argmax(x, -1), (rows,)),
    }


def as_memory(buffer: type) -> None:
    """Lets the emulator take FlagGems's StridedBuffer, which is no tensor, for the view of its base that it is."""

    def missing(self: Any, name: str) -> Any:
        base = self.__dict__["_base"]
        return getattr(base.as_strided(self.shape, self._strides, base.storage_offset() + self.offset), name)

    buffer.__getattr__ = missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("operator", nargs="*")
    parser.add_argument("--show", action="store_true", help="the reports, too")
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout / "src"))

    def refuse(why: str) -> None:
        raise NotImplementedError(why)

    with shimmed(refuse):  # it looks for a GPU when it is imported
        import flag_gems

        as_memory(flag_gems.utils.tensor_wrapper.StridedBuffer)
        known = operators(flag_gems.ops)
    print("| operator | verdict | families that fail | seconds |\n|---|---|---|---|")
    for name in options.operator or known:
        found = judged(*known[name])
        print(found.row(f"`{name}`"), flush=True)
        if options.show:
            print(found.report, flush=True)


def judged(reference: Callable[..., Any], candidate: Any, example: Example) -> Verdict:
    return verdict_of(lambda: compare(reference, candidate, example, simulated=True, compiler=False))


if __name__ == "__main__":
    main()
