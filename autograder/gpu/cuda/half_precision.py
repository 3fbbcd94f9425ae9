"""Operators that PyTorch adds up in half precision on the CPU and in float32 on a GPU.

tests/gpu/test_sanitize_half.py measures both lists against float64: the error of what is in `IN_FLOAT32` is several
times that of a sum in float32, the error of what is in `AS_ON_GPU` is not.
"""

from typing import Any

import torch

from ..aten import ATEN
from ..borrowed import index_put_impl, schema

HALF = frozenset({torch.float16, torch.bfloat16})
_aten = torch.ops.aten
# By operator, the position of the argument whose dtype each result has; None: it stays in float32.
IN_FLOAT32: dict[Any, tuple[int | None, ...]] = {
    _aten.prod.default: (0,),
    _aten.prod.dim_int: (0,),
    _aten.embedding_dense_backward.default: (0,),
    _aten.index_put.default: (0,),
    _aten.index_put_.default: (0,),
    index_put_impl.default: (0,),
    _aten.nll_loss_forward.default: (0, 0),
    _aten.nll_loss2d_forward.default: (0, 0),
    _aten.native_layer_norm.default: (0, None, None),  # it adds well, but rounds mean and deviation for its gradient
    _aten.native_layer_norm_backward.default: (1, 5, 6),
    _aten.convolution_backward.default: (1, 2, 2),
}
AS_ON_GPU = (
    ATEN.pointwise
    | ATEN.gradients
    | frozenset(
        """
        sum mean var std var_mean std_mean cumsum cumprod norm linalg_vector_norm _softmax _log_softmax
        mm addmm bmm baddbmm mv addmv dot vdot addr convolution native_group_norm native_batch_norm
        native_group_norm_backward native_batch_norm_backward mse_loss smooth_l1_loss binary_cross_entropy
        binary_cross_entropy_with_logits avg_pool2d _adaptive_avg_pool2d logcumsumexp silu_backward gelu_backward
        mish_backward elu_backward glu glu_backward hardswish_backward nll_loss_backward mse_loss_backward
        amax amin aminmax max min argmax argmin any all sort topk kthvalue median nonzero cummax cummin
        embedding masked_select scatter index_copy index_fill select_scatter slice_scatter _local_scalar_dense copy
        rand rand_like randn randn_like randint randint_like uniform normal random bernoulli exponential native_dropout
        """.split()
    )
)


def needs_float32(func: Any, given: list[torch.Tensor]) -> bool:
    """Returns whether the operator with these tensors is to be computed in float32."""
    return func in IN_FLOAT32 and any(tensor.dtype in HALF for tensor in given)


def in_float32(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator computed in float32, its results rounded once."""
    result = func(*wide(args), **wide(kwargs))
    if schema(func).is_mutable:
        return args[0].copy_(result)
    results = result if isinstance(result, tuple) else (result,)
    pairs = zip(results, IN_FLOAT32[func], strict=True)
    narrow = tuple(
        tensor if tensor is None or place is None else tensor.to(args[place].dtype) for tensor, place in pairs
    )
    return narrow if isinstance(result, tuple) else narrow[0]


def unlike_gpu(func: Any, given: list[torch.Tensor]) -> str:
    """The operator's name, if it computes in half precision on the CPU and nobody has compared it with a GPU; or ""."""
    name = ATEN.base(schema(func).name)
    if func in IN_FLOAT32 or name in AS_ON_GPU or not any(tensor.dtype in HALF for tensor in given):
        return ""
    return f"aten.{name}"


def wide(value: Any) -> Any:
    """A value, or nested ones, with tensors of half precision in float32."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in HALF else value
    if isinstance(value, dict):
        return {name: wide(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(wide(part) for part in value)
    return value
