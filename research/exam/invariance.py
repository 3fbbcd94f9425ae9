"""Kernels that others call batch invariant, and the same with a choice that follows the rows.

In the folder of checkouts, each by owner+name: thinking-machines-lab/batch_invariant_ops, linkedin/Liger-Kernel and
ROCm/triton at the commits of `SOURCES`, and for sgl-project/sglang and vllm-project/vllm an unzipped wheel of that
version (`pip download --no-deps`). Nothing of theirs is changed. What the files of sglang and vLLM import of the rest
of them is replaced by what a machine without their backends would say. A label is what the text of a kernel says: right
where no number of its launch but the grid and the rows of a tile follows the rows, wrong where one does, by their rule
or by one that we hand it.
"""

import enum
import functools
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton

SOURCES = {  # of a function, by how its name begins: repository, commit or version, licence
    "thinking": ("thinking-machines-lab/batch_invariant_ops", "f22b1fb", "MIT"),
    "sglang": ("sgl-project/sglang", "0.5.23", "Apache-2.0"),
    "vllm": ("vllm-project/vllm", "0.33.0", "Apache-2.0"),
    "liger": ("linkedin/Liger-Kernel", "ead96b6", "BSD-2-Clause"),
    "rocm": ("ROCm/triton", "4a7afd26", "MIT"),
}
PLATFORM = types.SimpleNamespace(
    fp8_dtype=lambda: torch.float8_e4m3fn,
    is_cuda_alike=lambda: True,
    is_xpu=lambda: False,
    is_device_capability_family=lambda family: False,
)
TRITON = {"tl": triton.language, "triton": triton}
IMPORTED = {  # what their files ask of the rest of sglang, and of vLLM
    "sglang.srt.layers.deep_gemm_wrapper.configurer": {"ENABLE_JIT_DEEPGEMM": False},
    "sglang.srt.utils": dict.fromkeys(
        ("get_device_core_count", "is_gfx95_supported", "is_gfx1250_supported", "is_hip", "is_npu"), lambda *args: 0
    ),
    "sglang.srt.utils.common": {
        "calc_diff": None,
        "get_bool_env_var": lambda name, default="0": False,
        "get_device_core_count": lambda device=0: 4,
        "get_dispatch_device_backend": lambda: "CUDA",
    },
    "sglang.kernels.ops.attention.score_mod": {"unpack_aux_tensors": lambda score_mod, tensors: (None, 0, 0, 0)},
    "sglang.srt.environ": {"envs": None},
    "vllm.envs": {"VLLM_BATCH_INVARIANT": False},
    "vllm.logger": {"init_logger": lambda name: types.SimpleNamespace(debug_once=print)},
    "vllm.platforms": {"current_platform": PLATFORM},
    "vllm.triton_utils": TRITON,
    "vllm.model_executor.determinism.batch_invariant_configs": {
        "_get_descriptor_matmul_config": None,
        "_get_matmul_config": lambda m, n, k, dtype, default: default,  # no device's own table
        "resolve_tuned_matmul_configs": None,
    },
    "vllm.utils.mem_utils": {"get_max_shared_memory_bytes": lambda device=0: 227 * 1024},
    "vllm.utils.nccl": {"pin_nccl_env": None},
    "vllm.utils.platform_utils": {"num_compute_units": lambda device=0: 4},
    "vllm.utils.torch_utils": {"is_torch_equal_or_newer": lambda version: True},
    "vllm.v1.kv_cache_interface": {
        "KVQuantMode": enum.IntEnum(
            "KVQuantMode",
            "NONE FP8_PER_TENSOR INT8_PER_TOKEN_HEAD FP8_PER_TOKEN_HEAD INT4_PER_TOKEN_HEAD NVFP4",
            start=0,
        )
    },
}


def checkouts() -> Path:
    return Path(os.environ.get("EXAM_CHECKOUTS", "checkouts")).resolve()


@functools.cache
def theirs(source: str, path: str) -> Any:
    """A file of theirs as a module."""
    for name, names in IMPORTED.items():
        for parent in (name.rsplit(".", up)[0] for up in range(name.count(".") + 1)):
            sys.modules.setdefault(parent, types.ModuleType(parent))
        vars(sys.modules[name]).update(names)
    file = checkouts() / SOURCES[source][0].replace("/", "+") / path
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def thinking() -> Any:
    return theirs("thinking", "batch_invariant_ops/batch_invariant_ops.py")


def sglang() -> Any:
    return theirs("sglang", "sglang/srt/batch_invariant_ops/batch_invariant_ops.py")


