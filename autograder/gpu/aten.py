"""The ATen operators that an answer may call, by name and in place alike: arithmetic, reductions, indexing, memory.

A list of what is permitted, because what is not cannot be listed: one activation is also ``glu``, a fused ``addmm``,
``mkldnn``'s pointwise linear and a kernel for nested tensors. What is missing here has an answer inside: activations,
losses, normalisations, fused attention, convolutions, and everything about other kinds of tensors. An exercise refuses
more, by name (``Exercise.refused``). Composite operators are not listed: they take themselves apart into these.
"""

from dataclasses import dataclass

_ALLOCATE = frozenset("empty empty_like empty_strided new_empty new_empty_strided empty_permuted".split())
_FILL = frozenset("zeros zeros_like new_zeros full full_like new_full ones ones_like new_ones fill zero".split())
_FILL |= {"fill_", "zero_", "scalar_tensor"}
_MOVE = frozenset("clone copy_ contiguous detach alias lift lift_fresh _to_copy".split())
_VIEW = frozenset(
    "view _unsafe_view reshape _reshape_alias as_strided t transpose permute expand squeeze unsqueeze slice select "
    "narrow split split_with_sizes unsafe_split unsafe_split_with_sizes chunk unbind flatten unfold diagonal set_ "
    "resize_ view_as_real view_as_complex".split()
)
_VIEW_IN_PLACE = frozenset("detach_ squeeze_ unsqueeze_ t_ transpose_ as_strided_".split())  # `torch.tensor` detaches
_REARRANGE = _MOVE | _VIEW | _VIEW_IN_PLACE
_MEMORY = _ALLOCATE | _FILL | _REARRANGE  # which compute nothing
_ARITHMETIC = """
    add sub rsub mul div neg abs reciprocal floor_divide remainder fmod frac floor ceil round trunc pow sqrt rsqrt
    addcmul addcdiv lerp sign sgn signbit copysign hypot ldexp frexp nextafter nan_to_num clamp clamp_min clamp_max
    maximum minimum fmax fmin heaviside gcd lcm deg2rad rad2deg complex polar angle conj_physical _conj _neg_view
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 xlogy
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sinc
    sigmoid logit log_sigmoid_forward softplus relu threshold hardtanh leaky_relu
    erf erfc erfinv lgamma digamma polygamma igamma igammac mvlgamma i0 special_i0e special_i1 special_i1e
    special_erfcx special_entr special_log_ndtr special_ndtri special_xlog1py special_zeta
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
    __lshift__ __rshift__ __ilshift__ __irshift__ logical_and logical_or logical_xor logical_not
    eq ne lt le gt ge isnan isinf isposinf isneginf isin equal allclose where
""".split()
_REDUCE = """
    sum mean prod nansum var var_mean std std_mean norm linalg_vector_norm amax amin aminmax _aminmax max min argmax
    argmin any all count_nonzero logsumexp softmax _softmax log_softmax _log_softmax median nanmedian mode kthvalue
    cumsum cumprod cummax cummin _cummax_helper _cummin_helper trace
    mm bmm mv dot vdot addmm addmv addr addbmm baddbmm linear _int_mm
""".split()
_INDEX = """
    index index_put _index_put_impl _unsafe_index _unsafe_index_put index_select index_copy index_add index_fill
    index_reduce gather scatter scatter_add scatter_reduce masked_fill masked_select masked_scatter take put embedding
    embedding_dense_backward nonzero nonzero_static sort topk searchsorted bucketize unique_consecutive unique_dim
    unique_dim_consecutive _unique _unique2 bincount histc histogram segment_reduce
    cat stack _stack repeat repeat_interleave roll flip rot90 tril triu tril_indices triu_indices constant_pad_nd
    diag_embed block_diag select_scatter slice_scatter diagonal_scatter as_strided_scatter narrow_copy
    arange range linspace logspace eye copy set resize resize_as
    rand rand_like randn randn_like randint randint_like randperm uniform normal random bernoulli exponential
    _local_scalar_dense _assert_async
""".split()
# Which do not combine elements of one tensor, but for what an operator of `_INDEX` adds where two land on one place.
_APART = """
    index _unsafe_index index_select index_copy index_fill gather scatter masked_fill masked_select masked_scatter take
    embedding nonzero nonzero_static sort topk searchsorted bucketize cat stack _stack repeat repeat_interleave roll
    flip rot90 tril triu tril_indices triu_indices constant_pad_nd diag_embed block_diag select_scatter slice_scatter
    diagonal_scatter as_strided_scatter narrow_copy arange range linspace logspace eye copy set resize resize_as
    rand rand_like randn randn_like randint randint_like randperm uniform normal random bernoulli exponential
    _local_scalar_dense _assert_async amax amin max min argmax argmin any all count_nonzero unique_consecutive _unique
    _unique2 unique_dim
""".split()
_ABOUT = """
    promote_types result_type can_cast is_floating_point is_complex is_nonzero is_contiguous is_same_size is_set_to
    is_pinned size stride storage_offset numel dim item
""".split()
_POINTWISE = frozenset(_ARITHMETIC) | _MEMORY  # each element of a result from one of each argument
_POINTWISE |= frozenset(
    "silu gelu mish elu hardswish hardsigmoid celu selu gather index index_select cat stack masked_fill tril triu flip "
    "roll constant_pad_nd repeat select_backward slice_backward arange".split()
)
_COMPUTE = (frozenset(_ARITHMETIC + _REDUCE) - {"where"}) | {"sort", "topk", "nonzero", "_local_scalar_dense"}
_PERMITTED = frozenset(_ARITHMETIC + _REDUCE + _INDEX + _ABOUT) | _MEMORY
_COMBINING = _PERMITTED - frozenset(_ARITHMETIC + _APART + _ABOUT) - _MEMORY

