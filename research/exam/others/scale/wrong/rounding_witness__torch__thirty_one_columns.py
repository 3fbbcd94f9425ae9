# Wrong: N is 31, no multiple of 32.
import torch


def rounding_witness():
    x = torch.ones(1, 31)
    x[0, 0] = 448 * 1.4
    return (x,)
