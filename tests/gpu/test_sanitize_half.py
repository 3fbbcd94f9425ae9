"""Half precision outside Triton on a simulated GPU: what the CPU would add up in half precision is added in float32."""

import pytest
import torch
from graded_kernels.autograder.gpu.aten import ATEN
from graded_kernels.autograder.gpu.cuda import autocast, half_precision
from graded_kernels.autograder.gpu.sanitize.watching import watched
from torch import ops, rand, randint, randn

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)

aten = ops.aten


def normalised(shape, groups):
    """(x, mean, reciprocal standard deviation), with one of each for a group of elements."""
    x = randn(shape)
    rows = x.reshape(groups, -1)
    return x, rows.mean(1), (rows.var(1, unbiased=False) + 1e-5).rsqrt()


def of_layer_norm():
    x, mean, rstd = normalised((1000, 300), 1000)
    return randn(1000, 300), x, [300], mean[:, None], rstd[:, None], rand(300), randn(300), [True] * 3


def of_group_norm():
    x, mean, rstd = normalised((8, 32, 300), 64)
    return randn(8, 32, 300), x, mean.view(8, 8), rstd.view(8, 8), rand(32), 8, 32, 300, 8, [True] * 3


def of_convolution():
    sizes = [8], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True] * 3
    return rand(2, 8, 28, 28), rand(2, 32, 30, 30), rand(8, 32, 3, 3), *sizes


ADDED_IN_HALF = {  # operator, its arguments; those in float64 are the reference
    "prod": (aten.prod.default, lambda: (1 + randn(300) / 30,)),
    "embedding": (aten.embedding_dense_backward.default, lambda: (rand(3000, 8), randint(0, 5, (3000,)), 5, -1, False)),
    "index_put": (aten.index_put.default, lambda: (torch.zeros(5, 8), [randint(0, 5, (3000,))], rand(3000, 8), True)),
    "nll_loss": (aten.nll_loss_forward.default, lambda: (-rand(3000, 10), randint(0, 10, (3000,)), rand(10), 1, -100)),
    "layer_norm": (aten.native_layer_norm_backward.default, of_layer_norm),
    "convolution": (aten.convolution_backward.default, of_convolution),
}
AS_ON_GPU = {
    "sum": (aten.sum.dim_IntList, lambda: (rand(300, 700), [0])),
    "mean": (aten.mean.dim, lambda: (rand(300, 700), [0])),
    "var": (aten.var.correction, lambda: (rand(30, 700), [1])),
    "cumsum": (aten.cumsum.default, lambda: (rand(4, 900), 1)),
    "norm": (aten.linalg_vector_norm.default, lambda: (rand(30, 700), 2, [1])),
    "softmax": (aten._softmax.default, lambda: (randn(700, 30), 0, False)),
    "log_softmax": (aten._log_softmax.default, lambda: (randn(30, 700), 1, False)),
    "mm": (aten.mm.default, lambda: (rand(40, 900), rand(900, 30))),
    "baddbmm": (aten.baddbmm.default, lambda: (randn(3, 40, 30), rand(3, 40, 900), rand(3, 900, 30))),
    "mv": (aten.mv.default, lambda: (rand(40, 900), rand(900))),
    "dot": (aten.dot.default, lambda: (rand(3000), rand(3000))),
    "group_norm": (aten.native_group_norm_backward.default, of_group_norm),
    "mse": (aten.mse_loss.default, lambda: (randn(3000), randn(3000), 1)),
    "pool": (aten.avg_pool2d.default, lambda: (rand(2, 3, 32, 32), [16, 16])),
    "silu": (aten.silu_backward.default, lambda: (randn(3000), randn(3000))),
    "gelu": (aten.gelu_backward.default, lambda: (randn(3000), randn(3000))),
}


