# Right: one block in float16: its largest is 1.2 * 448 / 64, the rest half as large.
import torch


def rounding_witness():
    x = torch.full((1, 32), 4.0, dtype=torch.float16)
    x[0, 0] = 448 * 1.25 / 64
    return (x,)
