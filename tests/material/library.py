"""The functions that a training script imports, each with tensors to call it on."""

import functools
from collections.abc import Callable
from inspect import signature

import torch
from differentiable import backward_of, call_named, inputs_with_gradients
from graded_kernels import kernels
from graded_kernels.autograder.judge import EXERCISES, Exercise
from graded_kernels.autograder.runner import Tree
from torch.nn import functional as F


def random(*shape, dtype=torch.float32, seed: int = 3, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers, drawn in float64 and rounded once: the same ones in every dtype."""
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale).to(dtype)


def heads(b=2, h=4, g=2, m=5, n=7, d=3, dtype=torch.float64) -> list[torch.Tensor]:
    """q, k and v with gradients, of h heads and of g."""
    shapes = (b, h, m, d), (b, g, n, d), (b, g, n, d)
    return [random(*shape, dtype=dtype, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]


def rows(shape=(3, 5), *, parameters: int = 0) -> list[torch.Tensor]:
    """x, with a constant row, and parameters of one number a column."""
    x = random(*shape, dtype=torch.float64)
    x.view(-1, shape[-1])[-1] = 0.25
    return [x, *(random(shape[-1], dtype=torch.float64, seed=7 + i) for i in range(parameters))]


def pytorchs_attention(q, k, v, key_lengths=None, causal=False, scale=None) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, lse) by F.scaled_dot_product_attention, which needs padding without NaN and gives no lse."""
    (B, H, M, D), (G, N) = q.shape, k.shape[1:3]
    lengths = [N] * B if key_lengths is None else key_lengths.tolist()
    mask = torch.zeros(B, 1, M, N, dtype=torch.bool)
    for one, length in zip(mask, lengths, strict=True):
        for back in range(1, M + 1):  # the last query sees all, the one before it one less
            one[0, M - back, : max(length - (back - 1 if causal else 0), 0)] = True
    used = mask.any((1, 2))[:, None, :, None]
    k, v = (x.masked_fill(~used, 0).repeat_interleave(H // G, 1) for x in (k, v))
    o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    wide = torch.promote_types(q.dtype, torch.float32)
    s = q.to(wide) @ k.to(wide).mT * (D**-0.5 if scale is None else scale)
    return o, s.masked_fill(~mask, -torch.inf).logsumexp(-1)


IN_PLACE = ("adamw_step", "clip_by_global_norm")  # which have no gradient: tests/exercises/test_step.py
WHOLE = [name for name in kernels.__all__ if name in EXERCISES and name not in IN_PLACE]  # named as its record is
LABELS = torch.tensor([[2, -100, 6, 0], [5, 5, 1, 3], [0, 4, 4, -100]])
ATTENTION = {
    "plain": {},
    "lengths": {"key_lengths": torch.tensor([7, 0])},
    "causal": {"causal": True},
    "causal with lengths": {"causal": True, "key_lengths": torch.tensor([6, 3])},
    "scale": {"scale": -0.4},
}
LOGITS, HIDDEN = random(3, 4, 7, dtype=torch.float64), random(3, 4, 5, dtype=torch.float64)
WEIGHT = random(7, 5, dtype=torch.float64, seed=4)
CALLS: dict[str, tuple[Callable, list[torch.Tensor]]] = {  # a function of differentiable tensors, and these
    "decay_scan": (kernels.decay_scan, [random(5, 3, dtype=torch.float64), -random(5, dtype=torch.float64).abs()]),
    **{
        f"{name}, {shape}": (functools.partial(getattr(kernels, name), eps=0.1), rows(shape, parameters=count))
        for name, count in (("layer_norm", 2), ("rms_norm", 1))
        for shape in ((5,), (2, 3, 4))
    },
    **{
        f"attention, {name}": (functools.partial(kernels.attention, **setting), heads(m=3, d=2))
        for name, setting in ATTENTION.items()
    },
    **{
        f"{function.__name__}, {reduction}": (
            lambda *tensors, function=function, reduction=reduction: function(
                *tensors, LABELS.to(tensors[0].device), reduction=reduction
            ),
            tensors,
        )
        for function, tensors in ((kernels.cross_entropy, [LOGITS]), (kernels.linear_cross_entropy, [HIDDEN, WEIGHT]))
        for reduction in ("mean", "sum", "none")
    },
}


def has_the_parameters_of_its_record(name: str) -> bool:
    record = EXERCISES.get(f"{name}_forward")
    return isinstance(record, Exercise) and record.parameters == tuple(signature(getattr(kernels, name)).parameters)


def call(name: str, dtype: torch.dtype) -> tuple[Callable, list[torch.Tensor]]:
    """The function of this name in `CALLS`, or on the first case of its record, and leaves of this dtype."""
    function, tensors = CALLS[name] if name in CALLS else _first_call(name)
    return function, [tensor.detach().to(dtype, copy=True).requires_grad_() for tensor in tensors]


def _first_call(name: str) -> tuple[Callable, list[torch.Tensor]]:
    forward = EXERCISES[f"{name}_forward"]
    named = call_named(forward, forward.cases[0].name)
    leaves = inputs_with_gradients(backward_of(forward))

    def function(*tensors):
        device, dtype = tensors[0].device, tensors[0].dtype
        alike = Tree(tuple(named.values())).map(lambda t: t.to(device, dtype if t.is_floating_point() else t.dtype))
        given = dict(zip(named, alike, strict=True)) | dict(zip(leaves, tensors, strict=True))
        return getattr(kernels, name)(**given)

    return function, [named[one] for one in leaves]