def to(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    return [to(one, dtype) for one in value] if isinstance(value, list) else value


def errors(operator, make, dtype, gpu):
    """The largest root mean square error of the results in three trials, relative to that of the same operator in
    float32, rounded once.
    """
    return max(error for seed in range(3) for error in trial(operator, make, dtype, gpu, seed))


def trial(operator, make, dtype, gpu, seed):
    torch.manual_seed(seed)
    given = to([*make()], dtype)
    expected, rounded = (operator(*to(given, wide)) for wide in (torch.float64, torch.float32))
    got = operator(*(one.to("cuda") if gpu and isinstance(one, torch.Tensor) else one for one in given))
    found = []
    each = (one if isinstance(one, tuple) else (one,) for one in (got, expected, rounded))
    for result, exact, once in zip(*each, strict=True):
        error, least = ((one.to(result.dtype).double() - exact).square().mean().sqrt() for one in (result, once))
        found.append(float((error + 1e-12) / (least + 1e-12)))
    return found


# Whether oneDNN convolves in a dtype on this processor; its products are added in float32.
HAS_INSTRUCTIONS = {
    torch.bfloat16: ops.mkldnn._is_mkldnn_bf16_supported,
    torch.float16: ops.mkldnn._is_mkldnn_fp16_supported,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", ADDED_IN_HALF)
def test_what_the_cpu_adds_in_half_precision(name, dtype):
    operator, make = ADDED_IN_HALF[name]
    assert operator in half_precision.IN_FLOAT32
    exact_here = name == "convolution" and HAS_INSTRUCTIONS[dtype]()
    assert (errors(operator, make, dtype, gpu=False) > 1.5) != exact_here
    with watched(lambda event: None):
        assert errors(operator, make, dtype, gpu=True) < 1.1


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", AS_ON_GPU)
def test_what_it_adds_as_a_gpu_does(name, dtype):
    operator, make = AS_ON_GPU[name]
    assert ATEN.base(operator._schema.name) in half_precision.AS_ON_GPU
    assert errors(operator, make, dtype, gpu=False) < 1.5


def layer_norms(x, weight, bias, dy):
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], weight.requires_grad_(), bias.requires_grad_())
    return torch.autograd.grad(y, (weight, bias), dy)


def test_the_gradients_of_a_layer_norm_are_those_of_a_gpu():
    torch.manual_seed(0)
    given = [one.bfloat16() for one in (randn(1151, 64), rand(64), rand(64), randn(1151, 64))]
    exact = layer_norms(*(one.double() for one in given))
    with watched(lambda event: None) as watch:
        on_gpu = layer_norms(*(one.cuda() for one in given))
        assert all(one.dtype == torch.bfloat16 and one.is_cuda for one in on_gpu)
        mixed = layer_norms(given[0].cuda(), given[1].float().cuda(), given[2].float().cuda(), given[3].cuda())
        assert all(one.dtype == torch.float32 for one in mixed)
    assert not watch.unlike_gpu
    for got, expected in zip(on_gpu, exact, strict=True):
        torch.testing.assert_close(got.double(), expected, rtol=2**-8, atol=1e-3)
    for got, expected in zip(layer_norms(*given), exact, strict=True):
        assert (got.double() - expected).abs().max() > 0.5  # as it is on the CPU


def test_what_may_differ_from_a_gpu_is_noted():
    with watched(lambda event: None) as watch:
        x, quarters = (torch.full((n, 8), q, dtype=torch.bfloat16, device="cuda") for n, q in ((5, 0.0), (300, 0.25)))
        x.index_put_([torch.zeros(300, dtype=torch.long)], quarters, accumulate=True)
        assert x[0, 0] == 75  # in half precision the sum stays at 64
        torch.softmax(x, -1).float().logsumexp(-1)
        assert not watch.unlike_gpu
        x.logsumexp(-1)
        assert [*watch.unlike_gpu] == ["aten.logsumexp"]


def test_autocast_computes_in_float32_what_a_gpu_does():
    with watched(lambda event: None), torch.autocast("cuda"):
        x = randn(4, 8, device="cuda", dtype=torch.float16, requires_grad=True)
        wide = torch.softmax(x, -1), torch.nn.functional.layer_norm(x, [8]), x.sum(), x**2, 1 / x, x.exp()
        assert all(one.dtype == torch.float32 and one.is_cuda for one in wide)
        assert torch.allclose(wide[0], torch.softmax(x.detach().double(), -1).float(), rtol=1e-6)
        narrow = x.tanh(), x @ x.T, x.cpu().softmax(-1), x.softmax(-1, dtype=torch.float16)
        assert all(one.dtype == torch.float16 for one in narrow)
        wide[0][:, 0].sum().backward()
        assert (x.grad.dtype, x.grad.is_cuda) == (torch.float16, True)
        with torch.autocast("cuda", enabled=False):
            assert torch.softmax(x, -1).dtype == torch.float16


def test_autocast_names_operators_that_pytorch_registers_for_it():
    registered = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA")
    }
    assert not autocast.IN_FLOAT32 - registered
