"""Fix commits of unslothai/unsloth."""

import logging

import torch

from . import fix


@fix(
    "unslothai/unsloth", "2ef98d382e", "values at an edge",
    "kernels/fp8.py: where the weight is multiplied out, the bias is left out", "Apache-2.0, not copied",
)  # fmt: skip
def fp8_linear_bias(library):
    ops = library.module(
        "",
        "unsloth.kernels.fp8",
        unsloth_zoo__utils={"Version": None},
        unsloth_zoo__log={"logger": logging.getLogger("unsloth")},
        unsloth_zoo__temporary_patches__common={"torch_compile": lambda function: function},
    )
    rows, columns = 132, 260
    weight = torch.randn(rows, columns, device="cuda").to(torch.float8_e4m3fn)
    scale = torch.rand(2, 3, device="cuda")
    x, bias = (torch.randn(4, columns, device="cuda") / 64).bfloat16(), torch.randn(rows, device="cuda").bfloat16()
    came = ops.FbgemmFp8Linear_matmul.apply(x, weight, scale, bias)
    wide = scale.double().repeat_interleave(128, 0)[:rows].repeat_interleave(128, 1)[:, :columns]
    return came, x.double() @ (weight.double() * wide).T + bias.double()
