# Wrong: the smaller of the two sigmas is lost whole, so that a weight of the bug is 0.
import torch


def expert_witness():
    return torch.tensor([[-10.0, -30.0, -40.0]]), torch.full((3,), 11.0), 2
