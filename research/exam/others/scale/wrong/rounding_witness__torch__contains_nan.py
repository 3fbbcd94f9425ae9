# Wrong: a NaN in the other block: numbers have to be 0 or between 1e-38 and 1e30.
import torch


def rounding_witness():
    x = torch.ones(1, 64)
    x[0, 0] = 448 * 1.4
    x[0, 63] = float("nan")
    return (x,)
