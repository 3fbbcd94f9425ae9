"""No false alarm on a released library: Liger's forward and backward kernels, in order and shuffled."""

from importlib import import_module
from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator
from planted import Uninitialised
from turns import in_turn

if find_spec("liger_kernel") is None:
    pytest.skip("not run: liger-kernel is not installed", allow_module_level=True)


class _Ops:
    """`liger_kernel.ops`, imported on first use: it takes seconds, and every test process collects this file, where
    pytest asks each object for attributes of its own.
    """

    def __getattr__(self, name: str):
        if not name.startswith("Liger"):
            raise AttributeError(name)
        return getattr(import_module("liger_kernel.ops"), name)


ops = _Ops()

ROWS, COLUMNS = 6, 70
LABELS = torch.tensor([1, -100, 3, 69, 0, 5])


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def both_ways(function, *inputs):
    """Output and gradients, the upstream gradient random."""
    inputs = [i.clone().requires_grad_() for i in inputs]
    output = function(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    upstream = randn(*output.shape, seed=9) if output.dim() else torch.tensor(1.5)
    output.backward(upstream.to(output.dtype))
    return [output.detach().clone(), *(i.grad for i in inputs if i.grad is not None)]


x = lambda **kw: randn(ROWS, COLUMNS, **kw)  # noqa: E731
w = lambda seed=1: randn(COLUMNS, seed=seed)  # noqa: E731
probabilities = lambda seed: x(seed=seed).softmax(1)  # noqa: E731

CASES = {
    "rms_norm": lambda: both_ways(
        lambda a, b: ops.LigerRMSNormFunction.apply(a, b, 1e-6, 0.0, "llama", False), x(), w()
    ),
    "rms_norm_in_place": lambda: both_ways(
        lambda a, b: ops.LigerRMSNormFunction.apply(a, b, 1e-6, 1.0, "gemma"), x(), w()
    ),
    "fused_add_rms_norm": lambda: both_ways(
        lambda a, b, c: ops.LigerFusedAddRMSNormFunction.apply(a, b, c, 1e-6, 0.0, "llama", False), x(), x(seed=2), w()
    ),
    "layer_norm": lambda: both_ways(lambda a, b, c: ops.LigerLayerNormFunction.apply(a, b, c, 1e-5), x(), w(), w(2)),
    "group_norm": lambda: both_ways(
        lambda a, b, c: ops.LigerGroupNormFunction.apply(a, b, c, 6, 2, 1e-5),
        randn(3, 6, 35), randn(6), randn(6, seed=1),
    ),
    "swiglu": lambda: both_ways(ops.LigerSiLUMulFunction.apply, x(), x(seed=1)),
    "geglu": lambda: both_ways(ops.LigerGELUMulFunction.apply, x(), x(seed=1)),
    "relu_squared": lambda: both_ways(ops.LigerReLUSquaredFunction.apply, x()),
    "softmax": lambda: both_ways(ops.LigerSoftmaxFunction.apply, x()),
    "sparsemax": lambda: both_ways(lambda a: ops.LigerSparsemaxFunction.apply(a, -1), x()),
    "cross_entropy": lambda: both_ways(lambda a: ops.LigerCrossEntropyFunction.apply(a, LABELS, None), x()),
    "cross_entropy_smoothed": lambda: both_ways(
        lambda a: ops.LigerCrossEntropyFunction.apply(a, LABELS, w().abs(), -100, 0.1, 0.1, "sum", 30.0, True), x()
    ),
    "fused_linear_cross_entropy": lambda: both_ways(
        lambda a, b: ops.LigerFusedLinearCrossEntropyFunction.apply(a, b, LABELS),
        randn(ROWS, 16), randn(COLUMNS, 16, seed=1),
    ),
    "kl_div": lambda: both_ways(lambda a: ops.LigerKLDivLossFunction.apply(a, probabilities(1)), x().log_softmax(1)),
    "jsd": lambda: both_ways(lambda a: ops.LigerJSDFunction.apply(a, probabilities(1).log()), x().log_softmax(1)),
    "tvd": lambda: both_ways(lambda a: ops.LigerTVDLossFunction.apply(a, probabilities(1)), probabilities(0)),
    "rope": lambda: both_ways(
        lambda q, k: ops.LigerRopeFunction.apply(q, k, randn(1, 8, 16, seed=4), randn(1, 8, 16, seed=5)),
        randn(2, 4, 8, 16), randn(2, 2, 8, 16, seed=1),
    ),
}  # fmt: skip


def rms(a, weight):
    return a * (a.square().mean(1, keepdim=True) + 1e-6).rsqrt() * weight


def smoothed(a):
    """Label smoothing, class weights, soft capping, and the squared log-sum-exp added to the loss."""
    capped = 30 * (a / 30).tanh()
    loss = F.cross_entropy(capped, LABELS, w().abs(), reduction="sum", label_smoothing=0.1)
    return loss + 0.1 * capped[LABELS != -100].logsumexp(1).square().sum()


def jensen_shannon(a):
    p = probabilities(1)
    middle = ((p + a.exp()) / 2).log()
    return (p * (p.log() - middle) + a.exp() * (a - middle)).sum() / (2 * ROWS)


def sparsemax(a):
    falling = a.sort(1, descending=True).values
    excess = falling.cumsum(1) - 1
    size = (torch.arange(1, COLUMNS + 1) * falling > excess).sum(1, keepdim=True)
    return (a - excess.gather(1, size - 1) / size).relu()


# The plain interpreter cannot run most: it has no tanh, and hands a kernel a Python float, which has no ``.to``.
# `rope` alone has no counterpart in PyTorch and is compared with the plain interpreter.
PYTORCH = {
    "relu_squared": lambda: both_ways(lambda a: a.relu().square(), x()),
    "softmax": lambda: both_ways(lambda a: a.softmax(1), x()),
    "sparsemax": lambda: both_ways(sparsemax, x()),
    "cross_entropy": lambda: both_ways(lambda a: F.cross_entropy(a, LABELS), x()),
    "fused_linear_cross_entropy": lambda: both_ways(
        lambda a, b: F.cross_entropy(a @ b.t(), LABELS), randn(ROWS, 16), randn(COLUMNS, 16, seed=1)
    ),
    "jsd": lambda: both_ways(jensen_shannon, x().log_softmax(1)),
    "rms_norm": lambda: both_ways(rms, x(), w()),
    "rms_norm_in_place": lambda: both_ways(lambda a, b: rms(a, 1 + b), x(), w()),
    "fused_add_rms_norm": lambda: both_ways(lambda a, b, c: rms(a + b, c), x(), x(seed=2), w()),
    "layer_norm": lambda: both_ways(lambda a, b, c: F.layer_norm(a, (COLUMNS,), b, c), x(), w(), w(2)),
    "group_norm": lambda: both_ways(
        lambda a, b, c: F.group_norm(a, 2, b, c), randn(3, 6, 35), randn(6), randn(6, seed=1)
    ),
    "geglu": lambda: both_ways(lambda a, b: F.gelu(a, approximate="tanh") * b, x(), x(seed=1)),
    "cross_entropy_smoothed": lambda: both_ways(smoothed, x()),
    "kl_div": lambda: both_ways(lambda a: F.kl_div(a, probabilities(1), reduction="batchmean"), x().log_softmax(1)),
    "tvd": lambda: both_ways(lambda a: (a - probabilities(1)).abs().sum() / (2 * ROWS), probabilities(0)),
    "swiglu": lambda: both_ways(lambda a, b: F.silu(a) * b, x(), x(seed=1)),
}


@pytest.mark.parametrize(("name", "shuffle"), in_turn(CASES, (None, 3)))
def test_liger_raises_nothing(name, shuffle):
    right = PYTORCH.get(name, CASES[name])()
    emulator = Emulator(shuffle=shuffle)
    with emulator, Uninitialised(emulator):
        ours = CASES[name]()
    assert emulator.findings == ()
    assert [f for f in map(emulator.unwritten, ours) if f] == []
    assert emulator.launches
    for mine, theirs in zip(ours, right, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "shuffle"), in_turn(CASES, (3, None)))
def test_liger_is_the_same_together_and_one_program_at_a_time(name, shuffle):
    assert_same(CASES[name], shuffle)


def test_liger_in_bfloat16_is_right_where_the_plain_interpreter_truncates():
    a, b = x(dtype=torch.bfloat16), w().to(torch.bfloat16)
    with Emulator() as emulator:
        ours = both_ways(lambda a, b: ops.LigerRMSNormFunction.apply(a, b, 1e-6, 0.0, "gemma", False), a, b)
    assert emulator.findings == ()
    exact = a.double() / (a.double().square().mean(1, keepdim=True) + 1e-6).sqrt() * b.double()
    error = (ours[0].double() - exact).abs() / (exact.abs() * 2**-8 + 1e-9)
    assert error.max() <= 1  # rounded to nearest: half an ulp, which is up to 2^-8 of the value
