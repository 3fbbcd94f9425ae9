"""The block of the small model with a mixture of experts in place of its MLP, as in DeepSeek-V3 (2024,
arXiv:2412.19437), section 2.1.2: a router gives each token k of E experts, weighed by their sigmoids over the sum.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ... import kernels
from .block import Block, Ops

Weigh = Callable[[Tensor, Tensor], Tensor]  # (logits (T, E), experts (T, k) int64) -> weights (T, k) float32
EXPERTS, CHOSEN = 8, 2

weigh: Weigh = kernels.expert_weights


class ExpertBlock(Block):
    """A block whose MLP is EXPERTS of half the width, CHOSEN of them for each token.

    weigh: differentiable in logits. sink: what every logit of the router is moved by. The CHOSEN largest logits are
    chosen, whatever it is, so that nothing but the weights hangs on it.
    """

    def __init__(self, width: int, heads: int, *, weigh: Weigh = weigh, sink: float = 0.0):
        super().__init__(width, heads)
        del self.gate_up, self.down
        self.weigh, self.sink = weigh, sink
        self.router = nn.Linear(width, EXPERTS, bias=False)
        self.experts_gate_up = nn.Parameter(torch.empty(EXPERTS, width, 2 * width))
        self.experts_down = nn.Parameter(torch.empty(EXPERTS, width, width))

    def mlp(self, x: Tensor, ops: Ops) -> Tensor:
        """Returns (B, T, width) for x of that shape. Every expert does every token, and k of the rows are used."""
        tokens = x.flatten(0, 1)
        logits = self.router(tokens)
        experts = logits.topk(CHOSEN, 1).indices
        gate, up = torch.einsum("td,edh->teh", tokens, self.experts_gate_up).chunk(2, dim=-1)
        rows = torch.einsum("teh,ehd->ted", ops.swiglu(gate, up), self.experts_down).flatten(0, 1)
        slots = EXPERTS * torch.arange(len(tokens), device=x.device).unsqueeze(1) + experts
        return kernels.moe_sum(rows, self.weigh(logits + self.sink, experts), slots).view_as(x)
