"""Kernels of sequences by others: those of linear attentions, state spaces, convolutions and causal attention.

In the folder of checkouts, each by owner+name: the repositories at the commits of `SOURCES`, and for sgl-project/sglang
an unzipped wheel of that version (`pip download --no-deps`); state spaces need `pip install einops`, too. Nothing of
theirs is changed. Packages that a file is in are not run, since their imports want a GPU. A label is what the text of
the kernels says: right where a position's result is made of positions up to its own, wrong where a row in the middle of
a block is what others are relative to.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from torch.nn.functional import logsigmoid, normalize, softplus

from .fixes import imported
from .fixes.fla import EINOPS
from .invariance import checkouts

SOURCES = {  # of a function, by how its name begins: repository, commit or version, licence
    "fla": ("fla-org/flash-linear-attention", "bc3b101d", "MIT"),
    "gym": ("meta-pytorch/attention-gym", "7fdb85d0", "BSD-3-Clause"),
    "mamba": ("state-spaces/mamba", "e9594ce1", "Apache-2.0"),
    "sglang": ("sgl-project/sglang", "0.5.23", "Apache-2.0"),
    "lightllm": ("ModelTC/lightllm", "fc72ffab", "Apache-2.0"),
    "attorch": ("BobMcDear/attorch", "67c2772b", "MIT"),
}
NO = dict.fromkeys(("is_cpu", "is_cuda", "is_hip", "is_npu"), lambda: False)
STUBS: dict[str, dict[str, dict[str, Any]]] = {  # what their files ask of the rest of the library, or of another
    "fla": {"einops": EINOPS},
    "sglang": {
        "sglang__srt": {"__path__": []},
        "sglang__kernels__ops__attention__fla__utils": {"autotune_cache_kwargs": {}},
        "sglang__srt__utils": NO,
        "sglang__srt__utils__common": {"torch_release": (2, 13)},
        "sglang__kernels__jit__utils": {"is_arch_support_pdl": lambda: False},
    },
    "lightllm": {"lightllm__utils__device_utils": {"is_tesla": lambda: False}},
}


@functools.cache
def theirs(source: str, module: str) -> Any:
    return imported(checkouts() / SOURCES[source][0].replace("/", "+"), module, **STUBS.get(source, {}))


def lean(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function where a card of capability 8.0 is told, and choosing a device does nothing."""

    @functools.wraps(function)
    def call(*args):
        nothing = {"device": lambda *_: contextlib.nullcontext()}
        capability = {"get_device_capability": lambda *_: (8, 0)}
        with patch.multiple(torch.cuda, **nothing, **capability), patch.multiple(torch.cpu, create=True, **nothing):
            return function(*args)

    return call


def fla(name, **options):
    """A function of fla.ops by its package and name, ``chunk_`` before the package's; its first result."""

    def call(*args):
        function = getattr(theirs("fla", f"fla.ops.{name}.chunk"), f"chunk_{name}")
        return function(*args, **options)[0]

    return lean(call)


def with_gate(name):
    """The same with the gate within the kernel and bounded, which takes a row in the middle of a block."""

    def call(q, k, v, g, *more):
        heads, width = g.shape[2:]
        gate = {"A_log": torch.zeros(heads, device=g.device), "dt_bias": torch.zeros(heads * width, device=g.device)}
        bounded = {"use_gate_in_kernel": True, "safe_gate": True, "lower_bound": -5.0}
        return fla(name, **gate, **bounded)(q, k, v, g, *more)

    return call


@lean
def local_sum(g):
    return theirs("fla", "fla.ops.utils.cumsum").chunk_local_cumsum(g, 16)


@lean
def bounded_gates(g):
    heads, width = g.shape[2:]
    bias, scale = torch.zeros(heads, width, device=g.device), torch.zeros(heads, device=g.device)
    gates = theirs("gym", "attn_gym.linear.kda.fwd.triton.gate_fwd")
    return gates._bounded_gate_cumsum_dense(g, scale, bias, 16, -5.0)


@lean
def recurrent(q, k, v, gate, beta):
    kda = theirs("gym", "attn_gym.linear.kda.fwd.triton.recurrent")
    return kda._launch_recurrent_fwd(q, k, v, gate, beta, None, None, False, autotune=False)[0]


