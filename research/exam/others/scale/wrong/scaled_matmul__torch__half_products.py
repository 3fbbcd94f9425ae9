# Wrong: the product of a group in float16, which is infinite from 65504 on.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    G = a_scale.shape[1]
    left, right = a.half().unflatten(1, (G, -1)), b.half().unflatten(0, (G, -1))
    sums = torch.einsum("mgk,gkn->gmn", left, right).float()
    return (a_scale.t().unsqueeze(2) * b_scale.unsqueeze(1) * sums).sum(0)
