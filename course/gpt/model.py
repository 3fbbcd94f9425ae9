"""GPT-2, as far as its weights reach: the parameters have the names and the layout of the published files.

Radford et al. 2019; openai/gpt-2, src/model.py. The activation is an argument of the call, so that one set of weights
can be run under many.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

Activation = Callable[[torch.Tensor], torch.Tensor]


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """GPT-2's own activation."""
    return F.gelu(x, approximate="tanh")


class Conv1D(nn.Module):
    """x · weight + bias, with weight (inputs, outputs): the transpose of nn.Linear's, under GPT-2's name for it."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns (..., outputs) for x (..., inputs)."""
        return x @ self.weight + self.bias


class Attention(nn.Module):
    """Causal self-attention of several heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns (B, T, width) for x of that shape."""
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y: torch.Tensor = self.c_proj(mixed.transpose(1, 2).flatten(-2))
        return y


class MLP(nn.Module):
    """Two layers of weights with an activation between them, four times as wide inside."""

    def __init__(self, width: int):
        super().__init__()
        self.c_fc = Conv1D(width, 4 * width)
        self.c_proj = Conv1D(4 * width, width)

    def forward(self, x: torch.Tensor, activation: Activation) -> torch.Tensor:
        """Returns (..., width) for x of that shape."""
        y: torch.Tensor = self.c_proj(activation(self.c_fc(x)))
        return y


class Block(nn.Module):
    """Attention and MLP, each behind a layer norm and added to what came in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), MLP(width)

    def forward(self, x: torch.Tensor, activation: Activation) -> torch.Tensor:
        """Returns (B, T, width) for x of that shape."""
        x = x + self.attn(self.ln_1(x))
        y: torch.Tensor = x + self.mlp(self.ln_2(x), activation)
        return y


class GPT(nn.Module):
    """The model. vocab: how many tokens there are; context: how many it reads; width, layers, heads: its size."""

    def __init__(self, vocab: int, context: int, width: int, layers: int, heads: int):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens: torch.Tensor, activation: Activation = gelu_tanh) -> torch.Tensor:
        """Logits (B, T, vocab) for the token after each of tokens (B, T)."""
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[-1]]
        for block in self.h:
            x = block(x, activation)
        logits: torch.Tensor = self.ln_f(x) @ self.wte.weight.t()
        return logits

    @torch.no_grad()
    def write(self, tokens: torch.Tensor, count: int, activation: Activation = gelu_tanh) -> torch.Tensor:
        """tokens (T,) and the ``count`` most probable ones to follow, each chosen before the next."""
        for _ in range(count):
            window = tokens[-self.wpe.num_embeddings :]
            following = self(window.unsqueeze(0), activation)[0, -1].argmax()
            tokens = torch.cat([tokens, following.unsqueeze(0)])
        return tokens