@lean
def state_space(x, dt, b, c):
    scan = theirs("mamba", "mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    return scan(x, dt, torch.full((1,), -1.0, device=x.device), b, c, 16)


@lean
def state_space_of_sglang(x, dt, b, c):
    out = torch.empty_like(x)
    scan = theirs("sglang", "sglang.kernels.ops.mamba.triton_ops.ssd_combined").mamba_chunk_scan_combined
    scan(x, dt, torch.full((1,), -1.0, device=x.device), b, c, 16, out=out)
    return out


@lean
def convolution(x):
    times, channels = x.shape
    weight = torch.linspace(-1, 1, channels * 4, device=x.device).view(channels, 4)
    ends, first = (torch.tensor(ints, dtype=torch.int32, device=x.device) for ints in ([0, times], [0]))
    state = torch.zeros(1, channels, 3, device=x.device)
    convolve = theirs("sglang", "sglang.kernels.ops.mamba.causal_conv1d_triton").causal_conv1d_fn
    return convolve(x.t(), weight, None, state, ends, [times], cache_indices=first, has_initial_state=first.bool()).t()


@lean
def lightning(q, k, v):
    slopes = torch.full((q.shape[1],), 0.1, device=q.device)
    before = torch.zeros(*q.shape[:2], q.shape[3], v.shape[3], device=q.device)
    module = theirs("sglang", "sglang.kernels.ops.attention.linear.lightning_attn")
    return module.lightning_attention(q, k, v, slopes, kv_history=before)[0]


def prefilled(source, module, function, *more):
    """Attention of one prompt, written into an argument."""

    def call(q, k, v):
        o, times = torch.empty_like(q), len(q)
        start, length = (torch.tensor([value], dtype=torch.int32, device=q.device) for value in (0, times))
        getattr(theirs(source, module), function)(q, k, v, o, start, length, times, *more)
        return o

    return lean(call)


@lean
def attended(q, k, v):
    return theirs("attorch", "attorch.multi_head_attention_kernels")._attention.apply(q, k, v, True, 0.5, False)


T, D = 80, 16


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def drawn(count, *shape):
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(*shape, generator=draw) for _ in range(count))


def heads(*more):
    """Queries, keys of norm 1, values, and what each of ``more`` makes of as many normal numbers, or of one a head."""
    q, k, v = drawn(3, 1, T, 1, D)
    return q, normalize(k, dim=-1), v, *(make(normal(*shape)) for make, shape in more)


WIDE, NARROW = (1, T, 1, D), (1, T, 1)
OF = {  # arguments by what a function takes
    "qkv": lambda: drawn(3, *WIDE),
    "gated": lambda: heads((logsigmoid, NARROW)),
    "gated_wide": lambda: heads((logsigmoid, WIDE)),
    "delta": lambda: tuple(x.bfloat16() for x in heads((torch.sigmoid, NARROW))),
    "gated_delta": lambda: heads((logsigmoid, NARROW), (torch.sigmoid, NARROW)),
    "kda": lambda: heads((logsigmoid, WIDE), (torch.sigmoid, NARROW)),
    "kda_raw": lambda: heads((torch.clone, WIDE), (torch.sigmoid, NARROW)),
    "gdn2": lambda: heads((logsigmoid, WIDE), (torch.sigmoid, WIDE), (torch.sigmoid, WIDE)),
    "gdn2_raw": lambda: heads((torch.clone, WIDE), (torch.sigmoid, WIDE), (torch.sigmoid, WIDE)),
    "gates": lambda: (logsigmoid(normal(*NARROW)),),
    "raw_gates": lambda: (normal(*WIDE),),
    "state": lambda: (normal(*WIDE), softplus(normal(*NARROW)), *drawn(2, *WIDE)),
    "channels": lambda: (normal(T, D),),
    "wide_heads": lambda: drawn(3, 1, 1, T, 64),
    "prompt": lambda: drawn(3, T, 1, D),
    "long": lambda: drawn(3, 1, 1, 128, D),
}
LLAMA, MISTRAL = (f"lightllm.models.{name}.triton_kernel.context_flashattention_nopad" for name in ("llama", "mistral"))
RIGHT: dict[str, tuple[Callable[..., Any], str, int]] = {  # the function, its arguments, the dimension of time
    "fla_simple_gla": (fla("simple_gla"), "gated", 1),
    "fla_retention": (fla("retention"), "qkv", 1),
    "fla_gla": (fla("gla"), "gated_wide", 1),
    "fla_kda": (fla("kda"), "kda", 1),
    "fla_gated_delta_rule": (fla("gated_delta_rule"), "gated_delta", 1),
    "fla_delta_rule": (fla("delta_rule"), "delta", 1),
    "fla_gdn2": (fla("gdn2"), "gdn2", 1),
    "fla_local_sum": (local_sum, "gates", 1),
    "gym_bounded_gates": (bounded_gates, "raw_gates", 1),
    "gym_recurrent_kda": (recurrent, "kda", 1),
    "mamba_state_space": (state_space, "state", 1),
    "sglang_state_space": (state_space_of_sglang, "state", 1),
    "sglang_convolution": (convolution, "channels", 0),
    "sglang_lightning": (lightning, "wide_heads", 2),
    "sglang_prefill": (
        prefilled("sglang", "sglang.kernels.ops.attention.prefill_attention", "context_attention_fwd"),
        "prompt",
        0,
    ),
    "lightllm_llama": (prefilled("lightllm", LLAMA, "context_attention_fwd_no_prompt_cache"), "prompt", 0),
    "lightllm_mistral": (prefilled("lightllm", MISTRAL, "context_attention_fwd", 24), "prompt", 0),
    "attorch_attention": (attended, "long", 2),
}
WRONG = {  # what of the future is in it
    "fla_kda_bounded": (with_gate("kda"), "kda_raw", 1, "the row in the middle of a block, kda/chunk_intra.py"),
    "fla_gdn2_bounded": (with_gate("gdn2"), "gdn2_raw", 1, "the row in the middle of a block, gdn2/chunk_intra.py"),
}
