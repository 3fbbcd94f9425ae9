"""The columns are cut into as many parts as keep 256 programs busy: the fewer rows, the more parts, and the sum has
another order. Each call is right to a rounding, and twice the same; a row alone has other bits than among others.
"""

import torch


def split_k_sum(x):
    parts = max(1, min(256 // max(len(x), 1), x.shape[1]))
    total = x.new_zeros(len(x), dtype=torch.float32)
    for part in x.float().tensor_split(parts, 1):
        columns = total.new_zeros(len(x))
        for column in part.unbind(1):
            columns = columns + column
        total = total + columns
    return total.to(x.dtype)
