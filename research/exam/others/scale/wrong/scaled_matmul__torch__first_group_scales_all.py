# Wrong: takes the scales of the first group for all groups.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    return (a.float() @ b.float()) * a_scale[:, :1] * b_scale[:1]
