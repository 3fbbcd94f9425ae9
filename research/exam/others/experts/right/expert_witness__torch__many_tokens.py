# Right: 64 tokens and 16 experts, logits sunk to about -12, a bias of 8 for all.
import torch


def expert_witness():
    g = torch.Generator().manual_seed(0)
    logits = -12.0 + 0.5 * torch.randn(64, 16, generator=g)
    return logits, torch.full((16,), 8.0), 4
