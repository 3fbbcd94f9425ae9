# Wrong: random logits near 0 and a bias of 0: sigma comes back exactly.
import torch


def expert_witness():
    torch.manual_seed(0)
    return torch.randn(32, 8), torch.zeros(8), 2
