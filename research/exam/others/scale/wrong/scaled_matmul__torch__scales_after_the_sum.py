# Wrong: scales the whole product by the sum over groups of the products of scales.
import torch


def scaled_matmul(a, a_scale, b, b_scale):
    G = a_scale.shape[1]
    return (a.float() @ b.float()) * (a_scale @ b_scale) / G
