"""What the chapters' prose says of PyTorch, Triton and released code, where no cell prints it and a later version may
differ.
"""

import subprocess
import sys
import textwrap

import pytest
import torch
from graded_kernels.kernels.wild.silu import silu_backward_candle_now


def by_threads(count: int) -> tuple[torch.Tensor, ...]:
    """-0.75 x + y of float16: by torch.add, rounded once, and with the product rounded, too."""
    x, y = torch.randn(2, 100_000, generator=torch.Generator().manual_seed(0)).half()
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        added = torch.add(y, x, alpha=-0.75)
    finally:
        torch.set_num_threads(before)
    product = -0.75 * x.double()
    return added, (product + y).half(), (product.half().double() + y).half()


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="not run: chapter 00 says what torch.add does on a CPU with AVX2 or AVX512",
)
def test_torch_add_rounds_the_product_at_the_end_of_each_threads_share():
    added, once, twice = by_threads(1)
    assert torch.equal(added, once)
    added, once, twice = by_threads(2)
    other = (added != once).nonzero().flatten()
    assert 0 < len(other) < 32
    assert set((other // 50_000).tolist()) == {0, 1}
    assert (other % 50_000 >= 49_984).all()
    assert torch.equal(added[other], twice[other])


def test_candles_gradient_is_right_at_256_and_never_beyond():
    x = torch.arange(2**15, dtype=torch.int16).view(torch.bfloat16)
    x = x[(x >= 256) & (x < 600)]
    slope = silu_backward_candle_now(torch.ones_like(x), x)
    assert slope[0] == 1
    assert set(slope[1:].tolist()) == {0, 2}
    assert not slope[x >= 512].any()


COMPILES = """
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
        a = tl.load(a_ptr + i[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + j[None, :])
        tl.store(c_ptr + i[:, None] * N + j[None, :], tl.dot(a, b, input_precision="ieee"))

    signature = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp32") | dict.fromkeys("MNK", "constexpr")
    for sizes in ((1, 1, 16), (16, 16, 8)):
        try:
            source = ASTSource(product, signature, dict(zip("MNK", sizes)))
            triton.compile(source, target=GPUTarget("cuda", 90, 32))
            print("compiles")
        except Exception as error:
            print("K >= 16" in str(error))
"""


def test_triton_wants_sixteen_of_the_dimension_that_a_product_sums_over(tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    script = tmp_path / "compiles.py"  # the compiler reads the kernel's source
    script.write_text(textwrap.dedent(COMPILES))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["compiles", "True"]
