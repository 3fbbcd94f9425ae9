"""Fix commits of pytorch/ao."""

import torch
import torch.utils._triton

from . import fix


def ao(commit: str, kind: str, place: str, differs: bool = True):
    return fix("pytorch/ao", commit, kind, place, "BSD-3-Clause, not copied", differs)


@ao(
    "a6be48f70e",
    "memory",
    "blockwise_fp8_training/kernels.py: scales of rows beyond the last are stored",
    differs=False,
)
def fp8_scales_of_rows(library):
    ops = blockwise(library)
    rows, block = 3, 16
    x = torch.randn(rows, block, device="cuda")
    y, scales = torch.empty_like(x), torch.empty(rows, 1, device="cuda")
    sizes = (x, block, 1, y, block, 1, scales, 1, rows, rows)
    ops.triton_fp8_blockwise_act_quant_lhs_kernel[lambda meta: (-(-rows // meta["NUM_GROUPS"]), 1)](
        *sizes, K=block, BLOCK_SIZE=block, EPS=1e-12, FP8_MAX=448.0
    )
    return scales, x.double().abs().amax(1, keepdim=True) / 448


def blockwise(library):
    return library.module(
        "",
        "torchao.prototype.blockwise_fp8_training.kernels",
        torchao__float8__config={"e4m3_dtype": torch.float8_e4m3fn},
        torchao__prototype__moe_training__utils={"_is_column_major": None, "_is_row_major": None},
    )


def formats(library):
    """The kernels of MX formats; as on ROCm, where they need no PTX."""
    torch.utils._triton.has_triton = lambda: True
    yes = lambda *version: True  # noqa: E731
    utils = ("is_MI350", "is_ROCM", "is_sm_at_least_100", "is_cuda_version_at_least", "torch_version_at_least")
    return library.module(
        "",
        "torchao.prototype.mx_formats.kernels",
        torchao__utils=dict.fromkeys(utils, yes) | {"is_mslk_version_at_least": lambda *version: False},
        torchao__prototype__mx_formats__config={"ScaleCalculationMode": type("Mode", (), {"RCEIL": 0, "FLOOR": 1})},
    )


def mx(library, x, mode):
    """What the kernel of rows of 32 makes of x, the scales as bytes."""
    ops = formats(library)
    rows, columns = x.shape
    y, scales = torch.empty_like(x, dtype=torch.float8_e4m3fn), torch.empty(rows, columns // 32, device="cuda").byte()
    ops.to_mxfp8_dim0_kernel[lambda meta: (-(-rows // meta["ROW_TILE_SIZE"]), -(-columns // meta["COL_TILE_SIZE"]))](
        x, y, scales, rows, columns, SCALE_BLOCK_SIZE=32, SCALING_MODE=mode
    )
    return y, scales


@ao(
    "25418fd6db",
    "compile",
    "mx_formats/kernels.py: a function of Triton is called with a name that it has not",
    differs=False,
)
def mx_scale_mode(library):
    x = torch.randn(4, 64, device="cuda").bfloat16()
    _, scales = mx(library, x, "floor")
    return scales, x.double().view(4, 2, 32).abs().amax(2).log2().floor() - 8 + 127