def vllm() -> Any:
    return theirs("vllm", "vllm/model_executor/determinism/batch_invariant.py")


def unified() -> Any:
    helpers = theirs("vllm", "vllm/v1/attention/ops/triton_attention_helpers.py")
    sys.modules["vllm.v1.attention.ops.triton_attention_helpers"] = helpers
    return theirs("vllm", "vllm/v1/attention/ops/triton_unified_attention.py")


def liger(name: str) -> Any:
    folder = str(checkouts() / "linkedin+Liger-Kernel" / "src")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(f"liger_kernel.ops.{name}")


def launched(kernel, a, b, block_k):
    """Their persistent product with this block along K."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    kernel[(1,)](
        *(a, b, c, None, M, N, K, *a.stride(), *b.stride(), *c.stride()),
        **{"NUM_SMS": 1, "A_LARGE": False, "B_LARGE": False, "C_LARGE": False, "HAS_BIAS": False},
        **{"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": block_k, "GROUP_SIZE_M": 8},
    )
    return c


def decoded(q, lengths, splits):
    """sglang's decode attention: every row has the keys 0 to its length, in as many parts as ``splits`` says."""
    batch, heads, width = q.shape
    keys = torch.randn(512, 1, width, generator=torch.Generator().manual_seed(9)).to(q.device)
    values = torch.randn(512, 1, width, generator=torch.Generator().manual_seed(8)).to(q.device)
    ends = torch.zeros(batch + 1, dtype=torch.int32, device=q.device)
    ends[1:] = lengths.cumsum(0)
    places = torch.cat([torch.arange(int(n), device=q.device) for n in lengths])
    parts = torch.full((batch,), splits(batch), dtype=torch.int32, device=q.device)
    o = torch.empty_like(q)
    logits = torch.empty(batch, heads, 16, width, device=q.device)
    lse = torch.empty(batch, heads, 16, device=q.device)
    decode = theirs("sglang", "sglang/kernels/ops/attention/decode_attention.py")
    decode.decode_attention_fwd_normal(q, keys, values, o, ends, places, logits, lse, parts, 16, width**-0.5, 1.0)
    return o


def paged(q, lengths, invariant):
    """vLLM's attention of one query a row over pages of 16 keys: in 4 parts up to 8 rows, as we configure it."""
    batch, heads, width = q.shape
    draw = torch.Generator().manual_seed(9)
    keys, values = (torch.randn(32, 16, 1, width, generator=draw).to(q.device) for _ in "kv")
    pages = torch.arange(32, dtype=torch.int32, device=q.device).expand(batch, 32).contiguous()
    starts = torch.arange(batch + 1, dtype=torch.int32, device=q.device)
    o, parts = torch.empty_like(q), torch.empty(batch, heads, 4, width, device=q.device)
    most, sums = (torch.empty(batch, heads, 4, device=q.device) for _ in "ms")
    unified().is_batch_invariant = invariant
    unified().unified_attention(
        *(q, keys, values, o, starts, 1, lengths.int(), 512, width**-0.5, True, (-1, -1), pages, 0, None, None, None),
        **{"seq_threshold_3D": 8, "num_par_softmax_segments": 4, "softmax_segm_output": parts},
        **{"softmax_segm_max": most, "softmax_segm_expsum": sums},
    )
    return o


def split_keys(q, k, v):
    """ROCm's attention of one query, keys in as many parts as its `get_split_k` says."""
    return theirs("rocm", "python/perf-kernels/06-attention-decode.py").attention(q, k, v, q.shape[-1] ** -0.5)


def streamed(a, b):
    """ROCm's stream-K product of 6 programs: tiles left over are cut along K, and added by atomics."""
    (M, K), N = a.shape, b.shape[1]
    c, tiles = a.new_zeros(M, N), triton.cdiv(M, 16) * triton.cdiv(N, 16)
    parts, locks = a.new_zeros(6, 256), torch.zeros(6, dtype=torch.int32, device=a.device)
    streamk = theirs("rocm", "python/perf-kernels/streamk/streamk_kernel_atomic.py")
    streamk.streamk_gemm[(6,)](
        *(a, b, c, None, parts, locks, M, N, K, *a.stride(), *b.stride(), *c.stride(), 0),
        **{"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 1, "NUM_SMS": 6},
        **{"STREAMK_TILES": tiles % 6, "NUM_XCDS": 1, "BIAS": False, "EVEN_K": K % 16 == 0},
    )
    return c


def product(dtype=torch.float32):
    draw = torch.Generator().manual_seed(0)
    return lambda: (
        torch.randn(24, 200, generator=draw).to(dtype),
        torch.randn(200, 32, generator=draw).to(dtype),
    )


def rows(*more, n=1500):
    return lambda: (torch.randn(24, n, generator=torch.Generator().manual_seed(0)), *more)


def keyed():
    """A query, and 256 keys and values, for each row: (batch, tokens, groups, heads, width)."""
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(24, n, 1, 1, 32, generator=draw).half() for n in (1, 256, 256))


