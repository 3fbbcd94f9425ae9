"""Fix commits of ModelTC/LightLLM."""

import torch

from . import fix


def lightllm(commit: str, kind: str, place: str, differs: bool = True):
    return fix("ModelTC/LightLLM", commit, kind, place, "Apache-2.0, not copied", differs)


@lightllm(
    "5514e24340", "values at an edge", "gen_prefill_params.py: beyond 1024 requests the first 1024 are summed again"
)
def prefill_sums(library):
    ops = library.module("", "lightllm.common.basemodel.triton_kernel.gen_prefill_params")
    lengths = torch.randint(1, 9, (1500,), device="cuda", dtype=torch.int32)
    sums = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    return ops.gen_cumsum_pad0_tensor(lengths, lengths), (sums, sums)


@lightllm(
    "178c2d6e28",
    "memory",
    "phi3/rotary_emb.py: the head's padding to a power of 2 is loaded of cos and sin",
    differs=False,
)
def phi3_rotary(library):
    ops = library.module("", "lightllm.models.phi3.triton_kernel.rotary_emb")
    times, size = 5, 24
    q, k = (torch.randn(times, 2, size, device="cuda") for _ in range(2))
    cos, sin = (torch.randn(times, size // 2, device="cuda") for _ in range(2))
    right = [turned(one.double(), cos.double()[:, None], sin.double()[:, None]) for one in (q, k)]
    ops.rotary_emb_fwd(q, k, cos, sin)
    return (q, k), tuple(right)


def turned(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
