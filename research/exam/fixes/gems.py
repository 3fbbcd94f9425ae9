"""Fix commits of flagos-ai/FlagGems, which FlagOpen/FlagGems has become."""

import torch

from . import fix


def gems(commit: str, kind: str, place: str):
    return fix("flagos-ai/FlagGems", commit, kind, place, "Apache-2.0, not copied")


def part(library, name, **stubs):
    """A module of theirs, without what chooses a vendor."""
    import triton
    import triton.language as tl

    settings = [triton.Config({"BLOCK_ROW_SIZE": 4, "BLOCK_COL_SIZE": 16})]
    runtime = {"torch_device_fn": torch.cuda, "get_tuned_config": lambda name: settings, "__path__": []}
    utils = {"libentry": lambda: lambda kernel: kernel, "triton_lang_extension": tl, "tl_extra_shim": tl.math}
    stubs |= {"flag_gems__runtime": runtime, "flag_gems__utils": utils | {"__path__": []}}
    return library.module("src", f"flag_gems.{name}", **stubs)


@gems("bea8da9251", "layout", "ops/rms_norm.py: the gradient from above is read with the strides of x")
def rms_norm_of_strided_gradient(library):
    ops = part(library, "ops.rms_norm")
    x, weight = torch.randn(5, 8, device="cuda").requires_grad_(), torch.randn(8, device="cuda").requires_grad_()
    dy = torch.randn(8, 5, device="cuda").T
    ops.rms_norm(x, (8,), weight).backward(dy)
    wide, scale = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    torch.nn.functional.rms_norm(wide, (8,), scale, 1e-5).backward(dy.double())
    return (x.grad, weight.grad), (wide.grad, scale.grad)


@gems("1c7febee51", "dtype", "ops/weightnorm.py: the norm is returned in the dtype of g, where PyTorch's is float32")
def weight_norm_of_halves(library):
    ops = part(library, "ops.weightnorm")
    v, g = torch.randn(8, 32, device="cuda").bfloat16(), torch.randn(8, 1, device="cuda").bfloat16()
    _, norm = ops.weight_norm_interface(v, g)
    return norm.float(), v.double().norm(dim=1, keepdim=True)


@gems(
    "7f57d82957",
    "values at an edge",
    "ops/histc.py: numbers at the edge of a bin get into the one below",
)
def histogram_edges(library):
    ops = part(library, "ops.histc")
    x = torch.arange(100, device="cuda")
    right = torch.bincount(x.cpu() * 45 // 100, minlength=45)
    return ops.histc(x.float(), 45, 0, 100), right


@gems(
    "38d16622c3",
    "values at an edge",
    "_mthreads/ops/flip.py: all leading dimensions are flipped, asked or not",
)
def mthreads_flip(library):
    ops = part(library, "runtime.backend._mthreads.ops.flip", flag_gems__ops__flip={"flip": None})
    ops._can_use_triton_kernel = lambda x: True
    x = torch.randn(3, 4, 8, device="cuda")
    return ops.flip(x, [1]), x.double().flip(1)


@gems("beb5ae98ac", "layout", "_nvidia/hopper/ops/fill.py: a strided tensor is filled as if it were contiguous")
def hopper_fill(library):
    ops = part(library, "runtime.backend._nvidia.hopper.ops.fill")
    whole = torch.zeros(4, 8, device="cuda")
    ops.fill_scalar_(whole[:, ::2], 3.0)
    right = torch.zeros(4, 8, dtype=torch.float64)
    right[:, ::2] = 3.0
    return whole, right
