# Wrong: 448 / 1e-30 is 4.5e32, which is finite.
import torch


def dormant_witness():
    return (torch.full((1, 128), 1e-30) * torch.linspace(0.1, 1, 128),)
