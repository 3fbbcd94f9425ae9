"""Kernels that others call batch invariant, and the same with a choice that follows the rows, under `neighbours`.

    git clone https://github.com/thinking-machines-lab/batch_invariant_ops SOURCES/batch_invariant_ops   # f22b1fb
    git clone https://github.com/linkedin/Liger-Kernel SOURCES/Liger-Kernel                              # ead96b6
    pip download --no-deps --only-binary :all: sglang==0.5.23 -d SOURCES && unzip SOURCES/sglang-*.whl -d SOURCES/sglang
    pip download --no-deps --only-binary :all: vllm==0.33.0 -d SOURCES && unzip SOURCES/vllm-*.whl -d SOURCES/vllm
    git clone https://github.com/ROCm/triton SOURCES/triton && git -C SOURCES/triton checkout 4a7afd26
    python research/checkers/batch_invariance.py SOURCES > research/checkers/batch_invariance.md

Nothing of theirs is changed. What the files of sglang and vLLM import of the rest of them is replaced by what a machine
without their backends would say. A label is what the text of a kernel says: `clean` where no number of its launch but
the grid and the rows of a tile follows the rows, `follows` where one does, by their rule or by one that we hand it.
"""

import enum
import importlib.util
import os
import sys
import types
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
from graded_kernels.autograder import neighbours

SOURCES = Path(sys.argv[1])
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


def loaded(path: str):
    """A file of theirs as a module."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), SOURCES / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


for name, names in IMPORTED.items():
    for parent in (name.rsplit(".", up)[0] for up in range(name.count(".") + 1)):
        sys.modules.setdefault(parent, types.ModuleType(parent))
    vars(sys.modules[name]).update(names)
thinking = loaded("batch_invariant_ops/batch_invariant_ops/batch_invariant_ops.py")
sglang = loaded("sglang/sglang/srt/batch_invariant_ops/batch_invariant_ops.py")
helpers = loaded("vllm/vllm/v1/attention/ops/triton_attention_helpers.py")
sys.modules["vllm.v1.attention.ops.triton_attention_helpers"] = helpers
unified = loaded("vllm/vllm/v1/attention/ops/triton_unified_attention.py")
vllm = loaded("vllm/vllm/model_executor/determinism/batch_invariant.py")
rocm_decode = loaded("triton/python/perf-kernels/06-attention-decode.py")
streamk = loaded("triton/python/perf-kernels/streamk/streamk_kernel_atomic.py")
decode = loaded("sglang/sglang/kernels/ops/attention/decode_attention.py")
sys.path.insert(0, str(SOURCES / "Liger-Kernel/src"))
from liger_kernel.ops.layer_norm import layer_norm_forward  # noqa: E402
from liger_kernel.ops.rms_norm import rms_norm_forward  # noqa: E402
from liger_kernel.ops.softmax import _softmax_forward  # noqa: E402
from liger_kernel.ops.swiglu import swiglu_forward  # noqa: E402


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
    unified.is_batch_invariant = invariant
    unified.unified_attention(
        *(q, keys, values, o, starts, 1, lengths.int(), 512, width**-0.5, True, (-1, -1), pages, 0, None, None, None),
        **{"seq_threshold_3D": 8, "num_par_softmax_segments": 4, "softmax_segm_output": parts},
        **{"softmax_segm_max": most, "softmax_segm_expsum": sums},
    )
    return o


def paged_invariant(q, n):
    return paged(q, n, True)


def paged_by_rows(q, n):
    return paged(q, n, False)


def split_keys(q, k, v):
    """ROCm's attention of one query, keys in as many parts as its `get_split_k` says."""
    return rocm_decode.attention(q, k, v, q.shape[-1] ** -0.5)


def streamed(a, b):
    """ROCm's stream-K product of 6 programs: tiles left over are cut along K, and added by atomics."""
    (M, K), N = a.shape, b.shape[1]
    c, tiles = a.new_zeros(M, N), triton.cdiv(M, 16) * triton.cdiv(N, 16)
    parts, locks = a.new_zeros(6, 256), torch.zeros(6, dtype=torch.int32, device=a.device)
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
INVARIANT, SGLANG, LIGER = "batch_invariant_ops", "sglang 0.5.23", "Liger-Kernel"
VLLM, ROCM = "vLLM 0.33.0", "ROCm/triton"


def block_k(a):
    """A block along K that follows the rows."""
    return 64 if len(a) <= 8 else 32


def decoded_in_four(q, n):
    return decoded(q, n, lambda batch: 4)


def decoded_in_few(q, n):
    return decoded(q, n, lambda batch: 16 if batch <= 8 else 4)


def rms(x, w):
    return rms_norm_forward(x, w, 1e-6, 0.0, "llama", None)[0]


