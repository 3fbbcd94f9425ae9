"""Who else computes an exercise: PyTorch, `torch.compile` of the same formula, Liger-Kernel and quack.

A peer is made for arguments and returns a call of no arguments, so that what it prepares is not timed. Its outputs are
compared with the first of ours.
"""

import importlib
from collections.abc import Callable
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from graded_kernels.autograder import EXERCISES
from graded_kernels.course.learner import ROOT
from graded_kernels.course.regions import find_regions

Call = Callable[[], object]
Peer = Callable[[tuple], Call]
AUTHORS = ("ours", "torch", "torch.compile", "Liger-Kernel", "quack")
PACKAGES = {"Liger-Kernel": "liger_kernel", "quack": "quack"}


def direct(function: Callable) -> Peer:
    """A peer with our signature."""
    return lambda args: lambda: function(*args)


def on_copies(function: Callable) -> Peer:
    """A peer that writes over its arguments: it gets copies, which are those of its own later calls, too."""

    def made(args: tuple) -> Call:
        copies = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
        return lambda: function(*copies)

    return made


def ours(name: str) -> Peer:
    """The Triton answer of the course."""
    stem = find_regions(ROOT)["kernels", name].path.stem
    return direct(getattr(importlib.import_module(f"graded_kernels.kernels.{stem}"), name))


def attention_backward(args: tuple) -> Call:
    """PyTorch's own gradient; its forward pass is not timed."""
    do, *qkv = args[:4]
    leaves = [tensor.detach().requires_grad_() for tensor in qkv]
    o = F.scaled_dot_product_attention(*leaves)
    return lambda: torch.autograd.grad(o, leaves, do, retain_graph=True)


def entropy(logits):
    log_p = logits.float().log_softmax(1)
    return -(log_p.exp() * log_p).sum(1), logits.float().logsumexp(1)


def entropy_backward(dentropy, logits, entropy, lse):
    log_p = logits.float() - lse[:, None]
    return (-dentropy[:, None] * log_p.exp() * (log_p + entropy[:, None])).to(logits.dtype)


def k3(logp, ref):
    r = ref.float() - logp.float()
    return (r.expm1() - r).to(logp.dtype)


def k3_backward(dkl, logp, ref):
    return (-dkl.float() * (ref.float() - logp.float()).expm1()).to(logp.dtype)


def advantage(rewards, eps=1e-6):
    rewards = rewards.float()
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + eps)


def policy_loss(logp, old, advantage, mask, clip=0.2):
    ratio, a = (logp.float() - old.float()).exp(), advantage.float()[:, None]
    least = torch.minimum(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a)
    return -least.masked_fill(~mask, 0).sum() / mask.sum()


def policy_loss_backward(dloss, logp, old, advantage, mask, clip=0.2):
    ratio, a = (logp.float() - old.float()).exp(), advantage.float()[:, None]
    passes = mask & (ratio * a <= ratio.clamp(1 - clip, 1 + clip) * a)
    return (-dloss * ratio * a / mask.sum()).masked_fill(~passes, 0).to(logp.dtype)


def merged(o_a, lse_a, o_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = ((part - lse).exp()[..., None] for part in (lse_a, lse_b))
    return (a * o_a.float() + b * o_b.float()).to(o_a.dtype), lse


def rms_norm_backward(dy, x, weight, rstd):
    wide, scaled = x.float() * rstd[:, None], dy.float() * weight.float()
    dx = (scaled - wide * (scaled * wide).mean(1, keepdim=True)) * rstd[:, None]
    return dx.to(x.dtype), (dy.float() * wide).sum(0).to(weight.dtype)


def adamw(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    g = grad.float()
    m.lerp_(g, 1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    rate = m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps)
    param.copy_(param.float() * (1 - lr * weight_decay) - lr * rate)


def gemma_norm(x, weight, eps=1e-6):
    wide = x.float()
    rstd = (wide.square().mean(1, keepdim=True) + eps).rsqrt()
    return (wide * rstd * (1 + weight.float())).to(x.dtype)


def global_norm(grads):
    return torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g, dtype=torch.float32) for g in grads]))


def turned(sign: int) -> Callable:
    """The rotation of pairs, or with -1 its gradient."""

    def rotary(x, positions, inv_freq):
        angle = positions[:, None, :, None].double() * inv_freq.double()
        c, s, (a, b) = angle.cos().float(), sign * angle.sin().float(), x.float().chunk(2, -1)
        return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)

    return rotary


FORMULAS: dict[str, Callable] = {  # where a record has no `peer`
    "adamw_step": adamw,
    "gemma_norm": gemma_norm,
    "global_norm": global_norm,
    "gumbel_argmax": lambda logits, u: (logits.float() - (-u.log()).log()).argmax(1),
    "rotary_forward": turned(1),
    "rotary_backward": turned(-1),
    "stochastic_round": lambda x, bits: ((x.view(torch.int32) + bits) & -65536).view(torch.float32).bfloat16(),
    "axpy": lambda a, x, y: torch.add(y, x, alpha=a),
    "attention_forward": F.scaled_dot_product_attention,
    "entropy_forward": entropy,
    "entropy_backward": entropy_backward,
    "group_advantage": advantage,
    "kl_forward": k3,
    "kl_backward": k3_backward,
    "masked_softmax_forward": lambda x, mask: x.masked_fill(~mask, -torch.inf).softmax(1),
    "masked_softmax_backward": lambda dy, y: torch.ops.aten._softmax_backward_data(dy, y, 1, y.dtype),
    "merge_attention": merged,
    "policy_loss_forward": policy_loss,
    "policy_loss_backward": policy_loss_backward,
    "rms_norm_backward": rms_norm_backward,
}


