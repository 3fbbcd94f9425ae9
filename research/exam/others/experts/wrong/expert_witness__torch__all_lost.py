# Wrong: sigma is 1e-30 under a bias of 11: all of it is lost, and the weights are NaN.
import torch


def expert_witness():
    return torch.full((2, 4), -70.0) + torch.arange(4), torch.full((4,), 11.0), 2
