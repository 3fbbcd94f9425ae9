"""The op library as a training script meets it: autograd, shapes, strides, compile, clear errors."""

import importlib
import re
import subprocess
import sys
from types import FunctionType

import pytest
import torch
from answers import ROOT, regions
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.emulator import Emulator, EmulatorError
from library import CALLS, call, random

floats, silu, swiglu, gelu = (
    importlib.import_module(f"graded_kernels.kernels.{name}") for name in ("floats", "silu", "swiglu", "gelu")
)

OPS = {"silu": (kernels.silu, 1), "swiglu": (kernels.swiglu, 2)}


def inputs(count: int, shape=(3, 5), dtype=torch.float64, seed: int = 5) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).mul(3).to(dtype).requires_grad_()
        for _ in range(count)
    ]


def test_every_differentiable_function_is_exported():
    written = {name for folder, name in regions() if folder == "kernels" and name not in EXERCISES}
    assert written <= set(kernels.__all__) <= set(dir(kernels))
    assert all(isinstance(getattr(kernels, name), FunctionType) for name in kernels.__all__)


def test_the_readme_imports_what_there_is():
    lines = re.findall(r"^from graded_kernels\.kernels import (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert lines
    assert {name for line in lines for name in line.split(", ")} <= set(kernels.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_gradcheck(name):
    assert torch.autograd.gradcheck(*call(name, torch.float64))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (4, 0), (1,), (7, 3, 2)])
def test_shapes_and_dtypes(op, dtype, shape):
    function, count = OPS[op]
    tensors = inputs(count, shape, dtype)
    y = function(*tensors)
    assert (y.shape, y.dtype) == (shape, dtype)
    y.backward(torch.randn(shape, generator=torch.Generator().manual_seed(2)).to(dtype))
    assert all(t.grad.shape == shape and t.grad.dtype == dtype and t.grad.isfinite().all() for t in tensors)


@pytest.mark.parametrize("op", OPS)
def test_strides_make_no_difference(op):
    function, count = OPS[op]
    dense = inputs(count, (6, 8), torch.float32)
    views = [t.detach().t().contiguous().t().requires_grad_() for t in dense]
    assert not views[0].is_contiguous()
    assert torch.equal(function(*dense), function(*views))
    function(*dense).sum().backward()  # hands back a gradient of stride 0
    function(*views).sum().backward()
    for one, other in zip(dense, views, strict=True):
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OPS else pytest.mark.exhaustive) for name in CALLS]
)
def test_compiles_without_a_graph_break(name):
    function, leaves = call(name, torch.float32)
    torch.compiler.reset()  # which compiles one code so many times and no more
    results = []
    for one in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        y = one(*leaves)
        dy = random(*y.shape, seed=9)
        results.append((y, *torch.autograd.grad(y, leaves, dy)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=0, atol=0)


PARAMETERS = {"silu": 0, "gelu": 0, "swiglu": 0, "layer_norm": 2, "rms_norm": 1}  # besides what has the shape of x


@pytest.mark.parametrize("op", PARAMETERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (2, 3, 17)])
def test_as_on_a_gpu_the_kernels_give_what_pytorch_gives(op, dtype, shape, monkeypatch):
    """Through autograd, with strides, in the emulator."""
    module = importlib.import_module(f"graded_kernels.kernels.{op}")
    x, dy, *more = (t.detach() for t in inputs(2 + (op == "swiglu"), shape, torch.float32))
    x, dy = x.to(dtype).transpose(0, 1).contiguous().transpose(0, 1), dy[..., :1].to(dtype).expand(shape)
    more = [t.to(dtype) for t in more] + [t[::2] for t in inputs(PARAMETERS[op], (2 * shape[-1],), torch.float32)]
    results = []
    for by_triton in (False, True):
        monkeypatch.setattr(module, "use_triton", lambda x, by_triton=by_triton: by_triton)
        leaves = [t.detach().requires_grad_() for t in (x, *more)]
        with Emulator() as emulator:
            y = getattr(module, op)(*leaves)
            results.append((y, *torch.autograd.grad(y, leaves, dy)))
        assert emulator.findings == ()
        assert bool(emulator.launches) == by_triton or not y.numel()
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-5)


