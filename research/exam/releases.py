"""Faults that libraries release, each called in a few lines beside what is right.

They were found when released packages were put to the course's exercises, and when libraries' own tests ran in the
emulator (`research/audit`), and each was read. Where another release of the library has the repair, it is the twin.
Nothing of theirs is here: `Library` reads the files of one commit out of a clone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from .fixes import Library
from .fixes.ao import blockwise, formats
from .fixes.gems import part
from .fixes.liger import UTILS
from .repairs import rows_2_to_the_30_apart


@dataclass(frozen=True)
class Release:
    """commit: the release that is wrong. right: one that is not, "" where there is none. kind: of row.KINDS. place:
    what is wrong. second: who says so beside the reader, "" for nobody. thread: of a report.
    """

    repository: str
    licence: str
    commit: str
    kind: str
    place: str
    right: str
    second: str
    thread: str
    call: Callable[[Library], tuple[Any, Any]]


RELEASES: dict[str, Release] = {}
LICENCES = {
    "linkedin/Liger-Kernel": "BSD-2-Clause",
    "Dao-AILab/flash-attention": "BSD-3-Clause",
    "BobMcDear/attorch": "MIT",
    "flagos-ai/FlagGems": "Apache-2.0",
    "pytorch/ao": "BSD-3-Clause",
}
LIGER, FLASH, ATTORCH, GEMS, AO = LICENCES
OF = {LIGER: "000be60929", FLASH: "060c9188be", ATTORCH: "67c2772baf", GEMS: "ed2508bcb5", AO: "36027d82d1"}
FLOAT64 = "mathematics in float64, beside the call"  # it was seen to differ
OLD_LIGER = "911db5dd35"  # 0.5.4


def released(repository: str, kind: str, place: str, commit: str = "", **more) -> Callable:
    """Enters a call into `RELEASES`: a function of a `Library` that returns what came out and what is right."""
    known = {"right": "", "second": "", "thread": ""} | more

    def enter(call: Callable) -> Callable:
        what = repository, f"{LICENCES[repository]}, not copied", commit or OF[repository], kind, place
        RELEASES[call.__name__] = Release(*what, **known, call=call)
        return call

    return enter


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda")


def liger(library: Library, name: str) -> Any:
    return library.module("src", f"liger_kernel.ops.{name}", liger_kernel__utils=UTILS)


@released(
    LIGER,
    "dtype",
    "ops/layer_norm.py of 0.5.4: a float16 row is summed in float16, which ends at 65,504",
    OLD_LIGER,
    right=OF[LIGER],
    second=FLOAT64,
)
def liger_layer_norm_of_halves(library):
    x, weight = (random(4, 4096) + 20).half(), torch.ones(4096, device="cuda").half()
    y = liger(library, "layer_norm").LigerLayerNormFunction.apply(x, weight, torch.zeros_like(weight), 1e-5)
    return y, F.layer_norm(x.double(), (4096,))


@released(
    LIGER,
    "values at an edge",
    "ops/cross_entropy.py: a row that begins with a whole block of -inf has the loss NaN",
    second=FLOAT64,
    thread="github.com/Dao-AILab/flash-attention/issues/1930",
)
def liger_first_block_of_infinity(library):
    logits, labels = first_block()
    return liger_losses(library, logits.clone(), labels), F.cross_entropy(logits.double(), labels, reduction="none")


@released(
    LIGER,
    "values at an edge",
    "ops/cross_entropy.py: of no rows there is no loss, but an error",
    right=OLD_LIGER,
    second=FLOAT64,
)
def liger_losses_of_no_rows(library):
    logits, labels = random(0, 7), torch.empty(0, dtype=torch.int64, device="cuda")
    return liger_losses(library, logits, labels), torch.empty(0)


def liger_losses(library, logits, labels):
    function = liger(library, "cross_entropy").LigerCrossEntropyFunction
    return function.apply(logits, labels, None, -100, 0.0, 0.0, "none", None, False)[0]


def first_block():
    """A row that begins with a block of -inf, which has 65,536 columns at most, and its label."""
    logits = torch.full((1, 70_000), -torch.inf, device="cuda")
    logits[0, -2:] = torch.tensor([1.0, 2.0])
    return logits, torch.tensor([69_999], device="cuda")


@released(
    LIGER,
    "compile",
    "ops/softmax.py: `tl.float32(0.0)` calls a type, in the kernels of rows of several blocks",
    second="Triton's compiler, which refuses the line",
)
def liger_softmax_of_blocks(library):
    x = random(2, 100)
    y = torch.empty_like(x)
    liger(library, "softmax")._softmax_multi_block_forward_kernel[(2,)](y, 100, x, 100, 100, BLOCK_SIZE=64)
    return y, x.double().softmax(1)


def flash(library: Library, name: str) -> Any:
    return library.module("", f"flash_attn.ops.triton.{name}")


@released(
    FLASH,
    "values at an edge",
    "ops/triton/cross_entropy.py: a row that begins with a whole block of -inf has the loss NaN",
    second=FLOAT64,
    thread="github.com/Dao-AILab/flash-attention/issues/1930",
)
def flash_first_block_of_infinity(library):
    logits, labels = first_block()
    losses, _ = flash(library, "cross_entropy").cross_entropy_loss(logits, labels)
    return losses, F.cross_entropy(logits.double(), labels, reduction="none")


@released(FLASH, "layout", "ops/triton/cross_entropy.py: labels are read as if they were contiguous", second=FLOAT64)
def flash_labels_of_stride_2(library):
    logits, labels = random(3, 5), torch.tensor([0, 4, 1, 4, 2, 4], device="cuda")[::2]
    losses, _ = flash(library, "cross_entropy").cross_entropy_loss(logits, labels)
    return losses, F.cross_entropy(logits.double(), labels, reduction="none")


@released(FLASH, "memory", "ops/triton/layer_norm.py: a row's offset is computed in 32 bits and wraps at 2^31")
def flash_rows_far_apart(library):
    x, weight = rows_2_to_the_30_apart().copy_(random(3, 64)), torch.ones(64, device="cuda").half()
    return flash(library, "layer_norm").layer_norm_fn(x, weight, None, eps=1e-5), F.layer_norm(x.double(), (64,))


def attorch(library: Library, name: str) -> Any:
    return library.module("", f"attorch.{name}")


@released(ATTORCH, "layout", "act_layers.py: what is given is read as if it were contiguous", second=FLOAT64)
def attorch_every_second_column(library):
    x = random(4, 64)[:, ::2]
    return attorch(library, "act_layers").ActFuncAutoGrad.apply(x, "silu", 0.0, False), F.silu(x.double())


@released(ATTORCH, "memory", "layer_norm_kernels.py: a row's offset is computed in 32 bits and wraps at 2^31")
def attorch_rows_far_apart(library):
    x = rows_2_to_the_30_apart().copy_(random(3, 64))
    y = attorch(library, "layer_norm_layer").LayerNormAutoGrad.apply(x, None, None, 1e-5, False)
    return y, F.layer_norm(x.double(), (64,))


LANES = "are loaded under a mask without `other`, and masked-off lanes go into the row's sum"


@released(ATTORCH, "uninitialised", f"rms_norm_kernels.py: rows {LANES}")
def attorch_rms_norm_of_96(library):
    x = random(2, 96)
    y = attorch(library, "rms_norm_layer").RMSNormAutoGrad.apply(x, None, 1e-5)
    return y, F.rms_norm(x.double(), (96,), eps=1e-5)


@released(ATTORCH, "uninitialised", f"layer_norm_kernels.py: rows {LANES}")
def attorch_layer_norm_of_96(library):
    x = random(2, 96)
    y = attorch(library, "layer_norm_layer").LayerNormAutoGrad.apply(x, None, None, 1e-5, False)
    return y, F.layer_norm(x.double(), (96,))


@released(ATTORCH, "uninitialised", f"softmax_kernels.py: the result and its gradient {LANES}")
def attorch_softmax_gradient_of_96(library):
    x, dy = random(2, 96).requires_grad_(), random(2, 96)
    attorch(library, "softmax_layers").SoftmaxAutoGrad.apply(x, False, False).backward(dy)
    wide = x.detach().double().requires_grad_()
    wide.softmax(1).backward(dy.double())
    return x.grad, wide.grad


@released(GEMS, "uninitialised", "ops/layernorm.py: the gradient from above is loaded under a mask without `other`")
def gems_layer_norm_gradient_of_40(library):
    ops = part(library, "ops.layernorm")
    x, dy = random(3, 40), random(3, 40)
    dx, rstd = torch.empty_like(x), torch.rsqrt(x.var(1, correction=0) + 1e-5)
    kernel = ops.layer_norm_backward_kernel
    kernel[lambda meta: (-(-3 // meta["BLOCK_ROW_SIZE"]), 1, 1)](dy, x, None, x.mean(1), rstd, dx, 3, 40)
    wide = x.double().requires_grad_()
    F.layer_norm(wide, (40,)).backward(dy.double())
    return dx, wide.grad


@released(AO, "memory", "blockwise_fp8_training/kernels.py: a block's scales are loaded without a mask on the rows")
def ao_product_of_scaled_rows(library):
    ops = blockwise(library)
    rows, columns, block = 5, 16, 16
    a, b = random(rows, block).to(torch.float8_e4m3fn), random(columns, block).to(torch.float8_e4m3fn).T
    scales, ones, c = random(rows, 1), torch.ones(1, 1, device="cuda"), torch.empty(rows, columns, device="cuda")
    ops.triton_fp8_gemm_1x128_128x128_kernel[lambda meta: (-(-rows // meta["BLOCK_SIZE_M"]), 1)](
        *(a, *a.stride(), b, *b.stride(), c, *c.stride(), scales, 1, rows, ones, 1, 1, rows),
        N=columns, K=block, out_dtype=torch.float32, BLOCK_SIZE_K=block,
    )  # fmt: skip
    return c, (a.double() @ b.double()) * scales.double()


@released(AO, "memory", "mx_formats/kernels.py: scales are stored without a mask, also of tiles larger than the tensor")
def ao_scales_of_columns(library):
    ops = formats(library)
    rows = columns = 32
    x = random(rows, columns).bfloat16()
    y = torch.empty(columns, rows, device="cuda", dtype=torch.float8_e4m3fn)
    scales = torch.empty(columns, 1, device="cuda", dtype=torch.uint8)
    ops.to_mxfp8_dim1_kernel[lambda meta: (-(-rows // meta["ROW_TILE_SIZE"]), -(-columns // meta["COL_TILE_SIZE"]))](
        x, y, scales, rows, columns, INNER_BLOCK_SIZE=32, SCALING_MODE="floor"
    )
    return scales, x.double().abs().amax(0).log2().floor()[:, None] - 8 + 127
