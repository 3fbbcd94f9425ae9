"""Where CUDA is simulated: `torch.accelerator` and `DataLoader` agree with `torch.cuda`; CUDA C++ is left to a GPU.

Copies and saved tensors are where they would be.
"""

import copy
import inspect
import io
import warnings

import pytest
import torch
import torch.utils.cpp_extension
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import EmulatorError
from graded_kernels.autograder.gpu.sanitize import command, run_report
from graded_kernels.autograder.gpu.sanitize.watching import watched
from graded_kernels.kernels import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)

CUDA_HOME = "CUDA_HOME environment variable is not set"


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def _double(x: torch.Tensor) -> torch.Tensor:
    assert x.is_cuda
    y = torch.empty_like(x)
    double_kernel[(1,)](x, y, x.numel(), BLOCK=16)
    return y


double = torch.library.custom_op("test_sanitize::double", _double, mutates_args=())
double.register_autograd(lambda ctx, dy: double(dy.contiguous()))
on_cuda_alone = torch.library.custom_op("test_sanitize::alone", _double, mutates_args=(), device_types="cuda")


@pytest.fixture
def gpu():
    assert torch.accelerator.current_accelerator() is None
    assert torch.get_device_module() is torch.cpu
    with watched(lambda event: None):
        yield torch.accelerator
    assert not torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 0
    assert torch.get_device_module() is torch.cpu


def test_the_accelerator_is_the_gpu_that_is_simulated(gpu):
    assert gpu.is_available()
    assert gpu.device_count() == 1
    assert gpu.current_device_index() == 0
    device = gpu.current_accelerator(check_available=True)
    assert device == torch.device("cuda")
    assert torch.get_device_module() is torch.cuda
    assert torch.ones(3, device=device).is_cuda
    assert torch.ones(3).to(device).device == torch.device("cuda", 0)
    gpu.set_device_index(0)
    gpu.set_device_index("cuda:0")
    gpu.synchronize()
    gpu.synchronize(device)
    gpu.set_stream(gpu.current_stream())
    with gpu.device_index(0):
        assert gpu.current_device_index() == 0
    gpu.empty_cache()
    assert gpu.memory_allocated() <= gpu.max_memory_reserved()
    held = torch.ones(1 << 20, device=device)
    assert gpu.memory_stats()["allocated_bytes.all.current"] >= held.nbytes


def test_there_is_no_second_one(gpu):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        gpu.set_device_index(1)


def test_cuda_in_cpp_is_not_judged():
    found = []
    with watched(found.append), pytest.raises(EmulatorError, match="leave it to one"):
        torch.cuda._compile_kernel("__global__ void f() {}", "f")
    assert [event["finding"]["level"] for event in found if "finding" in event] == ["unable"]
    run = run_report.Run("p.py", shim="an A100", failed="it raised OSError: " + CUDA_HOME)
    assert command.status(run) == 2
    assert "leave them to a GPU" in run_report.summary(run)
    assert CUDA_HOME in inspect.getsource(torch.utils.cpp_extension._join_cuda_home)


def test_its_memory_is_what_cuda_says(gpu):
    if not hasattr(gpu, "get_memory_info"):
        pytest.skip("not run: this PyTorch's torch.accelerator does not tell of memory")
    assert gpu.get_memory_info()[1] == torch.cuda.mem_get_info()[1]


def test_an_optimizer_takes_its_step(gpu):
    """It asks the accelerator's stream whether a graph is captured."""
    layer = torch.nn.Linear(3, 3, device="cuda")
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    torch.utils.checkpoint.checkpoint(layer, torch.ones(1, 3, device="cuda"), use_reentrant=False).sum().backward()
    optimizer.step()
    assert layer.weight.is_cuda
    assert not torch.equal(layer.weight, before)


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_are_pinned(gpu, workers):
    """In a thread of its own where there are workers."""
    loader = DataLoader(TensorDataset(torch.ones(8, 4)), 4, num_workers=workers, pin_memory=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for (x,) in loader:
            assert x.is_pinned()
            assert not x.is_cuda
            assert x.cuda(non_blocking=True).is_cuda


def test_a_checkpoint_is_loaded_to_where_it_is_asked_for(gpu):
    file = io.BytesIO()
    torch.save({"a": torch.ones(3, device="cuda"), "b": torch.ones(3)}, file)

    def loaded(**how) -> list[str]:
        file.seek(0)
        return [str(x.device) for x in torch.load(file, **how).values()]

    assert loaded() == ["cuda:0", "cpu"]
    for place in ("cuda", "cuda:0", torch.device("cuda")):
        assert loaded(map_location=place) == ["cuda:0", "cuda:0"]
    assert loaded(map_location="cpu") == ["cpu", "cpu"]
    assert loaded(map_location={"cpu": "cuda:0"}) == ["cuda:0", "cuda:0"]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        loaded(map_location="cuda:1")


def test_a_deep_copy_stays_on_the_gpu(gpu):
    norm = copy.deepcopy(torch.nn.BatchNorm1d(3).cuda())
    assert norm.running_mean.is_cuda
    assert norm.weight.is_cuda
    twice = [torch.ones(3, device="cuda")] * 2
    one, other = copy.deepcopy(twice)
    assert one is other
    assert one.is_cuda
    assert not copy.deepcopy(torch.ones(3)).is_cuda


def test_a_custom_operator_runs_on_the_gpu(gpu):
    x = torch.ones(10, device="cuda", requires_grad=True)
    y = double(x)
    y.sum().backward()
    assert y.is_cuda
    assert x.grad.is_cuda
    assert x.grad.tolist() == [2.0] * 10
    assert on_cuda_alone(x.detach()).is_cuda
    assert torch.ops.test_sanitize.double(y).tolist() == [4.0] * 10
    with pytest.raises(AssertionError):
        double(torch.ones(3))


def _wrapped(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(double_kernel)[(1,)](x, y, x.numel(), BLOCK=16)
    return y


def test_an_operator_of_wrapped_kernels_launches_them(gpu):
    # here, not where the module is read: it imports PyTorch's compiler
    wrapped = torch.library.triton_op("test_sanitize::wrapped", _wrapped, mutates_args=())
    assert wrapped(torch.ones(10, device="cuda")).tolist() == [2.0] * 10


def test_an_operator_of_pytorch_may_be_registered_anew_for_the_gpu(gpu):
    x = torch.ones(10, device="cuda", requires_grad=True)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("neg", _double, "CUDA")
        y = torch.neg(x)
        assert y.tolist() == [2.0] * 10
        assert y.is_cuda
        y.backward(torch.ones(10, device="cuda"))
        assert x.grad.tolist() == [2.0] * 10  # autograd's formula calls the operator
        assert torch.neg(torch.ones(2)).tolist() == [-1.0] * 2
    assert torch.neg(x).tolist() == [-1.0] * 10


def test_our_own_operators_launch_their_kernels(gpu):
    launched = []
    logits = torch.zeros(2, 4, device="cuda", requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        run = type(double_kernel).run
        patch.setattr(
            type(double_kernel), "run", lambda self, *a, **k: (launched.append(self.fn.__name__), run(self, *a, **k))[1]
        )
        cross_entropy(logits, torch.tensor([1, 3], device="cuda")).backward()
    assert "cross_entropy_backward_kernel" in launched
    assert logits.grad.is_cuda
