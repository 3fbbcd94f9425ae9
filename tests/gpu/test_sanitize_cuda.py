"""A program that asks for CUDA on a machine without it: what it is told, and what it is refused."""

import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from doubling import double, double_tuned
from graded_kernels.autograder.gpu.cuda import memory_size, streams
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError
from graded_kernels.autograder.gpu.sanitize.watching import watched
from torch._subclasses.fake_tensor import FakeTensorMode
from triton._C.libtriton import nvidia

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)

GPU = torch.device("cuda", 0)


@triton.jit
def strided(x, y, rows, columns, row_stride, column_stride, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(x + row * row_stride + column * column_stride, mask=inside)
    tl.store(y + row * columns + column, values, mask=inside)


@triton.jit
def asked_kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, 2 * tl.load(x + i))


@triton.jit
def refused_kernel(x, y, N: tl.constexpr):
    total = 0
    for i in range(N):
        total += tl.load(x + i)
    tl.store(y, total)


@triton.jit
def last(block):
    return block - 1


@triton.jit
def calls_another(y, BLOCK: tl.constexpr):
    tl.store(y, last(BLOCK))


def doubled(x):
    y = torch.empty(x.shape, device=x.device)
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.is_cuda
        return doubled(x)

    @staticmethod
    def backward(ctx, dy):
        assert dy.is_cuda
        assert dy.device == GPU
        return doubled(dy.contiguous())


class Two(torch.autograd.Function):
    """Of its two results only the first is used: PyTorch makes zeros for the other's gradient by itself."""

    @staticmethod
    def forward(ctx, x):
        return doubled(x), doubled(x)

    @staticmethod
    def backward(ctx, dy, dz):
        assert dy.is_cuda
        assert dz.is_cuda
        assert not dz.any()
        return doubled(dy.contiguous()) + doubled(dz)


@pytest.fixture
def events():
    found = []
    with watched(found.append):
        yield found
    assert not torch.cuda.is_available()  # and it is all taken away again
    assert not torch.ones(1).is_cuda
    assert not isinstance(double, triton.JITFunction)
    with pytest.raises(NotImplementedError):
        torch.mm(torch.ones(1, 1).half(), torch.ones(1, 1).half(), out_dtype=torch.float32)


def test_tensors_know_where_they_are(events):
    x = torch.randn(4, 4, device="cuda")
    assert x.is_cuda
    assert not x.is_cpu
    assert x.device == GPU
    assert x.get_device() == 0
    assert x.device != torch.device("cuda")
    assert x.type() == "torch.cuda.FloatTensor"
    for y in (x + 1, x[1:], x.T, x.detach(), x.data, torch.cat([x, x]), x.new_empty(3), torch.zeros_like(x), x.half()):
        assert y.device == GPU
    host = torch.ones(4)
    assert not host.is_cuda
    assert host.get_device() == -1
    assert not torch.zeros_like(x, device="cpu").is_cuda
    for y in (host.cuda(), host.cuda(0), host.to("cuda"), host.to(device="cuda:0"), host.to(x), host.to(0)):
        assert y.is_cuda
        assert not host.is_cuda
    for y in (torch.tensor([1.0], device="cuda"), torch.as_tensor(host, device="cuda"), torch.arange(3, device=GPU)):
        assert y.is_cuda
    assert not x.cpu().is_cuda
    assert not x.to("cpu", torch.float16).is_cuda
    assert x.to(torch.float16).is_cuda
    x.cpu().fill_(7)
    assert not (x == 7).any()


def test_only_the_host_has_numpy(events):
    x = torch.ones(3, device="cuda")
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        x.numpy()
    assert x.cpu().numpy().sum() == 3
    assert x.tolist() == [1.0] * 3


def test_a_second_gpu_is_not_there(events):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(3, device="cuda:1")