ELEMENTWISE = {
    "axpy": (floats.axpy_kernel, (2.0,), 3, {}),
    "silu_forward": (silu.silu_forward_kernel, (), 2, {}),
    "silu_backward": (silu.silu_backward_kernel, (), 3, {}),
    "swiglu_forward": (swiglu.swiglu_forward_kernel, (), 3, {}),
    "swiglu_backward": (swiglu.swiglu_backward_kernel, (), 5, {}),
    "gelu_forward": (gelu.gelu_forward_kernel, (), 2, {"TANH": False}),
    "gelu_backward": (gelu.gelu_backward_kernel, (), 3, {"TANH": True}),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_offsets_past_two_billion_elements(name):
    """Program p begins at p · BLOCK, also where that is more than 2^31. The tensors need not be so large: the emulator
    names the offset at which a program left them.
    """
    kernel, scalars, count, constants = ELEMENTWISE[name]
    block, programs, seen = 1 << 20, 4096, []
    for seed in range(8):
        tensors = [torch.zeros(16) for _ in range(count)]
        with pytest.raises(EmulatorError) as error, Emulator(shuffle=seed):
            kernel[(programs,)](*scalars, *tensors, programs * block, **constants, BLOCK=block)
        seen.append(error.value.finding.offset)
    assert all(0 < offset < programs * block and offset % block == 0 for offset in seen)
    assert max(seen) > 2**31


def test_zero_has_a_gradient():
    x = torch.tensor([0.0, -0.0, 1e-45], requires_grad=True)
    kernels.silu(x).backward(torch.tensor([-0.5, 3.0, 0.25]))
    assert x.grad.tolist() == [-0.25, 1.5, 0.125]


@pytest.mark.parametrize("op", ["silu", "gelu", "swiglu", "layer_norm", "rms_norm", "masked_softmax"])
@pytest.mark.parametrize("constant", [False, True])
def test_a_second_derivative_says_that_it_is_not_there(op, constant):
    """Also where dy is a constant, as for a penalty on the gradient of a sum."""
    x, other = inputs(2, (3, 5))
    dy = torch.ones_like(x, requires_grad=not constant)
    more = {"swiglu": (other,), "masked_softmax": (other > 0,)}.get(op, ())
    y = getattr(kernels, op)(x, *more)
    (g,) = torch.autograd.grad(y, x, dy, create_graph=True)
    loss = y.sum() + g.pow(2).sum()
    with pytest.raises(RuntimeError, match="is differentiable once"):
        loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="is differentiable once"):
        torch.autograd.grad(loss, x)


def test_swiglu_names_what_differs():
    with pytest.raises(ValueError, match=r"gate is \(3,\) float32 on cpu but up is \(3,\) float16 on cpu"):
        kernels.swiglu(torch.zeros(3), torch.zeros(3, dtype=torch.float16))
    with pytest.raises(ValueError, match="must be alike"):
        kernels.swiglu(torch.zeros(3), torch.zeros(1))


def test_imports_from_another_folder_and_without_triton(tmp_path):
    (tmp_path / "triton.py").write_text("raise ModuleNotFoundError('no module', name='triton')\n")
    code = "import torch; from graded_kernels.kernels import silu; print(silu(torch.tensor([1.0])).item())"
    for environment in ({}, {"PYTHONPATH": str(tmp_path)}):
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert run.stdout.startswith("0.7310"), run.stderr


@pytest.mark.parametrize(
    ("op", "shapes", "more"),
    [
        (kernels.attention, [(2, 2, 5, 16), (2, 2, 9, 16), (2, 2, 9, 16)], ()),
        (kernels.linear_cross_entropy, [(7, 24), (11, 24)], (torch.tensor([3, 0, 10, -100, 5, 5, 1]),)),
    ],
)
def test_autocast_takes_no_part(op, shapes, more):
    """On a CPU it made the matrix products bfloat16, which on a GPU are the kernels' own."""
    generator = torch.Generator().manual_seed(5)
    given = [torch.randn(shape, generator=generator) for shape in shapes]

    def found(autocast):
        inputs = [x.clone().requires_grad_() for x in given]
        with torch.autocast("cpu", enabled=autocast):
            y = op(*inputs, *more)
            dy = torch.linspace(-1, 2, y.numel()).view(y.shape) if y.dim() else torch.tensor(1.5)
            return y, *torch.autograd.grad(y, inputs, dy)

    for plain, within in zip(found(False), found(True), strict=True):
        assert plain.dtype == within.dtype
        assert plain.equal(within)
