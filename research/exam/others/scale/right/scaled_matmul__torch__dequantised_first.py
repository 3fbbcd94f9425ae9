# Right: both factors times their scales in float32, then one product.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    K, G = a.shape[1], a_scale.shape[1]
    size = K // G
    left = a.float() * a_scale.repeat_interleave(size, dim=1)
    right = b.float() * b_scale.repeat_interleave(size, dim=0)
    return left @ right
