# Wrong: a bias of 11 and ordinary logits: the weights are off by 1e-6 only.
import torch


def expert_witness():
    torch.manual_seed(1)
    return torch.randn(128, 16), torch.full((16,), 11.0), 4