def test_default_devices(events):
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    assert torch.ones(2).is_cuda
    assert torch.tensor([1]).is_cuda
    assert not torch.ones(2, device="cpu").is_cuda
    torch.set_default_device("cpu")
    assert not torch.ones(2).is_cuda


def test_a_backward_pass_in_triton(events):
    x = torch.randn(100, device="cuda", requires_grad=True)
    w = torch.randn(100, device="cuda")
    (Double.apply(x) * w).sum().backward()
    assert x.grad.is_cuda
    assert torch.equal(x.grad, 2 * w)
    host = torch.randn(100, requires_grad=True)
    Double.apply(host.cuda()).cpu().sum().backward()
    assert not host.grad.is_cuda
    assert torch.equal(host.grad, torch.full((100,), 2.0))
    assert not any("finding" in event for event in events)


def test_the_gradient_of_an_unused_result_is_on_the_gpu(events):
    x = torch.randn(100, device="cuda", requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert x.grad.is_cuda


def test_modules_move(events):
    model = torch.nn.Linear(4, 3).cuda()
    assert all(p.is_cuda for p in model.parameters())
    assert model(torch.ones(2, 4, device="cuda")).is_cuda
    assert not any(p.is_cuda for p in model.to("cpu").parameters())


def test_autocast_computes_in_half_precision(events):
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
        assert torch.is_autocast_enabled()
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


def test_torch_cuda_answers(events):
    assert torch.cuda.is_available()
    assert torch.version.cuda == "12.8"
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    properties = torch.cuda.get_device_properties(0)
    assert properties.multi_processor_count == 108
    assert torch.cuda.get_device_capability() == (8, 0)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    side, first = torch.cuda.Stream(), torch.cuda.current_stream()
    with torch.cuda.device(0), torch.cuda.stream(side), torch.cuda.stream(None):
        assert torch.cuda.current_stream() is torch.accelerator.current_stream() is side
        assert triton.runtime.driver.active.get_current_stream() == side.cuda_stream != first.cuda_stream
        torch.ones(3, device="cuda").record_stream(side)
        start.record()
        end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    assert torch.cuda.current_stream() is first is torch.cuda.default_stream()
    with torch.Stream(device="cuda") as other:
        assert other not in (first, side)
        assert torch.cuda.current_stream() is other
    generator = torch.Generator(device="cuda").manual_seed(3)
    first = torch.randn(3, device="cuda", generator=generator)
    assert generator.device == GPU
    assert first.equal(torch.randn(3, generator=generator.manual_seed(3)).cuda())


def test_it_counts_the_bytes_of_its_tensors(events):
    before, million = torch.cuda.memory_allocated(), 1 << 20
    x = torch.ones(million, device="cuda")
    y, host = x + x, torch.ones(million)
    assert torch.cuda.memory_allocated() - before == x.nbytes + y.nbytes
    del y
    assert torch.cuda.memory_allocated() - before == x[1:].untyped_storage().nbytes()
    assert torch.cuda.max_memory_allocated() - before == 2 * host.nbytes
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    assert torch.cuda.memory_stats()["allocated_bytes.all.freed"] >= host.nbytes
    assert "4096 KiB" in torch.cuda.memory_summary()


@pytest.mark.parametrize("name, capability, cores", [("h100", (9, 0), 132), ("b200", (10, 0), 148)])
def test_another_gpu_can_be_simulated(name, capability, cores):
    with watched(lambda event: None, device=name) as watch:
        assert torch.cuda.get_device_name() == watch.gpu.name
        driver = triton.runtime.driver.active
        assert driver.get_current_target().arch == 10 * capability[0]
        assert driver.utils.get_device_properties(0)["multiprocessor_count"] == cores
        assert driver.utils.get_device_properties(0)["max_shared_mem"] == 227 << 10
        assert not watch.gpu.asked
        assert torch.cuda.get_device_capability() == driver.get_device_capability() == capability
        assert watch.gpu.asked


def test_the_fake_of_a_tensor_is_where_the_tensor_is(events):
    """A compiler of its own, such as Helion's, traces with fake tensors and compares their devices."""
    x, host = torch.randn(4, 3, device="cuda"), torch.randn(3)
    with FakeTensorMode() as mode:
        fake, made = mode.from_tensor(x), torch.empty(3, device=x.device)
        assert (fake @ made)[1:].device == (~(fake > 0)).device == made.device == GPU
        assert mode.from_tensor(host).device.type == "cpu"
        assert x.device == GPU


@triton.jit
def doubled_after_the_last_launch(x, y, n, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    i = tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    tl.extra.cuda.gdc_launch_dependents()


def test_a_benchmark_of_its_own_repeats_a_long_launch_no_more(events, monkeypatch):
    """As benchmarks do that estimate a launch's time first: events tell this machine's."""
    seconds = iter([0.0, 0.0, 1.0, 1.5, 2.0, 2.0])
    monkeypatch.setattr(streams.time, "perf_counter", lambda: next(seconds))
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) == 500
    torch.cuda.current_stream().record_event(start)
    torch.cuda.current_stream().record_event(end)
    assert 0 < start.elapsed_time(end) < 1


def test_a_launch_may_depend_on_the_last_one():
    with watched(lambda event: None, device="h100"):
        x, y = torch.randn(16, device="cuda"), torch.zeros(16, device="cuda")
        doubled_after_the_last_launch[(1,)](x, y, 16, BLOCK=16, launch_pdl=True)
        assert y.equal(2 * x)


def test_the_library_of_cuda_multiplies(events):
    torch.manual_seed(0)
    a, b = (torch.randn(128, 128, device="cuda") for _ in range(2))
    cublas, c, d = nvidia.cublas.CublasLt(torch.empty(1)), torch.zeros_like(a), torch.zeros_like(a)
    cublas.matmul(a, b, c)
    torch.testing.assert_close(c.cpu(), (a.double() @ b.double().T).float().cpu())
    cublas.gemm(a, b, c, d, 2.0, -1.0)
    torch.testing.assert_close(d, c)
    with pytest.raises(RuntimeError, match=r"\(128, 128\), \(128, 64\)"):
        cublas.matmul(a, b[:, :64], c)


@pytest.mark.parametrize("group", [16, 32])
def test_the_library_of_cuda_multiplies_in_blocks_with_scales(events, group):
    """Rows 37 and 70 of A alone are not zero, and one scale is not 1: a tile has 128 rows by 4 scales."""
    k, out, kind = 8 * group, torch.empty(128, 128, dtype=torch.float16), torch.float8_e4m3fn
    a_scale, b_scale, values = torch.ones(2, 32, 4, 4), torch.ones(2, 32, 4, 4), torch.zeros(128, k)
    a_scale[1, 37 % 32, 37 // 32, 2] = 4.0  # the seventh group of row 37
    values[37, 6 * group + 3], values[70, 1] = 3.0, -1.5
    cublas = nvidia.cublas.CublasLt(torch.empty(1))
    if group == 32:
        x, y, scale = values.to(kind), torch.ones(128, k).to(kind), torch.float8_e8m0fnu
        cublas.block_scaled_matmul_mxfp8(x, y, out, a_scale.to(scale), b_scale.to(scale))
    else:
        codes = torch.zeros(128, k, dtype=torch.uint8)
        codes[values == 3.0], codes[values == -1.5] = 5, 8 + 3
        x, y = codes[:, ::2] | codes[:, 1::2] << 4, torch.full((128, k // 2), 2 | 2 << 4, dtype=torch.uint8)
        cublas.block_scaled_matmul_nvfp4(x, y, out, a_scale.to(kind), b_scale.to(kind))
    expected = torch.zeros(128, 128)
    expected[37], expected[70] = 12.0, -1.5
    assert out.float().equal(expected)


def test_its_memory_is_that_of_this_machine(events):
    (held,) = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal")]
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total <= min(80 << 30, int(held.split()[1]) << 10)
    assert total == torch.cuda.get_device_properties(0).total_memory == torch.cuda.memory.mem_get_info("cuda")[1]


@pytest.mark.parametrize("group, total, free", [("max", 8 << 20, 6 << 20), ("4194304", 4 << 20, 3 << 20)])
def test_memory_ends_at_the_limit_of_a_control_group(tmp_path, group, total, free):
    files = {
        "proc/meminfo": "MemTotal:        8192 kB\nMemFree:         1024 kB\nMemAvailable:    6144 kB\n",
        "proc/self/cgroup": "0::/jobs/mine\n",
        "sys/fs/cgroup/jobs/memory.max": group + "\n",
        "sys/fs/cgroup/jobs/memory.current": "2097152\n",
        "sys/fs/cgroup/jobs/memory.stat": "anon 1048576\ninactive_file 1048576\n",
        "sys/fs/cgroup/jobs/mine/memory.max": "max\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert (memory_size.total(tmp_path), memory_size.free(tmp_path)) == (total, free)
    (tmp_path / "proc/self/cgroup").unlink()
    assert (memory_size.total(tmp_path), memory_size.free(tmp_path)) == (8 << 20, 6 << 20)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_is_added_in_float32_and_rounded_once(events, dtype):
    a, b = torch.randn(2, 3, 64, device="cuda").to(dtype), torch.randn(2, 64, 5, device="cuda").to(dtype)
    c, wide = torch.randn(2, 3, 5, device="cuda"), (a.double() @ b.double()).cpu()
    with torch.autocast("cuda"):  # which these calls take no part in
        found = torch.bmm(a, b, out_dtype=torch.float32)
        added = torch.baddbmm(c, a, b, out_dtype=torch.float32, beta=2, alpha=0.5)
        one = torch.mm(a[0], b[0], torch.float32), torch.addmm(c[0], a[0], b[0], out_dtype=torch.float32)
    assert found.is_cuda
    assert found.dtype == torch.float32
    assert torch.allclose(found.cpu().double(), wide, atol=1e-5)
    assert torch.allclose(added.cpu().double(), 2 * c.cpu() + wide / 2, atol=1e-5)
    assert torch.equal(one[0], found[0])
    assert torch.allclose(one[1].cpu().double(), (c[0].cpu() + wide[0]), atol=1e-5)
    total = torch.empty(0, device="cuda")
    assert torch.mm(a[0], b[0], out_dtype=torch.float32, out=total) is total
    assert torch.equal(total, found[0])
    assert torch.equal(torch.mm(a[0], b[0], out_dtype=dtype), found[0].to(dtype))


def test_products_refuse_what_a_gpu_refuses(events):
    a, wide = torch.ones(4, 4, device="cuda").half(), torch.ones(4, 4, device="cuda")
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        torch.mm(wide, wide, out_dtype=torch.float16)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        torch.mm(a, wide, out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match="self dtype must match"):
        torch.addmm(wide.double(), a, a, out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match="the dtype of the provided out tensor"):
        torch.mm(a, a, out_dtype=torch.float32, out=torch.empty(4, 4, device="cuda").half())
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        torch.mm(a.cpu(), a.cpu(), out_dtype=torch.float32)


def test_launchers_of_compiled_code_find_device_and_stream(events):
    from torch._C import _cuda_getCurrentRawStream

    y = torch._C._dynamo.guards._empty_strided_cuda((2, 3), (1, 2), torch.float16)
    assert y.is_cuda
    assert y.stride() == (1, 2)
    assert y.dtype == torch.float16
    with torch.cuda._DeviceGuard(0):
        assert _cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream


def test_a_kernel_may_draw_from_the_default_generator(events):
    torch.manual_seed(11)
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    state = generator.get_state()
    seed, offset = state.view(torch.int64)
    assert (int(seed), int(offset)) == (11, 0)
    assert generator.device == GPU
    offset += 4
    generator.set_state(state)
    assert generator.get_state().view(torch.int64).tolist() == [11, 4]
    assert torch.initial_seed() == 11
    torch.cuda.manual_seed(12)
    assert generator.get_state().view(torch.int64).tolist() == [12, 0]
    assert generator.initial_seed() == 12
    generator.set_state(state)
    assert torch.initial_seed() == 11


def test_triton_finds_a_driver(events):
    assert triton.runtime.driver.active.get_current_target().arch == 80
    assert triton.testing.do_bench(lambda: None) == 1.0
    x, y = torch.randn(64, device="cuda"), torch.zeros(64, device="cuda")
    kernel = double.warmup(x, y, 64, BLOCK=64, grid=(1,))
    assert kernel.n_regs
    assert kernel.metadata.shared
    kernel[(1,)](x, y, 64, BLOCK=64)
    assert y.equal(2 * x)
    double_tuned[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, y, 64)


def test_a_kernel_is_a_jit_function(events):
    assert isinstance(double, triton.JITFunction)
    assert isinstance(double_tuned.fn, triton.runtime.jit.JITFunction)
    assert not isinstance(doubled, triton.JITFunction)
    assert not hasattr(double, "data_ptr")
    assert [parameter.name for parameter in double.params if parameter.is_constexpr] == ["BLOCK"]
    assert "tl.store(y + i" in double.src
    assert len({double.cache_key, double_tuned.fn.cache_key, calls_another.cache_key}) == 3


def undecorated(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) * 2)


undecorated_kernel = triton.jit(undecorated)


def test_a_kernel_made_by_its_class_runs_and_compiles(events):
    kernel = triton.JITFunction(undecorated, do_not_specialize=["x"])
    x, y = torch.randn(16, device="cuda"), torch.zeros(16, device="cuda")
    kernel[(1,)](x, y, N=16)
    assert y.equal(2 * x)
    assert [parameter.do_not_specialize for parameter in kernel.params] == [True, False, False]
    assert "tt.load" in kernel.warmup(x, y, N=16, grid=(1,)).asm["ttir"]


COMPILES = """
import triton
import triton.language as tl
from triton._C.libtriton import ir

@triton.jit
def twice(x):
    return x * 2

@triton.jit
def calls_twice(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, twice(tl.load(x + i)))

source = triton.compiler.ASTSource(calls_twice, {"x": "*fp32", "y": "*fp32", "N": "constexpr"}, {"N": 16})
context = ir.context()
ir.load_dialects(context)
target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
backend = triton.compiler.make_backend(target)
backend.load_dialects(context)
options = backend.parse_options({})
code = backend.get_codegen_implementation(options), backend.get_module_map()
print("calls twice:", ".twice__fp32S16S" in str(source.make_ir(target, options, *code, context)))
"""


def test_a_program_may_compile_in_its_own_process(tmp_path):
    """With the helpers that a kernel calls; in a new process, since a launch by Triton's interpreter alone, as other
    tests make, leaves its language changed.
    """
    (tmp_path / "compiles.py").write_text(COMPILES)
    command = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", "compiles.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "calls twice: True" in ran.stdout, ran.stdout + ran.stderr


def test_a_kernel_is_of_its_functions_module(events):
    assert triton.jit(undecorated).__module__ == __name__


def test_a_tensor_under_another_type_is_put_to_the_compiler(events):
    x, y = torch.ones(16, dtype=torch.int32, device="cuda"), torch.zeros(16, device="cuda")
    undecorated_kernel[(1,)](triton.reinterpret(x, tl.float32), y, N=16)
    assert [event["form"]["launch"]["signature"]["x"] for event in events if "form" in event] == ["*fp32"]


def test_a_kernel_may_derive_its_name_from_a_launch(events):
    def name(special):
        return f"n_{special.signature['n']}_{'_'.join(one for one, value in special.constants.items() if value == 1)}"

    @triton.jit(repr=name)
    def named(x, n, one):
        pass

    x = torch.ones(16, device="cuda")
    assert named.warmup(x, 2**31, 1, grid=(1,)).name == "n_i64_one"
    assert named[(1,)](x, 7, 3).metadata.name == "n_i32_"


def test_a_class_of_ones_own_for_kernels_is_named(events):
    class Kernel(triton.JITFunction):
        pass

    with pytest.raises(EmulatorError, match="made by a class of its own, .*Kernel, compiled for a GPU"):
        Kernel(undecorated)[(1,)](1, 2, N=16)


def test_a_launch_returns_a_kernel_that_can_be_launched(events):
    x, y = torch.randn(64, device="cuda"), torch.zeros(64, device="cuda")
    kernel = double[(4,)](x, y, 64, 16)
    for args in ((3 * x, y, 64), (3 * x, y, 64, 16)):
        y.zero_()
        kernel[(4,)](*args)
        assert y.equal(6 * x)
    assert double[(4,)](x, y, 64, BLOCK=16, num_warps=8).metadata.shared > kernel.metadata.shared > 0


def test_a_kernel_refuses_a_tensor_of_the_host(events):
    x = torch.ones(4)
    with pytest.raises(ValueError, match=r"Pointer argument \(at 0\) cannot be accessed from Triton \(cpu tensor\?\)"):
        double[(1,)](x, torch.ones(4, device="cuda"), 4, BLOCK=4)
    double[(1,)](x.pin_memory(), torch.ones(4, device="cuda"), 4, BLOCK=4)


def test_what_is_on_the_gpu_cannot_be_pinned(events):
    with pytest.raises(RuntimeError, match="cannot pin 'torch.cuda.HalfTensor' only dense CPU tensors can be pinned"):
        torch.ones(3, device="cuda", dtype=torch.float16).pin_memory()


CANNOT = [
    lambda: torch.cuda.make_graphed_callables(double, ()),
    lambda: torch.cuda.CUDAGraph().raw_cuda_graph(),
    lambda: double[(1,)](launch_cooperative_grid=True),
]


@pytest.mark.parametrize("ask", CANNOT)
def test_what_cannot_be_simulated_is_not_judged(events, ask):
    with pytest.raises(EmulatorError, match="is not simulated|are a GPU's|cooperative launch"):
        ask()
    (finding,) = [event["finding"] for event in events if "finding" in event]
    assert finding["kind"] == "not-emulated"
    assert finding["level"] == "unable"
    assert finding["file"] == __file__


class Strided:
    """As libraries write them, for what PyTorch has no view of."""

    def __init__(self, base, shape, strides, offset):
        self.base, self.shape, self.strides, self.dtype = base, shape, strides, base.dtype
        self.pointer = base.data_ptr() + offset * base.element_size()

    def data_ptr(self):
        return self.pointer

    def stride(self):
        return self.strides


def test_a_buffer_that_is_not_a_tensor_is_not_judged(events):
    class Buffer:
        def __init__(self, tensor):
            self.dtype, self.data_ptr = tensor.dtype, tensor.data_ptr

    x = torch.ones(4, device="cuda")
    with pytest.raises(EmulatorError, match="takes PyTorch's tensors, and argument 0 of `double` is a Buffer"):
        double[(1,)](Buffer(x), x, 4, BLOCK=4)
    assert [event["finding"]["level"] for event in events if "finding" in event] == ["unable"]


def test_a_buffer_that_holds_a_tensor_is_a_view_of_it(events):
    x, y = torch.arange(12.0, device="cuda"), torch.zeros(4, device="cuda")
    double[(1,)](Strided(x, (4,), (1,), 5), y, 4, BLOCK=4)
    assert y.tolist() == [10, 12, 14, 16]
    with pytest.raises(EmulatorError, match="loads x out of bounds"):
        double[(1,)](Strided(x, (4,), (1,), 5), y, 8, BLOCK=8)
    with pytest.raises(EmulatorError, match="a Strided without one"):
        double[(1,)](Strided(x, (4,), (-1,), 2), y, 4, BLOCK=4)


@pytest.mark.parametrize("together", [True, False])
def test_a_buffer_of_negative_strides_points_behind_its_elements(events, together, monkeypatch):
    monkeypatch.setattr(Emulator, "together", together)
    x, y = torch.arange(12.0, device="cuda"), torch.zeros(2, 3, device="cuda")
    backwards = Strided(x, (2, 3), (4, -1), 6)
    strided[(2,)](backwards, y, 2, 3, 4, -1, BLOCK=4)
    assert y.tolist() == [[6, 5, 4], [10, 9, 8]]
    with pytest.raises(EmulatorError, match="loads x out of bounds"):
        strided[(2,)](backwards, torch.zeros(2, 4, device="cuda"), 2, 4, 4, -1, BLOCK=4)


def test_cuda_graphs_are_types(events):
    assert isinstance(torch.cuda.CUDAGraph | None, types.UnionType)
    assert not isinstance(3, torch.cuda.graph)


def test_without_the_stand_in_there_is_no_gpu():
    with watched(lambda event: None, shim=False):
        assert not torch.cuda.is_available()
        with pytest.raises((AssertionError, RuntimeError)):
            torch.ones(1, device="cuda")


def test_a_program_seeds_the_random_numbers_of_both_devices():
    def drawn(sow):
        sow()
        return torch.rand(3)

    with watched(lambda event: None):
        sowing = [
            lambda: torch.manual_seed(3),
            lambda: torch.cuda.manual_seed(3),
            lambda: torch.cuda.manual_seed_all(3),
        ]
        first, *others = map(drawn, sowing)
        assert torch.initial_seed() == 3
        assert torch.seed() == torch.initial_seed()
    assert first.equal(others[0])
    assert first.equal(others[1])


def test_a_program_may_ask_a_kernel_for_its_code(events):
    """Of a launch, and of one that only its dtypes say."""
    x = torch.ones(16, device="cuda")
    launched = asked_kernel[(1,)](x, torch.empty_like(x), N=16)
    assert launched.name == "asked_kernel"
    assert "ld.global" in launched.asm["ptx"]
    line = inspect.getsourcelines(asked_kernel.fn)[1] + 1
    assert f'loc("{__file__}":{line}:' in launched.asm["ttir"]
    assert isinstance(launched.asm["cubin"], bytes)
    assert "tt.load" in asked_kernel.warmup(torch.float32, torch.float32, N=16, grid=(1,)).asm["ttir"]


def test_a_kernel_inside_a_function_is_asked_for_its_code(events):
    """With a helper and a constant of that function, and the name of another kernel in the file."""
    factor = tl.constexpr(3)

    @triton.jit
    def scaled(x):
        return x * factor

    @triton.jit
    def strided(x, y, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y + i, scaled(tl.load(x + i)))

    x = torch.ones(16, device="cuda")
    launched = strided[(1,)](x, torch.empty_like(x), N=16)
    assert "arith.constant dense<3.000000e+00>" in launched.asm["ttir"]
    assert "tt.load" in strided.warmup(torch.float32, torch.float32, N=16, grid=(1,)).asm["ttir"]


def test_a_kernel_without_source_has_no_code(events):
    names = {}
    exec("def made(x, y, N):\n    pass\n", names)
    with pytest.raises(Exception, match="made was made without source text"):
        _ = triton.jit(names["made"]).warmup(torch.float32, torch.float32, N=16, grid=(1,)).asm


def test_code_that_does_not_compile_is_a_sentence(events):
    with pytest.raises(Exception, match="`refused_kernel` does not compile: .*initial type int32"):
        _ = refused_kernel.warmup(torch.float32, torch.float32, N=16, grid=(1,)).asm
