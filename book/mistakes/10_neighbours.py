"""The columns are cut into as many parts as keep 256 programs busy: the fewer rows, the more parts, and the sum has
another order. Each call is right to a rounding, and twice the same; a row alone has other bits than among others.
"""

import torch


def split_k_sum(x):
    parts = max(1, min(256 // max(len(x), 1), x.shape[1]))
    sums = torch.stack([part.float().sum(1) for part in x.tensor_split(parts, 1)], 1)
    total = sums.new_zeros(len(x))
    for part in sums.unbind(1):
        total = total + part
    return total.to(x.dtype)
