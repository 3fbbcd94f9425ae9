# Wrong: the largest is 1.6 times a power of two of 448: the nearest exponent is the right one.
import torch


def rounding_witness():
    x = torch.linspace(1.0, 400.0, 32).reshape(1, 32)
    x[0, 0] = 448 * 1.6
    return (x,)
