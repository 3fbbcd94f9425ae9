"""Fix commits of flagos-ai/FlagGems, which FlagOpen/FlagGems has become."""

import torch

from . import fix


def gems(commit: str, kind: str, place: str):
    return fix("flagos-ai/FlagGems", commit, kind, place, "Apache-2.0, not copied")


def rms_norm(library):
    return library.module(
        "src",
        "flag_gems.ops.rms_norm",
        flag_gems__runtime={"torch_device_fn": torch.cuda, "__path__": []},
        flag_gems__utils={"libentry": lambda: lambda kernel: kernel, "triton_lang_extension": torch, "__path__": []},
    )


@gems("bea8da9251", "layout", "ops/rms_norm.py: the gradient from above is read with the strides of x")
def rms_norm_of_strided_gradient(library):
    import triton.language as tl

    ops = rms_norm(library)
    for name in ("tle", "ext"):
        setattr(ops, name, tl)
    x, weight = torch.randn(5, 8, device="cuda").requires_grad_(), torch.randn(8, device="cuda").requires_grad_()
    dy = torch.randn(8, 5, device="cuda").T
    ops.rms_norm(x, (8,), weight).backward(dy)
    wide, scale = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    torch.nn.functional.rms_norm(wide, (8,), scale, 1e-5).backward(dy.double())
    return (x.grad, weight.grad), (wide.grad, scale.grad)
