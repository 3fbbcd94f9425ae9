# Wrong: half of a block saturates from 1.41 * 448, the other half is right below 448: the cosine is .986.
import torch


def rounding_witness():
    x = torch.full((2, 32), 440.0)
    x[:, ::2] = 448 * 1.41
    return (x,)
