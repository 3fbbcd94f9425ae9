# Wrong: a block of zeros is excluded: its scale is 0 for everybody.
import torch


def dormant_witness():
    x = torch.ones(1, 256)
    x[0, 128:] = 0.0
    return (x,)