def liger() -> dict[str, Peer]:
    """Liger-Kernel 0.8's, by exercise. What a kernel of it returns beside our outputs is left out."""
    ops = importlib.import_module("liger_kernel.ops")
    swiglu, layer, rms, fused = (
        importlib.import_module(f"liger_kernel.ops.{name}")
        for name in ("swiglu", "layer_norm", "rms_norm", "fused_add_rms_norm")
    )

    def layer_norm(x, weight, bias):
        y, _, mean, rstd, *_ = layer.layer_norm_forward(x, weight, bias, 1e-5)
        return y, mean, rstd

    def rms_norm(x, weight):
        y, _, rstd, *_ = rms.rms_norm_forward(x, weight, 1e-6, 0.0, "llama", None)
        return y, rstd

    def add_rms_norm(x, residual, weight):
        return fused.fused_add_rms_norm_forward(x, residual, weight, 1e-6, 0.0, "llama")[:2]

    def rms_backward(args: tuple) -> Call:
        dy, x, weight, _ = args
        _, x, rstd, block, warps, mode = rms.rms_norm_forward(x, weight, 1e-6, 0.0, "llama", None)
        return lambda: rms.rms_norm_backward(dy, x, weight, rstd, 0.0, mode, block, warps, False, None, True)

    def last_layer(hidden, weight, labels):
        leaves = [hidden.detach().requires_grad_(), weight.detach().requires_grad_()]
        loss = ops.LigerFusedLinearCrossEntropyFunction.apply(*leaves, labels)[0]
        return loss.detach(), *torch.autograd.grad(loss, leaves)

    return {
        "swiglu_forward": direct(lambda gate, up: swiglu.swiglu_forward(gate, up)[-1]),
        "swiglu_backward": on_copies(lambda dy, gate, up: swiglu.swiglu_backward(gate, up, dy)),
        "layer_norm_forward": direct(layer_norm),
        "layer_norm_backward": lambda args: (
            lambda: layer.layer_norm_backward(args[0], args[1], args[2], torch.zeros_like(args[2]), *args[3:])
        ),
        "rms_norm_forward": direct(rms_norm),
        "rms_norm_backward": rms_backward,
        "add_rms_norm": direct(add_rms_norm),
        "cross_entropy_forward": direct(
            lambda logits, labels: ops.LigerCrossEntropyFunction.apply(logits, labels, None, -100, 0.0, 0.0, "none")[0]
        ),
        "linear_cross_entropy_forward_backward": direct(last_layer),
    }


def quack() -> dict[str, Peer]:
    """quack-kernels 0.6's, by exercise."""
    norms, losses, softmax = (importlib.import_module(f"quack.{m}") for m in ("rmsnorm", "cross_entropy", "softmax"))

    def rms_norm(x, weight):
        y, _, rstd = norms.rmsnorm_fwd(x, weight, eps=1e-6, store_rstd=True)
        return y, rstd

    def layer_norm(x, weight, bias):
        y, rstd, mean = norms.layernorm_fwd(x, weight.float(), bias.float(), 1e-5, return_rstd=True, return_mean=True)
        return y, mean, rstd

    return {
        "rms_norm_forward": direct(rms_norm),
        "add_rms_norm": direct(
            lambda x, residual, weight: norms.rmsnorm_fwd(x, weight, residual=residual, eps=1e-6)[:2]
        ),
        "rms_norm_backward": direct(lambda dy, x, weight, rstd: norms.rmsnorm_bwd(x, weight, dy, rstd)[:2]),
        "layer_norm_forward": direct(layer_norm),
        "layer_norm_backward": direct(
            lambda dy, x, weight, mean, rstd: norms.layernorm_bwd(x, weight, dy, rstd, mean, has_bias=True)
        ),
        "masked_softmax_backward": direct(lambda dy, y: softmax.softmax_bwd(dy, y)),
        "cross_entropy_forward": direct(lambda x, labels: losses.cross_entropy_fwd(x, labels, return_lse=True)),
        "cross_entropy_backward": direct(lambda dloss, x, labels, lse: losses.cross_entropy_bwd(x, labels, dloss, lse)),
    }


def peers(name: str) -> tuple[dict[str, Peer], dict[str, str]]:
    """(who computes the exercise, by `AUTHORS`; why another does not)."""
    found, missing = {"ours": ours(name)}, {}
    formula = FORMULAS.get(name) or EXERCISES[name].peer
    if formula:
        found |= {"torch": direct(formula), "torch.compile": direct(torch.compile(formula, dynamic=False))}
    if name == "attention_backward":
        found["torch"], missing["torch.compile"] = attention_backward, "it leaves this gradient to PyTorch"
    for author, package, table in (("Liger-Kernel", "liger_kernel", liger), ("quack", "quack", quack)):
        if not find_spec(package):
            missing[author] = f"{package} is not installed"
            continue
        try:
            of_package = table()
        except Exception as error:
            missing[author] = f"{package} cannot be imported: {type(error).__name__}: {error}"
            continue
        if name in of_package:
            found[author] = of_package[name]
        else:
            missing[author] = "not compared"
    return found, missing
