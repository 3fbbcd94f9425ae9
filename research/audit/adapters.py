"""From a package's functions to our exercises: by package, and by exercise a differentiable function of its inputs.

What a package computes and does not hand out (a row's lse, mean and rstd) is added in float64 and so is not judged.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec

import torch
from torch.nn import functional as F

Function = Callable[..., object]


def gradients(forward: Function, count: int) -> Function:
    """``(dy, *inputs) -> gradients`` of the first ``count`` inputs, which a package may write over: it has copies."""

    def backward(dy, *inputs):
        leaves = [value.detach().clone().requires_grad_() for value in inputs[:count]]
        found = torch.autograd.grad(forward(*leaves, *inputs[count:]), leaves, dy)
        return found[0] if count == 1 else found

    return backward


def of_rows(norm: Function) -> Function:
    """``(x, weight, bias, eps) -> (y, mean, rstd)``."""

    def forward(x, weight, bias, eps=1e-5):
        wide = x.double()
        variance = wide.var(1, correction=0) if x.shape[1] else wide.sum(1)
        return norm(x, weight, bias, eps), wide.mean(1).float(), (variance + eps).rsqrt().float()

    return forward


def of_squares(norm: Function) -> Function:
    """``(x, weight, eps) -> (y, rstd)``."""

    def forward(x, weight, eps=1e-6):
        return norm(x, weight, eps), (x.double().square().mean(1) + eps).rsqrt().float()

    return forward


def of_losses(loss: Function) -> Function:
    """``(logits, labels, ignore_index) -> (loss, lse)``."""

    def forward(logits, labels, ignore_index=-100):
        return loss(logits, labels, ignore_index).float(), logits.double().logsumexp(1).float()

    return forward


def with_head(loss: Function) -> Function:
    """``(hidden, weight, labels, ignore_index) -> (loss, dhidden, dweight)``."""

    def forward(hidden, weight, labels, ignore_index=-100):
        leaves = [hidden.detach().requires_grad_(), weight.detach().requires_grad_()]
        result = loss(*leaves, labels, ignore_index)
        return result.detach(), *torch.autograd.grad(result, leaves)

    return forward


def liger(version: tuple[int, ...]) -> dict[str, Function]:
    ops = partial(import_module, package="liger_kernel.ops")
    swiglu = ops(".swiglu").LigerSiLUMulFunction.apply
    rms, head = ops(".rms_norm"), ops(".fused_linear_cross_entropy")
    copied = (False,) if version >= (0, 5) else ()  # otherwise the gradient is written over dy

    def norm(x, weight, eps):
        return rms.LigerRMSNormFunction.apply(x, weight, eps, 0.0, "llama", *copied)

    def fused(hidden, weight, labels, ignore_index):
        between = (None,) if version < (0, 5) else (None, None)  # bias, weights of the classes
        result = head.LigerFusedLinearCrossEntropyFunction.apply(hidden, weight, labels, *between, ignore_index)
        return result[0] if isinstance(result, tuple) else result

    found = {
        "swiglu_forward": swiglu,
        "swiglu_backward": gradients(swiglu, 2),
        "rms_norm_forward": of_squares(norm),
        "linear_cross_entropy_forward_backward": with_head(fused),
    }
    if version >= (0, 3):
        layer = ops(".layer_norm").LigerLayerNormFunction.apply
        found["layer_norm_forward"] = of_rows(layer)
    if version >= (0, 5):
        loss = ops(".cross_entropy").LigerCrossEntropyFunction

        def by_row(logits, labels, ignore_index):
            return loss.apply(logits.clone(), labels, None, ignore_index, 0.0, 0.0, "none", None, False)[0]

        found["cross_entropy_forward"] = of_losses(by_row)
    return found


def fla(version: tuple[int, ...]) -> dict[str, Function]:
    norms = import_module("fla.modules.norm.layernorm")
    losses = import_module("fla.modules.fused_cross_entropy")

    def by_row(logits, labels, ignore_index):
        result = losses.cross_entropy_loss(logits.clone(), labels, ignore_index=ignore_index)
        return result[0] if isinstance(result, tuple) else result

    return {
        "layer_norm_forward": of_rows(lambda x, w, b, eps: norms.layer_norm(x, w, b, eps=eps)),
        "rms_norm_forward": of_squares(lambda x, w, eps: norms.rms_norm(x, w, None, eps=eps)),
        "cross_entropy_forward": of_losses(by_row),
    }


def flag_gems(version: tuple[int, ...]) -> dict[str, Function]:
    os.environ["GEMS_VENDOR"] = "nvidia"
    try:
        ops = import_module("flag_gems.ops")
    except AttributeError:
        raise RuntimeError(
            "its launcher, libentry, takes kernels that are compiled, none for the interpreter"
        ) from None
    norm, rms = import_module("flag_gems.ops.layernorm"), import_module("flag_gems.ops.rms_norm")
    return {
        "silu_forward": ops.silu,
        "silu_backward": ops.silu_backward,
        "gelu_forward": lambda x, approximate="none": ops.gelu(x, approximate=approximate),
        "gelu_backward": lambda dy, x, approximate="none": ops.gelu_backward(dy, x, approximate=approximate),
        "layer_norm_forward": lambda x, w, b, eps=1e-5: norm.layer_norm(x, x.shape[1:], w, b, eps),
        "rms_norm_forward": lambda x, w, eps=1e-6: rms.rms_norm_forward(x, x.shape[1:], w, eps),
    }


def cut_cross_entropy(version: tuple[int, ...]) -> dict[str, Function]:
    loss = import_module("cut_cross_entropy").linear_cross_entropy
    return {
        "linear_cross_entropy_forward_backward": with_head(
            lambda h, w, labels, i: loss(h, w, labels, ignore_index=i, impl="cce")
        )
    }


def bare(name: str) -> None:
    """A package of which submodules are imported, and not its ``__init__``, which needs much more."""
    spec = find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package = module_from_spec(ModuleSpec(name, None, is_package=True))
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package


def unsloth(version: tuple[int, ...]) -> dict[str, Function]:
    os.environ["UNSLOTH_IS_PRESENT"] = "1"
    bare("unsloth")
    bare("unsloth.kernels")
    swiglu, losses = import_module("unsloth.kernels.swiglu"), import_module("unsloth.kernels.cross_entropy_loss")
    layer, rms = import_module("unsloth.kernels.layernorm"), import_module("unsloth.kernels.rms_layernorm")

    def by_row(logits, labels, ignore_index):
        return losses.Fast_CrossEntropyLoss.apply(logits.clone(), labels.where(labels != ignore_index, -100), 0, 0)

    return {
        "swiglu_forward": lambda gate, up: swiglu.swiglu_fg_kernel(*(x.reshape(1, 1, -1) for x in (gate, up))).view(
            gate.shape
        ),
        "layer_norm_forward": of_rows(layer.Fast_Layernorm.apply),
        "rms_norm_forward": of_squares(lambda x, w, eps: rms.Fast_RMS_Layernorm.apply(x, w, eps, False)),
        "cross_entropy_forward": of_losses(by_row),
    }


def flash_attn(version: tuple[int, ...]) -> dict[str, Function]:
    bare("flash_attn")
    norms, losses = (import_module(f"flash_attn.ops.triton.{name}") for name in ("layer_norm", "cross_entropy"))

    def by_row(logits, labels, ignore_index):
        return losses.cross_entropy_loss(logits.clone(), labels, ignore_index=ignore_index)[0]

    return {
        "layer_norm_forward": of_rows(lambda x, w, b, eps: norms.layer_norm_fn(x, w, b, eps=eps)),
        "rms_norm_forward": of_squares(lambda x, w, eps: norms.rms_norm_fn(x, w, None, eps=eps)),
        "cross_entropy_forward": of_losses(by_row),
    }


def attorch(version: tuple[int, ...]) -> dict[str, Function]:
    activations, gated = import_module("attorch.act_layers"), import_module("attorch.glu_layer")
    layer, rms = import_module("attorch.layer_norm_layer"), import_module("attorch.rms_norm_layer")
    kinds = {"none": "gelu", "tanh": "geluapprox"}

    def silu(x):
        return activations.ActFuncAutoGrad.apply(x, "silu", 0.0, False)

    def gelu(x, approximate="none"):
        return activations.ActFuncAutoGrad.apply(x, kinds[approximate], 0.0, False)

    return {
        "silu_forward": silu,
        "silu_backward": gradients(silu, 1),
        "gelu_forward": gelu,
        "gelu_backward": gradients(gelu, 1),
        "swiglu_forward": lambda gate, up: gated.GLUAutoGrad.apply(torch.stack([up, gate]), 0, "silu")[0],
        "layer_norm_forward": of_rows(lambda x, w, b, eps: layer.LayerNormAutoGrad.apply(x, w, b, eps, False)),
        "rms_norm_forward": of_squares(rms.RMSNormAutoGrad.apply),
    }


def torchtune(version: tuple[int, ...]) -> dict[str, Function]:
    modules = import_module("torchtune.modules")

    def norm(x, weight, eps):
        layer = modules.RMSNorm(x.shape[1], eps)
        layer.scale.data = weight
        return layer(x)

    return {"rms_norm_forward": of_squares(norm)}


def pytorch(version: tuple[int, ...]) -> dict[str, Function]:
    def attention(q, k, v, key_lengths=None, causal=False, scale=None):
        rows, columns = q.shape[2], k.shape[2]
        lengths = torch.full((q.shape[0],), columns) if key_lengths is None else key_lengths
        j, i = torch.arange(columns), torch.arange(rows)[:, None]
        seen = (j < lengths[:, None, None, None]).expand(-1, 1, rows, -1)
        if causal:
            seen = seen & (j <= i + (lengths[:, None, None, None] - rows))
        scores = q.double() @ k.double().mT * (scale if scale is not None else q.shape[3] ** -0.5)
        lse = scores.masked_fill(~seen, -torch.inf).logsumexp(3).float()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale), lse

    def by_row(logits, labels, ignore_index):
        return F.cross_entropy(logits, labels, ignore_index=ignore_index, reduction="none")

    def head(hidden, weight, labels, ignore_index):
        return F.cross_entropy((hidden @ weight.T).float(), labels, ignore_index=ignore_index)

    return {
        "silu_forward": F.silu,
        "silu_backward": gradients(F.silu, 1),
        "gelu_forward": lambda x, approximate="none": F.gelu(x, approximate=approximate),
        "gelu_backward": gradients(lambda x, approximate="none": F.gelu(x, approximate=approximate), 1),
        "layer_norm_forward": of_rows(lambda x, w, b, eps: F.layer_norm(x, x.shape[1:], w, b, eps)),
        "rms_norm_forward": of_squares(lambda x, w, eps: F.rms_norm(x, x.shape[1:], w, eps)),
        "cross_entropy_forward": of_losses(by_row),
        "linear_cross_entropy_forward_backward": with_head(head),
        "attention_forward": attention,
    }


ADAPTERS: dict[str, Callable[[tuple[int, ...]], dict[str, Function]]] = {
    "torch": pytorch,
    "liger-kernel": liger,
    "fla-core": fla,
    "flag-gems": flag_gems,
    "cut-cross-entropy": cut_cross_entropy,
    "unsloth": unsloth,
    "flash-attn": flash_attn,
    "attorch": attorch,
    "torchtune": torchtune,
}
