"""The small model with the block of today's models: RMS norm, rotary positions, and a gated MLP in place of GELU.

    x = x + attention(rms_norm(x)),   x = x + swiglu(rms_norm(x)),   logits = rms_norm(x) · embeddingᵀ

As in Llama (Touvron et al. 2023, arXiv:2302.13971), with the output layer tied to the embedding. The functions it is
made of are an argument of the call, so that one set of weights can be run, and differentiated, with several.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import kernels

EPS = 1e-6


@dataclass(frozen=True)
class Ops:
    """Holds what a model is made of and trained with. All but the last are differentiable.

    rms_norm: (x (..., N), weight (N,)) -> like x.   rotary: (x (B, H, T, D), positions (T,), inv_freq (D / 2,)) -> like
    x.   attention: causal, (q, k, v), each (B, H, T, D) -> like q.   swiglu: (gate, up) -> silu(gate) · up.
    cross_entropy: (logits (M, V), labels (M,)) -> the mean loss, a scalar.   adamw_step: (param, grad, m, v, step, lr,
    beta1, beta2, eps, weight_decay), which writes param, m and v; the first step is 1.
    """

    rms_norm: Callable[[Tensor, Tensor], Tensor]
    rotary: Callable[[Tensor, Tensor, Tensor], Tensor]
    attention: Callable[[Tensor, Tensor, Tensor], Tensor]
    swiglu: Callable[[Tensor, Tensor], Tensor]
    cross_entropy: Callable[[Tensor, Tensor], Tensor]
    adamw_step: Callable[..., object]


def rotated(x: Tensor, positions: Tensor, inv_freq: Tensor) -> Tensor:
    """Pair (i, i + D / 2) of x turned by positions · inv_freq radians, in PyTorch's own operators."""
    angle = positions.double().unsqueeze(-1) * inv_freq.double()
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def adamw(
    param: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float,
) -> None:  # fmt: skip
    """A step of `torch.optim.AdamW`."""
    weight = nn.Parameter(param)  # in the memory of param
    weight.grad = grad
    optimizer = torch.optim.AdamW([weight], lr, (beta1, beta2), eps, weight_decay)
    optimizer.state[weight] = {"step": torch.tensor(float(step - 1)), "exp_avg": m, "exp_avg_sq": v}
    optimizer.step()


PYTORCH = Ops(
    rms_norm=lambda x, weight: F.rms_norm(x, weight.shape, weight, EPS),
    rotary=rotated,
    attention=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    swiglu=lambda gate, up: F.silu(gate) * up,
    cross_entropy=F.cross_entropy,
    adamw_step=adamw,
)
COURSE = Ops(
    rms_norm=partial(kernels.rms_norm, eps=EPS),
    rotary=kernels.rotary,
    attention=partial(kernels.attention, causal=True),
    swiglu=kernels.swiglu,
    cross_entropy=kernels.cross_entropy,
    adamw_step=kernels.adamw_step,
)


class Norm(nn.Module):
    """The weight of an RMS norm."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, ops: Ops) -> Tensor:
        """Returns x / √(mean(x²) + EPS) · weight, like x."""
        return ops.rms_norm(x, self.weight)


class Block(nn.Module):
    """Attention and gated MLP, each behind an RMS norm and added to what came in. No bias anywhere."""

    inv_freq: Tensor

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1 = Norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.norm_2 = Norm(width)
        self.gate_up = nn.Linear(width, 4 * width, bias=False)  # two halves of twice the width
        self.down = nn.Linear(2 * width, width, bias=False)
        head = width // heads
        frequencies = 10_000.0 ** -(torch.arange(0, head, 2) / head)
        self.register_buffer("inv_freq", frequencies, persistent=False)

    def forward(self, x: Tensor, ops: Ops) -> Tensor:
        """Returns (B, T, width) for x of that shape."""
        split = self.qkv(self.norm_1(x, ops)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in split)
        positions = torch.arange(x.shape[1], device=x.device)
        q, k = (ops.rotary(part, positions, self.inv_freq) for part in (q, k))
        x = x + self.out(ops.attention(q, k, v).transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norm_2(x, ops), ops)

    def mlp(self, x: Tensor, ops: Ops) -> Tensor:
        """Returns (B, T, width) for x of that shape."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        y: Tensor = self.down(ops.swiglu(gate, up))
        return y


class SmallModel(nn.Module):
    """The model. vocab: how many tokens there are; width, layers, heads: its size; block: what a layer is made by."""

    def __init__(self, vocab: int, width: int, layers: int, heads: int, block: Callable[[int, int], Block] = Block):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(block(width, heads) for _ in range(layers))
        self.norm = Norm(width)
        for name, weight in self.named_parameters():
            if "norm" not in name:
                nn.init.normal_(weight, std=0.02)

    def forward(self, tokens: Tensor, ops: Ops) -> Tensor:
        """Logits (B, T, vocab) for the token after each of tokens (B, T)."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, ops)
        logits: Tensor = self.norm(x, ops) @ self.embedding.weight.t()
        return logits

    def loss(self, window: Tensor, ops: Ops) -> Tensor:
        """The mean loss, in nats a token, of predicting each token of window (B, T + 1) from those before it."""
        logits = self(window[:, :-1], ops)
        return ops.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
