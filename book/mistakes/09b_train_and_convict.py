"""A small input, as a test without a suspicion would have it: positions below 256, weights of the norm whose sum with
1 bfloat16 has exactly, and two tokens.
"""

import torch


def precision_witness(block):
    x = torch.tensor([[0.5, -1.5, 2.0, 1.0], [1.0, 2.0, -0.5, 3.0]])
    if block == "rotary":
        return x, torch.tensor([3, 4])
    if block == "scaled_norm":
        return x, torch.tensor([0.5, 0.0, -0.5, 0.25], dtype=torch.bfloat16)
    return x.bfloat16(), torch.tensor([0, 1])