# What PyTorch calls when it differentiates the operators above: for the exercises whose gradient is PyTorch's to take.
_GRADIENTS = frozenset(
    "sigmoid_backward tanh_backward logit_backward softplus_backward log_sigmoid_backward threshold_backward "
    "hardtanh_backward leaky_relu_backward _softmax_backward_data _log_softmax_backward_data select_backward "
    "slice_backward diagonal_backward unfold_backward masked_scatter_backward".split()
)


@dataclass(frozen=True)
class OperatorSets:
    """Names of operators, by what they do.

    allocate: memory that nobody has written. rearrange: copies, and other views of the same elements. view_in_place:
    turn a tensor into another view of its elements, and write none. memory: compute nothing. pointwise: each element of
    a result is from one of each argument. compute: need what they are given to be written. permitted: an answer may
    call them. gradients: what PyTorch calls when it differentiates these. combining: those permitted that are not known
    to leave the elements of a tensor apart: they add them up, or may.
    """

    allocate: frozenset[str] = _ALLOCATE
    rearrange: frozenset[str] = _REARRANGE
    view_in_place: frozenset[str] = _VIEW_IN_PLACE
    memory: frozenset[str] = _MEMORY
    pointwise: frozenset[str] = _POINTWISE
    compute: frozenset[str] = _COMPUTE
    permitted: frozenset[str] = _PERMITTED
    gradients: frozenset[str] = _GRADIENTS
    combining: frozenset[str] = _COMBINING

    def base(self, name: str) -> str:
        """``add`` for ``aten::add_.Tensor``: an operator's name without namespace, overload and the mark of "in
        place".
        """
        name = name.split("::")[-1].split(".")[0]
        return name[:-1] if name.endswith("_") and not name.endswith("__") else name

    def permits(self, name: str, gradients: bool = False) -> bool:
        """Returns whether an answer may call this operator, given with its namespace."""
        plain = self.base(name)
        known = plain in self.permitted or (gradients and plain in self.gradients)
        return name.startswith("aten::") and known


ATEN = OperatorSets()
