"""Kernels that libraries repaired, each called in a few lines that show the fault: ``python fix_recipes.py NAME``.

fixes.py runs each under `graded-kernels sanitize`, with the library as it was before the repair and as it was after.
The lines are ours; of the libraries, facts alone are here: commits, threads, names and parameters of functions.
"""

import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Fix:
    """A repair. thread: its number, "" without one. kind: the finding that shows the fault. folder: what of the
    repository is needed. on_path: what is put on the path. needs: what the library imports beside PyTorch and Triton,
    pinned in pins.txt. options: of `sanitize`.
    """

    call: Callable[[], object]
    repository: str
    thread: str
    parent: str
    commit: str
    kind: str
    fault: str
    folder: str
    on_path: str
    needs: tuple[str, ...]
    options: tuple[str, ...]


FIXES: dict[str, Fix] = {}


def repaired(
    where: str,
    *,
    parent: str,
    commit: str,
    kind: str,
    folder: str,
    on_path: str = ".",
    needs: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> Callable:
    """where: the repository, and the thread's number where there is one: ``owner/name#12``. The function's docstring is
    the fault.
    """
    repository, _, number = where.partition("#")

    def add(call: Callable[[], object]) -> Callable[[], object]:
        about = repository, number, parent, commit, kind, " ".join((call.__doc__ or "").split())
        FIXES[call.__name__] = Fix(call, *about, folder, on_path, needs, options)
        return call

    return add


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


# Liger-Kernel


@repaired(
    "linkedin/Liger-Kernel#251",
    parent="d1343adcdd9314efe004dbfb431cd7ad91105c12",
    commit="58fd2bc85073fdb010164426c9b159cd8a0e9542",
    kind="out-of-bounds",
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
    "linkedin/Liger-Kernel#804",
    parent="9cf2019a6c234be2102571dc35741ee844c7903d",
    commit="b27b4c5f2c312f3e006c39bc3e62c6627c18d8a4",
    kind="out-of-bounds",
    folder="src",
    on_path="src",
)
def liger_rms_norm() -> None:
    """RMS norm: a row's offset is computed in 32 bits and wraps at 2^31."""
    without_init("liger_kernel", "liger_kernel.ops")
    from liger_kernel.ops.rms_norm import rms_norm_forward

    rms_norm_forward(rows_2_to_the_30_apart(), torch.ones(64).half().cuda(), 1e-6, 0.0, "llama", None)


# flash-linear-attention


@repaired(
    "fla-org/flash-linear-attention#1103",
    parent="3c4c54ae7397d37130d7101edd0f4eb596af896d",
    commit="ebd4dd27c0038e73cee514130f8c3efd203cef37",
    kind="out-of-bounds",
    folder="fla",
)
def fla_relu_and_square() -> None:
    """RWKV7's channel mixing: loads and stores without a mask, whatever the number of elements."""
    without_init("fla", "fla.ops", "fla.ops.rwkv7")
    from fla.ops.rwkv7.channel_mixing import rwkv_relu_and_square_fwd

    rwkv_relu_and_square_fwd(random(2, 3, 50), inplace=False)


@repaired(
    "fla-org/flash-linear-attention#967",
    parent="21287b7a60279b9c339eb94d281d3ac9789fce8a",
    commit="bd67d11782696e4ff54ee6cb411483621ed3d93d",
    kind="unwritten",
    folder="fla",
    needs=("einops",),
)
def fla_rotary() -> None:
    """Rotary embedding: rows of a negative offset, which left padding makes, are never written."""
    without_init("fla", "fla.ops", "fla.modules")
    from fla.modules.rotary import rotary_embedding_fwdbwd

    angles = random(8, 8)
    rotated = rotary_embedding_fwdbwd(random(2, 4, 2, 16), angles.cos(), angles.sin(), torch.tensor([-2, 0]).cuda())
    print(rotated.sum().item())


@repaired(
    "fla-org/flash-linear-attention#1135",
    parent="6d80721f74bfd49b229cb4112dacf21237f27989",
    commit="b67113b41e4730f8d598c284381142c6b78a2fbc",
    kind="out-of-bounds",
    folder="fla",
)
def fla_recurrent_kda() -> None:
    """Recurrent KDA: the gate is loaded without the mask that q and k are loaded with."""
    without_init("fla", "fla.ops", "fla.ops.kda")
    from fla.ops.kda.fused_recurrent import fused_recurrent_kda_fwd

    q, k, g = random(3, 1, 3, 1, 20)
    v, beta = random(1, 3, 1, 32), random(1, 3, 1)
    fused_recurrent_kda_fwd(q, k, v, -g.abs(), beta, inplace_final_state=False)


# FlagGems


@repaired(
    "FlagOpen/FlagGems#414",
    parent="8710b6925b8690f40e83d780d61683274a7265f1",
    commit="f395f956239c8f1f2241e403cf9f57c9272c32cc",
    kind="out-of-bounds",
    folder="src",
    on_path="src",
    options=("--only", "correct"),  # the gradient is loaded under a mask, without `other`, after the repair as well
)
def gems_layer_norm_backward() -> None:
    """Layer norm's gradient: mean and deviation are loaded without a mask on the rows."""
    os.environ["GEMS_VENDOR"] = "nvidia"  # or it looks for nvidia-smi
    without_init("flag_gems", "flag_gems.ops")
    from flag_gems.ops.layernorm import layer_norm

    x = random(3, 40).requires_grad_()
    layer_norm(x, (40,))[0].backward(random(3, 40))


@repaired(
    "FlagOpen/FlagGems#969",
    parent="e96e9752f8c2acc90b871a3566fc5d4a11b9d3e1",
    commit="5194ec928d2b662d98a6f6faa71b1ce5203bf5e8",
    kind="masked-load",
    folder="src",
    on_path="src",
)
def gems_matrix_product() -> None:
    """Matrix product: the last block of k is loaded under a mask without `other`, and goes into the product."""
    os.environ["GEMS_VENDOR"] = "nvidia"
    without_init("flag_gems", "flag_gems.ops")
    from flag_gems.ops.mm import mm

    mm(random(16, 20), random(20, 16))


# attorch


@repaired(
    "BobMcDear/attorch",
    parent="3199f2db58df7e78255c9802798d665e7bf7fa0f",
    commit="194d60ca638c66b3ef8ba27b2c36da23ee184512",
    kind="out-of-bounds",
    folder="attorch",
    options=("--only", "correct"),  # rows are loaded under a mask, without `other`, after the repair as well
)
def attorch_layer_norm_backward() -> None:
    """Layer norm's gradient: a row of partial sums for each full block of rows, and none for the rest."""
    from attorch.layer_norm_layer import LayerNormAutoGrad

    x, weight = random(2049, 8).requires_grad_(), torch.ones(8).cuda().requires_grad_()
    LayerNormAutoGrad.apply(x, weight, None, 1e-5, False).backward(random(2049, 8))


@repaired(
    "BobMcDear/attorch",
    parent="88ed34d09602330427890e8e7a3009cf61cd52eb",
    commit="3199f2db58df7e78255c9802798d665e7bf7fa0f",
    kind="unsupported",
    folder="attorch",
)
def attorch_rms_norm_backward() -> None:
    """RMS norm's gradient: a sum for each row is multiplied as if there were one for each column."""
    from attorch.rms_norm_layer import RMSNormAutoGrad

    x, weight = random(2048, 32).requires_grad_(), torch.ones(32).cuda().requires_grad_()
    RMSNormAutoGrad.apply(x, weight, 1e-5).backward(random(2048, 32))


# torchao


@repaired(
    "pytorch/ao#1751",
    parent="38e36ded525472cfaf70945209ca49763778d71e",
    commit="98c4e2e06d7f9da57a417a888971820d28eec397",
    kind="out-of-bounds",
    folder="torchao",
)
def ao_int8_product() -> None:
    """Product of int8: no mask on k where k is even, though not a multiple of the block."""
    without_init("torchao", "torchao.prototype", "torchao.prototype.quantized_training")
    from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm_cuda

    a, b = (torch.ones(shape, dtype=torch.int8).cuda() for shape in ((16, 48), (48, 16)))
    scaled_int8_mm_cuda(a, b, random(16), random(16))


@repaired(
    "pytorch/ao#4186",
    parent="9051a2f0a16cd6f75da48c62fb713b3c61be38fa",
    commit="a6be48f70ee5e8b4fbe6bb248ec4cdb3f68f1d71",
    kind="out-of-bounds",
    folder="torchao",
)
def ao_blockwise_quantization() -> None:
    """Quantization to float8 by blocks: scales of rows past the last are stored."""
    from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_act_quant_lhs

    triton_fp8_blockwise_act_quant_lhs(random(3, 128))


# unsloth


@repaired(
    "unslothai/unsloth#3782",
    parent="6180adda1bcd3edacc9bdb167083b252af161761",
    commit="dabf2a901bf11864f730e386d6eab27a48809494",
    kind="out-of-bounds",
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


if __name__ == "__main__":
    FIXES[sys.argv[1]].call()
