"""Repairs found in libraries' histories: the kernel before the commit and as of it, called in a few lines of ours.

The lines say nothing of what is right, so that only a checker that watches a kernel run can judge them; those of
`fixes/` do. Of the libraries, facts alone are here: commits, names and parameters of functions.
"""

import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Repair:
    """kind: of row.KINDS. fault: what was repaired. folder: what of the repository is needed. on_path: what of it is
    put on the path.
    """

    call: Callable[[], object]
    repository: str
    parent: str
    commit: str
    kind: str
    fault: str
    folder: str
    on_path: str


REPAIRS: dict[str, Repair] = {}


def repaired(repository: str, *, parent: str, commit: str, kind: str, folder: str, on_path: str = ".") -> Callable:
    """Enters a call into `REPAIRS`. Its docstring is the fault."""

    def enter(call: Callable[[], object]) -> Callable[[], object]:
        fault = " ".join((call.__doc__ or "").split())
        REPAIRS[call.__name__] = Repair(call, repository, parent, commit, kind, fault, folder, on_path)
        return call

    return enter


def without_init(*packages: str) -> None:
    """Makes packages importable, from the first folder of the path that has them, without what their ``__init__`` would
    import: the whole library, and much that is not installed.
    """
    for name in packages:
        package = types.ModuleType(name)
        part = Path(*name.split("."))
        package.__path__ = [next(str(Path(folder) / part) for folder in sys.path if (Path(folder) / part).is_dir())]
        package.__version__ = ""
        sys.modules[name] = package


def rows_2_to_the_30_apart() -> torch.Tensor:
    """Three rows of 64: the third begins 2^31 elements behind the first. Nothing between them is touched."""
    x = torch.empty(2**31 + 64, dtype=torch.float16, device="cuda").as_strided((3, 64), (2**30, 1))
    return x.fill_(1)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).cuda()


@repaired(
    "linkedin/Liger-Kernel",
    parent="d1343adcdd9314efe004dbfb431cd7ad91105c12",
    commit="58fd2bc85073fdb010164426c9b159cd8a0e9542",
    kind="memory",
    folder="src",
    on_path="src",
)
def liger_swiglu() -> None:
    """SwiGLU: a row's offset is computed in 32 bits and wraps at 2^31."""
    without_init("liger_kernel", "liger_kernel.ops")
    from liger_kernel.ops.swiglu import _swiglu_forward_kernel

    a, c = rows_2_to_the_30_apart(), rows_2_to_the_30_apart()
    _swiglu_forward_kernel[(3,)](a, a, c, a.stride(0), n_cols=64, BLOCK_SIZE=64)


@repaired(
    "linkedin/Liger-Kernel",
    parent="9cf2019a6c234be2102571dc35741ee844c7903d",
    commit="b27b4c5f2c312f3e006c39bc3e62c6627c18d8a4",
    kind="memory",
    folder="src",
    on_path="src",
)
def liger_rms_norm() -> None:
    """RMS norm: a row's offset is computed in 32 bits and wraps at 2^31."""
    without_init("liger_kernel", "liger_kernel.ops")
    from liger_kernel.ops.rms_norm import rms_norm_forward

    rms_norm_forward(rows_2_to_the_30_apart(), torch.ones(64).half().cuda(), 1e-6, 0.0, "llama", None)


@repaired(
    "FlagOpen/FlagGems",
    parent="e96e9752f8c2acc90b871a3566fc5d4a11b9d3e1",
    commit="5194ec928d2b662d98a6f6faa71b1ce5203bf5e8",
    kind="uninitialised",
    folder="src",
    on_path="src",
)
def gems_matrix_product() -> None:
    """Matrix product: the last block of k is loaded under a mask without `other`, and goes into the product."""
    os.environ["GEMS_VENDOR"] = "nvidia"
    without_init("flag_gems", "flag_gems.ops")
    from flag_gems.ops.mm import mm

    mm(random(16, 20), random(20, 16))


@repaired(
    "BobMcDear/attorch",
    parent="88ed34d09602330427890e8e7a3009cf61cd52eb",
    commit="3199f2db58df7e78255c9802798d665e7bf7fa0f",
    kind="compile",
    folder="attorch",
)
def attorch_rms_norm_backward() -> None:
    """RMS norm's gradient: a sum for each row is multiplied as if there were one for each column."""
    from attorch.rms_norm_layer import RMSNormAutoGrad

    x, weight = random(2048, 32).requires_grad_(), torch.ones(32).cuda().requires_grad_()
    RMSNormAutoGrad.apply(x, weight, 1e-5).backward(random(2048, 32))


@repaired(
    "pytorch/ao",
    parent="38e36ded525472cfaf70945209ca49763778d71e",
    commit="98c4e2e06d7f9da57a417a888971820d28eec397",
    kind="memory",
    folder="torchao",
)
def ao_int8_product() -> None:
    """Product of int8: no mask on k where k is even, though not a multiple of the block."""
    without_init("torchao", "torchao.prototype", "torchao.prototype.quantized_training")
    from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm_cuda

    a, b = (torch.ones(shape, dtype=torch.int8).cuda() for shape in ((16, 48), (48, 16)))
    scaled_int8_mm_cuda(a, b, random(16), random(16))


@repaired(
    "unslothai/unsloth",
    parent="6180adda1bcd3edacc9bdb167083b252af161761",
    commit="dabf2a901bf11864f730e386d6eab27a48809494",
    kind="memory",
    folder="unsloth/kernels",
)
def unsloth_rotary_backward() -> None:
    """Rotary embedding's gradient: computed in place, also in a gradient of stride 0, such as that of a sum."""
    without_init("unsloth", "unsloth.kernels")
    helpers = {name: types.ModuleType(f"unsloth.{name}") for name in ("device_type", "kernels.utils")}
    helpers["device_type"].DEVICE_COUNT = 1  # theirs import bitsandbytes
    helpers["kernels.utils"].calculate_settings = lambda n: (max(16, n), 4)
    helpers["kernels.utils"].torch_gpu_device = torch.cuda.device
    helpers["kernels.utils"].torch_device_stream = torch.cuda.current_stream
    sys.modules.update({module.__name__: module for module in helpers.values()})
    from unsloth.kernels.rope_embedding import fast_rope_embedding

    q, k = (random(1, 2, 4, 16).requires_grad_() for _ in range(2))
    angles = random(8, 16)
    rotated = fast_rope_embedding(q.clone(), k.clone(), angles.cos(), angles.sin(), torch.arange(4).cuda())
    sum(one.sum() for one in rotated).backward()
