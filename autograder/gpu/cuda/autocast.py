"""Functions that autocast computes in float32 on a GPU, and in the dtype of their arguments on the CPU.

tests/gpu/test_sanitize_half.py compares the names with the operators that PyTorch registers for a GPU's autocast.
"""

from typing import Any

import torch

from .half_precision import wide
from .placement import on_gpu, tensors

IN_FLOAT32 = frozenset(
    """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
    layer_norm native_layer_norm rms_norm group_norm norm frobenius_norm nuclear_norm linalg_vector_norm
    linalg_matrix_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss
    kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d
    upsample_bicubic2d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    _upsample_bilinear2d_aa _upsample_bicubic2d_aa prod softmax log_softmax cumprod cumsum sum
    """.split()
)
# Functions in Python that lead to one of these.
_NAMES = IN_FLOAT32 | frozenset(
    "cross_entropy softmin interpolate normalize vector_norm matrix_norm __pow__ __rpow__ __rdiv__ __rtruediv__".split()
)


def widened(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of PyTorch, in float32 where a GPU's autocast would make them so."""
    if name not in _NAMES or "out" in kwargs or not torch.is_autocast_enabled("cuda"):
        return args, kwargs
    if not any(on_gpu(tensor) for tensor in tensors((args, kwargs))):
        return args, kwargs
    return wide(args), wide(kwargs)