def stacked():
    draw = torch.Generator().manual_seed(0)
    return torch.randn(24, 5, 200, generator=draw), torch.randn(24, 200, 32, generator=draw)


def queries():
    draw = torch.Generator().manual_seed(0)
    return torch.randn(24, 2, 64, generator=draw), torch.randint(100, 512, (24,), generator=draw)


ONES = torch.ones(1500)
FIRST, BOTH = (0,), (0, 1)


def block_k(a):
    """A block along K that follows the rows."""
    return 64 if len(a) <= 8 else 32


RIGHT: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], tuple[int, ...]]] = {
    "thinking_matmul": (lambda a, b: thinking().matmul_persistent(a, b), product(), FIRST),
    "thinking_matmul_bfloat16": (lambda a, b: thinking().matmul_persistent(a, b), product(torch.bfloat16), FIRST),
    "thinking_log_softmax": (lambda x: thinking().log_softmax(x), rows(), FIRST),
    "thinking_mean": (lambda x: thinking().mean_dim(x, 1), rows(), FIRST),
    "sglang_matmul": (lambda a, b: sglang().matmul_persistent(a, b), product(), FIRST),
    "sglang_log_softmax": (lambda x: sglang().log_softmax(x), rows(), FIRST),
    "sglang_mean": (lambda x: sglang().mean_dim(x, 1), rows(), FIRST),
    "sglang_rms_norm": (lambda x, w: sglang().rms_norm(x, w), rows(ONES), FIRST),
    "sglang_decode_in_four": (lambda q, n: decoded(q, n, lambda batch: 4), queries, BOTH),
    "vllm_matmul": (lambda a, b: vllm().matmul_persistent(a, b), product(), FIRST),
    "vllm_bmm": (lambda a, b: vllm().bmm_batch_invariant(a, b), stacked, BOTH),
    "vllm_log_softmax": (lambda x: vllm().log_softmax(x), rows(), FIRST),
    "vllm_softmax": (lambda x: vllm().softmax(x), rows(), FIRST),
    "vllm_mean": (lambda x: vllm().mean_dim(x, 1), rows(), FIRST),
    "vllm_rms_norm": (lambda x, w: vllm().rms_norm_batch_invariant(x, w), rows(ONES), FIRST),
    "vllm_attention": (lambda q, n: paged(q, n, True), queries, BOTH),
    "liger_rms_norm": (
        lambda x, w: liger("rms_norm").rms_norm_forward(x, w, 1e-6, 0.0, "llama", None)[0],
        rows(ONES),
        FIRST,
    ),
    "liger_layer_norm": (lambda x, w: liger("layer_norm").layer_norm_forward(x, w, w, 1e-6)[0], rows(ONES), FIRST),
    "liger_softmax": (lambda x: liger("softmax")._softmax_forward(x)[0], rows(), FIRST),
    "liger_swiglu": (lambda x: liger("swiglu").swiglu_forward(x, x)[2], rows(), FIRST),
}
WRONG = {  # what follows the rows
    "thinking_matmul_of_blocks": (
        lambda a, b: launched(thinking().matmul_kernel_persistent, a, b, block_k(a)),
        product(),
        FIRST,
        "blocks of 64 along K up to 8 rows, else of 32, as tuning by batch size makes it",
    ),
    "sglang_matmul_of_blocks": (
        lambda a, b: launched(sglang().matmul_kernel_persistent, a, b, block_k(a)),
        product(),
        FIRST,
        "blocks of 64 along K up to 8 rows, else of 32, as tuning by batch size makes it",
    ),
    "vllm_attention_by_rows": (
        lambda q, n: paged(q, n, False),
        queries,
        BOTH,
        "by its own rule, the keys are in parts up to 8 rows",
    ),
    "rocm_decode": (split_keys, keyed, (0, 1, 2), "the keys are in as many parts as `get_split_k` says of the batch"),
    "rocm_stream_k": (streamed, product(), FIRST, "the tiles that are left over are cut along K"),
    "sglang_decode_in_few": (
        lambda q, n: decoded(q, n, lambda batch: 16 if batch <= 8 else 4),
        queries,
        BOTH,
        "the keys are in 16 parts up to 8 rows, else in 4",
    ),
}
