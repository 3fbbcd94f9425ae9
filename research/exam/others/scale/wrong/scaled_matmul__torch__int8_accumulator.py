# Wrong: multiplies in int8, whose sums wrap at 127.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    step = a.shape[1] // a_scale.shape[1]
    total = 0
    for g in range(a_scale.shape[1]):
        part = torch.matmul(a[:, g * step : (g + 1) * step], b[g * step : (g + 1) * step])
        total = total + part.float() * a_scale[:, g : g + 1] * b_scale[g : g + 1]
    return total
