"""The difference over the gap above the expected value: right while both values lie between the same two powers of two,
since the gap doubles at each.
"""

import torch


def ulp_distance(actual, expected):
    gap = torch.nextafter(expected.abs(), torch.full_like(expected, torch.inf)) - expected.abs()
    return ((actual - expected).abs() / gap).round().long()
