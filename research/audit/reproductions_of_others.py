"""Reproductions of fla, cut-cross-entropy, flash-attn, attorch and unsloth, after those of PyTorch and liger-kernel."""

from collections.abc import Callable

import torch
from reproduction import emulated, of, raised, random, worst
from reproductions import first_block, head_of_one_row, mean_loss
from torch.nn import functional as F


@of("fla-core==0.6.0", "layer_norm_forward", "rms_norm_forward")
def a_row_of_more_than_64_kb_in_fla() -> str:
    from fla.modules.layernorm import layer_norm

    with emulated(), raised() as error:
        layer_norm(random(2, 20_000).cuda(), torch.ones(20_000).cuda(), torch.zeros(20_000).cuda())
    return str(error)


@of("cut-cross-entropy==25.1.1", "linear_cross_entropy_forward_backward")
def gradients_of_float32() -> str:
    from cut_cross_entropy import linear_cross_entropy

    hidden, weight = random(8, 64).cuda().requires_grad_(), random(32, 64).cuda().requires_grad_()
    with emulated(), raised() as error:
        linear_cross_entropy(hidden, weight, torch.arange(8).cuda(), impl="cce").backward()
    return str(error)


@of("cut-cross-entropy==25.1.1", "linear_cross_entropy_forward_backward")
def a_loss_of_half_precision_in_cce() -> str:
    from cut_cross_entropy import linear_cross_entropy

    hidden, weight, labels = head_of_one_row()
    with emulated():
        loss = linear_cross_entropy(hidden.cuda(), weight.cuda(), labels.cuda(), impl="cce").cpu()
    return f"{loss.dtype}, off by {worst(loss.float(), mean_loss(hidden, weight, labels))} of float32"


def flash(module: str):
    from adapters import bare

    bare("flash_attn")
    return __import__(f"flash_attn.ops.triton.{module}", fromlist=["_"])


@of("flash-attn==2.8.3", "layer_norm_forward", "rms_norm_forward")
def a_row_of_more_than_64_kb_in_flash_attn() -> str:
    with emulated(), raised() as error:
        flash("layer_norm").layer_norm_fn(random(2, 20_000).cuda(), torch.ones(20_000).cuda(), None, eps=1e-5)
    return str(error)


@of("flash-attn==2.8.3", "cross_entropy_forward", upstream="Dao-AILab/flash-attention#1930")
def a_first_block_of_infinity_in_flash_attn() -> str:
    logits, labels, wanted = first_block()
    with emulated():
        found, _ = flash("cross_entropy").cross_entropy_loss(logits.cuda(), labels.cuda())
    return f"{found.item():.6g}, by the formula {wanted:.6g}"


@of("flash-attn==2.8.3", "cross_entropy_forward")
def labels_of_stride_2() -> str:
    logits, labels = random(3, 5), torch.tensor([0, 4, 1, 4, 2, 4])
    with emulated(), raised() as error:
        found, _ = flash("cross_entropy").cross_entropy_loss(logits.cuda(), labels.cuda()[::2])
        return f"{found.tolist()}, by the formula {F.cross_entropy(logits, labels[::2], reduction='none').tolist()}"
    return str(error)


@of(
    "attorch==67c2772baf33913ef51c2d1064f746ca17b63749",
    "silu_forward",
    "silu_backward",
    "gelu_forward",
    "gelu_backward",
)
def every_second_column_in_attorch() -> str:
    from attorch.act_layers import ActFuncAutoGrad

    with emulated(), raised() as error:
        ActFuncAutoGrad.apply(random(4, 64).cuda()[:, ::2], "silu", 0.0, False)
    return str(error)


def rows_2_to_the_30_apart() -> torch.Tensor:
    """Three rows of 64 on the GPU; of the gigabytes between them nothing is touched."""
    x = torch.empty(2**31 + 64, dtype=torch.float16, device="cuda").as_strided((3, 64), (2**30, 1))
    return x.copy_(random(3, 64).half())


def normalized(norm: Callable[[torch.Tensor], torch.Tensor]) -> str:
    exact = F.layer_norm(random(3, 64).half().double(), (64,))
    with emulated(), raised() as error:
        return f"{worst(norm(rows_2_to_the_30_apart()), exact)}"
    return str(error)


@of("attorch==67c2772baf33913ef51c2d1064f746ca17b63749", "layer_norm_forward", "rms_norm_forward")
def an_offset_of_2_to_the_31_in_attorch() -> str:
    from attorch.layer_norm_layer import LayerNormAutoGrad

    return normalized(lambda x: LayerNormAutoGrad.apply(x, None, None, 1e-5, False))


@of("flash-attn==2.8.3", "layer_norm_forward", "rms_norm_forward")
def an_offset_of_2_to_the_31_in_flash_attn() -> str:
    norm = flash("layer_norm").layer_norm_fn
    return normalized(lambda x: norm(x, torch.ones(64).half().cuda(), torch.zeros(64).half().cuda(), eps=1e-5))


@of("unsloth==2026.10.9", "rms_norm_forward")
def an_rms_norm_that_rounds_twice_in_unsloth() -> str:
    from adapters import unsloth

    x, weight = random(8, 65).half(), (random(65) + 1).half()
    with emulated():
        found, _ = unsloth(())["rms_norm_forward"](x.cuda(), weight.cuda(), 1e-6)
    exact = F.rms_norm(x.double(), (65,), weight.double(), 1e-6)
    return f"{worst(found, exact)}; PyTorch's own {worst(F.rms_norm(x, (65,), weight, 1e-6), exact)}"


@of("unsloth==2026.10.9", "swiglu_forward")
def a_gate_that_is_rounded_in_between_in_unsloth() -> str:
    from adapters import unsloth

    gate, up = random(2, 4096).half()
    with emulated():
        found = unsloth(())["swiglu_forward"](gate.cuda(), up.cuda())
    return f"{worst(found, F.silu(gate.double()) * up.double())}"
