"""What `compare` says of the 26 labelled kernels of gpuemu-corpus.

    git clone https://github.com/sarkar-dipankar/gpuemu-corpus
    python benchmarks/side_by_side/gpuemu_corpus.py gpuemu-corpus [kernel ...] [--seeds 20]     all by default

Each kernel is the corpus's own file, called through its `run` on a simulated GPU. Its reference is the formula of the
corpus's float64 reference, in PyTorch. What the corpus says of a kernel is not used.
"""

import argparse
import importlib.util
import math
import re
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from graded_kernels.autograder import compare  # before triton is imported
from graded_kernels.autograder.gpu import shimmed
from torch import Tensor
from verdicts import Verdict, verdict_of


def rms_norm(x: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def l2_norm(x: Tensor) -> Tensor:
    return x / (x.square().sum(-1, keepdim=True) + 1e-12).sqrt()


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


# By the operator in a kernel's name: the reference, and the shapes of its example (those of a benchmark's one case).
ROWS, QUERIES = (2, 7, 256), ((8, 16), (16, 16), (16, 16))
REFERENCES: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "softmax": (lambda x: torch.softmax(x, -1), (ROWS,)),
    "layernorm": (lambda x: F.layer_norm(x, x.shape[-1:]), (ROWS,)),
    "rmsnorm": (rms_norm, (ROWS,)),
    "l2norm": (l2_norm, (ROWS,)),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), (ROWS,)),
    "silu": (F.silu, (ROWS,)),
    "leaky_relu": (F.leaky_relu, (ROWS,)),
    "relu": (F.relu, (ROWS,)),
    "sigmoid": (torch.sigmoid, (ROWS,)),
    "tanh": (torch.tanh, (ROWS,)),
    "elu": (F.elu, (ROWS,)),
    "matmul": (torch.matmul, ((7, 16), (16, 15))),
    "attention": (attention, QUERIES),
    "flash_attention": (attention, QUERIES),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("kernel", nargs="*")
    parser.add_argument("--seeds", type=int, default=1, help="of the random inputs: 0 to N - 1 (1)")
    options = parser.parse_args()
    folder = options.checkout / "gpuemu_corpus" / "data"
    names = options.kernel or sorted(path.parent.name for path in folder.glob("*/kernel.py"))
    print("| kernel | seed | verdict | families that fail | seconds |\n|---|---|---|---|---|")
    for seed in range(options.seeds):
        for name in names:
            print(judged(folder / name / "kernel.py", seed).row(f"`{name}`", str(seed)), flush=True)


def judged(path: Path, seed: int) -> Verdict:
    name = path.parent.name
    reference, shapes = REFERENCES[re.sub(r"_(triton|llm|buggy).*", "", name)]
    generator = torch.Generator().manual_seed(0)
    example = tuple(torch.randn(shape, generator=generator) for shape in shapes)

    def refuse(why: str) -> None:
        raise NotImplementedError(why)

    with shimmed(refuse):  # without a GPU, the file defines no kernel
        candidate = adapted(path, len(shapes))
    return verdict_of(lambda: compare(reference, candidate, example, simulated=True, compiler=False, seed=seed))


def adapted(path: Path, count: int) -> Callable[..., Tensor]:
    """The kernel's `run`, which takes and returns NumPy arrays, as a function of tensors."""
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = ("input",) if count == 1 else ("a", "b") if count == 2 else ("q", "k", "v")

    def run(*tensors: Tensor) -> Tensor:
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, tensors, strict=True)}
        return torch.from_numpy(module.run(arrays))

    return run


if __name__ == "__main__":
    main()
