"""The columns are cut into as many parts as keep 256 programs busy: the fewer rows, the more parts, and the sum has
another order. Each call is right to a rounding, and twice the same; a row alone has other bits than among others.
"""

import torch


def tree(v):
    while v.shape[1] > 1:
        half = v.shape[1] // 2
        v = torch.cat((v[:, :half] + v[:, half : 2 * half], v[:, 2 * half :]), 1)
    return v


def split_k_sum(x):
    parts = max(1, min(256 // max(len(x), 1), x.shape[1]))
    sums = [tree(part) for part in x.float().tensor_split(parts, 1)]
    total = x.new_zeros(len(x), 1, dtype=torch.float32)
    for part in sums if x.shape[1] else ():
        total = total + part
    return total[:, 0].to(x.dtype)
