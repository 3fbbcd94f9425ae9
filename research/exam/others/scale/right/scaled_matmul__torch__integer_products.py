# Right: products of a group in int64, exact, scaled group by group in float64.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    (M, K), N, G = a.shape, b.shape[1], a_scale.shape[1]
    step = K // G
    total = torch.zeros(M, N, dtype=torch.float64, device=a.device)
    for g in range(G):
        part = a[:, g * step : (g + 1) * step].long() @ b[g * step : (g + 1) * step].long()
        total += a_scale[:, g, None].double() * b_scale[None, g].double() * part
    return total.float()
