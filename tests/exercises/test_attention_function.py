"""Attention and masked softmax as a training script imports them: autograd, grouped heads, compile, clear errors."""

import functools
import importlib

import library
import pytest
import torch
from compiler_kernels import SM_90, compile_report
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.runner import far_apart
from graded_kernels.kernels import attention, masked_softmax
from library import ATTENTION, heads, pytorchs_attention

LIBRARY = importlib.import_module("graded_kernels.kernels.attention_function")
SOFTMAX = importlib.import_module("graded_kernels.kernels.masked_softmax")
random = functools.partial(library.random, dtype=torch.float64)


@pytest.mark.parametrize("setting", ATTENTION.values(), ids=ATTENTION)
@pytest.mark.parametrize("g", [1, 2, 4])
def test_as_pytorchs_own_in_float64(setting, g):
    """The output and, by gradients that are not all alike, every gradient; a query without a key gives 0."""
    tensors = heads(g=g)
    mine, theirs = attention(*tensors, **setting), pytorchs_attention(*tensors, **setting)[0]
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-13)
    do = random(*mine.shape, seed=9)
    got, want = (torch.autograd.grad(o, tensors, do) for o in (mine, theirs))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("setting", [ATTENTION["lengths"], ATTENTION["causal with lengths"]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_as_on_a_gpu_the_kernels_give_what_pytorch_gives(setting, dtype, monkeypatch):
    """Through autograd, in the emulator: views whose heads lie side by side, grouped heads, a do of stride 0."""
    tensors = [t.detach().to(dtype).transpose(1, 2).contiguous().transpose(1, 2) for t in heads()]
    do = random(2, 4, 5, 1, seed=9).to(dtype).expand(2, 4, 5, 3)
    results = []
    for by_triton in (False, True):
        monkeypatch.setattr(LIBRARY, "use_triton", lambda x, by_triton=by_triton: by_triton)
        leaves = [t.detach().requires_grad_() for t in tensors]
        with Emulator() as emulator:
            o = attention(*leaves, **setting)
            results.append((o, *torch.autograd.grad(o, leaves, do)))
        assert emulator.findings == ()
        assert bool(emulator.launches) == by_triton
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(
            one, other, rtol=2e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-2 if dtype == torch.bfloat16 else 1e-5
        )


@pytest.mark.parametrize("far", range(4))
def test_rows_that_no_32_bit_offset_reaches(far):
    """Of q, k, v and do."""
    tensors = [random(3, 16, dtype=torch.float16, seed=seed) for seed in range(4)]
    results = []
    for view in (lambda x: x, far_apart):
        q, k, v, do = (view(x)[None, None] if i == far else x[None, None] for i, x in enumerate(tensors))
        with Emulator() as emulator:
            o, lse = LIBRARY.attention_forward(q, k, v, None, True)
            results.append((o, *LIBRARY.attention_backward(do, q, k, v, o, lse, None, True)))
        assert emulator.findings == ()
    assert [q, k, v, do][far].stride(2) * 2 >= 2**31
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("by_triton", [False, True])
@pytest.mark.parametrize("sizes", [{"b": 0}, {"h": 0, "g": 0}, {"m": 0}, {"n": 0}])
def test_empty(sizes, by_triton, monkeypatch):
    monkeypatch.setattr(LIBRARY, "use_triton", lambda x: by_triton)
    tensors = heads(**sizes, dtype=torch.float32)
    with Emulator() as emulator:
        o = attention(*tensors, causal=True)
        gradients = torch.autograd.grad(o, tensors, random(*o.shape, dtype=torch.float32, seed=9))
    assert emulator.findings == ()
    assert o.shape == tensors[0].shape
    assert o.eq(0).all()
    for gradient, tensor in zip(gradients, tensors, strict=True):
        assert gradient.shape == tensor.shape
        assert gradient.eq(0).all()


def test_a_length_past_the_keys_reads_no_further(monkeypatch):
    tensors = [t.detach().float() for t in heads()]
    monkeypatch.setattr(LIBRARY, "use_triton", lambda x: True)
    with Emulator() as emulator:
        long, whole = (attention(*tensors, torch.tensor(lengths)) for lengths in ([900, -3], [7, 0]))
    assert emulator.findings == ()
    torch.testing.assert_close(long, whole, rtol=0, atol=0)


@pytest.mark.exhaustive
def test_the_op_is_what_pytorch_wants_of_ops():
    tensors = [t.detach() for t in heads(dtype=torch.float32)]
    torch.library.opcheck(torch.ops.graded_kernels.attention.default, (*tensors, torch.tensor([7, 3]), True, None))


def test_errors_name_what_to_mend():
    q, k, v = (t.detach() for t in heads())
    with pytest.raises(ValueError, match=r"q is \(B, H, M, D\), k is \(B, G, N, D\); they are \(2, 4, 5\)"):
        attention(q[..., 0], k, v)
    with pytest.raises(ValueError, match=r"k is \(2, 2, 7, 3\) .* v is \(2, 2, 6, 3\)"):
        attention(q, k, v[:, :, :6])
    with pytest.raises(ValueError, match="the 4 heads of q must be a multiple of the 3 of k and v"):
        attention(q, k[:, [0, 1, 1]], v[:, [0, 1, 1]])
    with pytest.raises(ValueError, match=r"key_lengths must be \(2,\) int64; they are \(2,\) int32"):
        attention(q, k, v, torch.tensor([7, 7], dtype=torch.int32))
    with pytest.raises(ValueError, match="must be floating point"):
        attention(q.long(), k, v)
    with pytest.raises(ValueError, match=r"x is \(3, 4\) .*; mask cannot be expanded: \(3,\) bool"):
        masked_softmax(torch.zeros(3, 4), torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match="mask must be bool"):
        masked_softmax(torch.zeros(3, 4), torch.ones(3, 4))


@pytest.mark.parametrize("by_triton", [False, True])
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (5,), (2, 3, 17)])
def test_masked_softmax(shape, by_triton, monkeypatch):
    """Against the formula where a row has an element; 0 where it has none. The mask is broadcast."""
    monkeypatch.setattr(SOFTMAX, "use_triton", lambda x: by_triton)
    x, mask = random(*shape, dtype=torch.float32).requires_grad_(), random(*shape[-1:], seed=8) > 0
    dy = random(*shape, dtype=torch.float32, seed=4)
    with Emulator() as emulator:
        y = masked_softmax(x, mask)
        (dx,) = torch.autograd.grad(y, x, dy)
    assert emulator.findings == ()
    assert (y.shape, dx.shape) == (shape, shape)
    wanted = torch.softmax(x.masked_fill(~mask, -torch.inf), -1)
    if x.numel():
        torch.testing.assert_close(y, wanted)
        torch.testing.assert_close(dx, torch.autograd.grad(wanted, x, dy)[0], rtol=1e-4, atol=1e-6)


def test_masked_softmax_of_nothing_is_0():
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert masked_softmax(random(2, 3), mask)[1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("d", [64, 128, 256])
def test_compiles_for_sm_90_without_spills(d, dtype, causal):
    q, k, v, do = (random(1, 1, 64, d, dtype=dtype, seed=seed) for seed in range(4))
    lengths = torch.tensor([64])
    with Emulator() as emulator:
        o, lse = LIBRARY.attention_forward(q, k, v, lengths, causal)
        LIBRARY.attention_backward(do, q, k, v, o, lse, lengths, causal)
    launches = emulator.described()
    parts = ("forward", "dq", "dk_dv")
    assert [launch.kernel for launch in launches] == [f"attention_{part}_kernel" for part in parts]
    report = compile_report(launches, SM_90)
    if report["status"] == "not-run":
        pytest.skip(f"not run: {report['reason']}")
    assert report["status"] == "pass", report["reason"]
    assert [(row["kernel"], row["spills"]) for row in report["targets"]] == [(one.kernel, 0) for one in launches]