PAIRS = [  # whose, what, the label, the function, its example, its batch
    (INVARIANT, "`matmul_persistent`", "clean", thinking.matmul_persistent, product(), "a"),
    (INVARIANT, "the same, bfloat16", "clean", thinking.matmul_persistent, product(torch.bfloat16), "a"),
    (INVARIANT, "`log_softmax`", "clean", thinking.log_softmax, rows(), "input"),
    (INVARIANT, "`mean_dim`", "clean", lambda x: thinking.mean_dim(x, 1), rows(), "x"),
    (SGLANG, "`matmul_persistent`", "clean", sglang.matmul_persistent, product(), "a"),
    (SGLANG, "`log_softmax`", "clean", sglang.log_softmax, rows(), "input"),
    (SGLANG, "`mean_dim`", "clean", lambda x: sglang.mean_dim(x, 1), rows(), "x"),
    (SGLANG, "`rms_norm`", "clean", sglang.rms_norm, rows(ONES), "input"),
    (SGLANG, "`decode_attention_fwd_normal`, 4 parts", "clean", decoded_in_four, queries, ("q", "n")),
    (VLLM, "`matmul_persistent`", "clean", vllm.matmul_persistent, product(), "a"),
    (VLLM, "`bmm_batch_invariant`", "clean", vllm.bmm_batch_invariant, stacked, ("a", "b")),
    (VLLM, "`log_softmax`", "clean", vllm.log_softmax, rows(), "input"),
    (VLLM, "`softmax`", "clean", vllm.softmax, rows(), "input"),
    (VLLM, "`mean_dim`", "clean", lambda x: vllm.mean_dim(x, 1), rows(), "x"),
    (VLLM, "`rms_norm_batch_invariant`", "clean", vllm.rms_norm_batch_invariant, rows(ONES), "input"),
    (VLLM, "`unified_attention`, batch invariant", "clean", paged_invariant, queries, ("q", "n")),
    (LIGER, "`rms_norm_forward`", "clean", rms, rows(ONES), "x"),
    (LIGER, "`layer_norm_forward`", "clean", lambda x, w: layer_norm_forward(x, w, w, 1e-6)[0], rows(ONES), "x"),
    (LIGER, "`_softmax_forward`", "clean", lambda x: _softmax_forward(x)[0], rows(), "x"),
    (LIGER, "`swiglu_forward`", "clean", lambda x: swiglu_forward(x, x)[2], rows(), "x"),
    (
        INVARIANT,
        "`matmul_kernel_persistent`, blocks of 64 along K up to 8 rows, else 32",
        "follows",
        lambda a, b: launched(thinking.matmul_kernel_persistent, a, b, block_k(a)),
        product(),
        "a",
    ),
    (
        SGLANG,
        "`matmul_kernel_persistent`, the same",
        "follows",
        lambda a, b: launched(sglang.matmul_kernel_persistent, a, b, block_k(a)),
        product(),
        "a",
    ),
    (
        VLLM,
        "`unified_attention`, by its rule: keys in parts up to 8 rows",
        "follows",
        paged_by_rows,
        queries,
        ("q", "n"),
    ),
    (ROCM, "flash decoding, keys in parts by `get_split_k`", "follows", split_keys, keyed, ("q", "k", "v")),
    (ROCM, "`streamk_gemm`, the tiles left over", "follows", streamed, product(), "a"),
    (
        SGLANG,
        "`decode_attention_fwd_normal`, 16 parts up to 8 rows, else 4",
        "follows",
        decoded_in_few,
        queries,
        ("q", "n"),
    ),
]


HEAD = """# Batch invariance, on kernels that nobody here wrote

`neighbours` calls a function on a batch and on a dozen other batches of the same rows, compares bits, and then what
each number was computed from. Here it is asked of kernels whose authors say that a row does not depend on the rows
beside it, of Liger-Kernel's kernels of rows, of kernels whose own launch follows the rows (attention with split keys,
stream-K), and of invariant ones with one number of the launch that follows the rows, as tuning by batch size makes it.
Nothing of theirs is changed; the kernels run on the simulated GPU. Commands and versions are at the head of
`batch_invariance.py`; each label is what the text of a kernel says.

ROCm's other stream-K kernel (`streamk_kernel.py`) was not judged: its `tl.assume(pid_m > 0)` is false in the first
tile, and the emulator stops there.

| whose | what | label | found | where they part |
|---|---|---|---|---|"""


def main():
    print(HEAD)
    wrong = 0
    for whose, what, label, function, example, batch in PAIRS:
        names = (batch,) if isinstance(batch, str) else batch
        found = neighbours(function, example, names, simulated=True)
        said = "follows" if found else "clean"
        wrong += said != label
        line = found.reason[0].removeprefix("They part here: ") if found and found.reason else ""
        print(f"| {whose} | {what} | {label} | {said} | {line} |", flush=True)
    print(f"\n{len(PAIRS)} functions, {wrong} judged otherwise than their label says.")


if __name__ == "__main__":
    main()
