"""Functions of one number: libdevice, inline assembly and fma are right to the last place, and nothing is printed."""

import math

import mpmath
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError, approximate
from graded_kernels.autograder.gpu.emulator.libdevice import call
from triton.language.extra import libdevice
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait, globaltimer, num_threads, num_warps, smid
from triton.language.extra.libdevice import tanh as tanh_by_name


@triton.jit
def libdevice_kernel(x_ptr, y_ptr, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if NAME == "tanh":
        y = libdevice.tanh(x)
    elif NAME == "tanh_by_name":
        y = tanh_by_name(x)
    elif NAME == "erf":
        y = libdevice.erf(x)
    elif NAME == "erfc":
        y = libdevice.erfc(x)
    elif NAME == "erfcx":
        y = libdevice.erfcx(x)
    elif NAME == "exp":
        y = libdevice.exp(x)
    elif NAME == "exp2":
        y = libdevice.exp2(x)
    elif NAME == "expm1":
        y = libdevice.expm1(x)
    elif NAME == "log1p":
        y = libdevice.log1p(x * x)
    elif NAME == "log":
        y = libdevice.log(x * x)
    elif NAME == "rsqrt":
        y = libdevice.rsqrt(x * x)
    elif NAME == "sqrt":
        y = libdevice.sqrt(x * x)
    elif NAME == "rcp":
        y = libdevice.rcp_rn(x)
    elif NAME == "normcdf":
        y = libdevice.normcdf(x)
    elif NAME == "fma":
        y = libdevice.fma(x, x, -x)
    else:
        y = libdevice.pow(x * x, 0.75)
    tl.store(y_ptr + offsets, y)


def erfcx(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


EXACT = {
    "tanh": mpmath.tanh,
    "tanh_by_name": mpmath.tanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcx": erfcx,
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log1p": lambda x: mpmath.log1p(float32(x * x)),
    "log": lambda x: mpmath.log(float32(x * x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(float32(x * x)),
    "sqrt": lambda x: mpmath.sqrt(float32(x * x)),
    "rcp": lambda x: 1 / x,
    "normcdf": mpmath.ncdf,
    "fma": lambda x: x * x - x,
    "pow": lambda x: float32(x * x) ** mpmath.mpf("0.75"),
}


def float32(x):
    return mpmath.mpf(float(np.float32(float(x))))


@pytest.mark.parametrize("name", EXACT)
def test_libdevice(name):
    """Within one unit in the last place of the exact value, at arguments from 1e-6 to 30."""
    magnitudes = torch.logspace(-6, math.log10(30), 32)
    x = torch.cat([magnitudes, -magnitudes])
    if name == "erfcx":
        x = x.clamp(min=-9.0)
    y = torch.zeros_like(x)
    with Emulator() as emulator, mpmath.workdps(50):
        libdevice_kernel[(1,)](x, y, NAME=name, BLOCK=64)
        exact = [EXACT[name](mpmath.mpf(float(v))) for v in x]
    assert emulator.findings == ()
    for value, ours, true in zip(x.tolist(), y.tolist(), exact, strict=True):
        ulp = max(2.0 ** (math.floor(math.log2(abs(float(true)))) - 23), 2.0**-149) if float(true) else 2.0**-149
        assert abs(ours - true) <= ulp, f"{name}({value}) = {ours}, exactly {mpmath.nstr(true, 12)}"


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_bessel_functions(n):
    """Of orders that are found upwards and downwards, at arguments on both sides of where the expansions meet."""
    x = np.array([1e-3, 0.7, 5.1, 11.3, 24.9, 25.1, 39.0, 41.0, 90.0])
    for name, exact in [("jn", mpmath.besselj), ("yn", mpmath.bessely)]:
        found = call(f"__nv_{name}", [np.full(x.shape, n, np.int32), x])
        if n < 2:
            assert np.array_equal(found, call(f"__nv_{name[0]}{n}f", [x]))
            assert np.array_equal(call("__nv_jn", [np.int32(n), -x]), (-1) ** n * call("__nv_jn", [np.int32(n), x]))
        for ours, at in zip(found, x, strict=True):
            true = float(exact(n, at))
            assert abs(ours - true) <= 1e-13 * max(abs(true), 0.1), (name, at)


@pytest.mark.parametrize("n", [0, 1])
def test_modified_bessel_functions(n):
    for at in (0.0, 1e-3, -0.7, 11.3, 90.0, 700.0):
        assert call(f"__nv_cyl_bessel_i{n}", [np.array([at])])[0] == pytest.approx(
            float(mpmath.besseli(n, at)), rel=1e-13
        )
    assert math.isinf(call(f"__nv_cyl_bessel_i{n}f", [np.array([math.inf])])[0])


INF = math.inf
KNOWN = [  # C's mathematical functions, by their name, argument and value
    ("cbrt", -27, -3),
    ("ceil", -1.5, -1),
    ("clz", np.int32(1), 31),
    ("cospi", 2.5, 0),
    ("cospi", 3, -1),
    ("erfcinv", 1.5, -0.4769362762044699),
    ("erfcinv", 0.01, 1.8213863677184494),
    ("erfinv", 0.3, 0.2724627147267543),
    ("exp10", -2, 0.01),
    ("ffs", np.int32(8), 4),
    ("ffs", np.int32(0), 0),
    ("ilogb", np.float32(0.3), -2),
    ("lgamma", 0.5, math.log(math.pi) / 2),
    ("llround", np.float32(-2.5), -3),
    ("logb", 0, -INF),
    ("logb", 0.3, -2),
    ("logb", 1, 0),
    ("logb", -INF, INF),
    ("logb", math.nan, math.nan),
    ("nearbyint", 2.5, 2),
    ("normcdfinv", 0.5, 0),
    ("normcdfinv", 0.975, 1.959963984540054),
    ("normcdfinv", 0, -INF),
    ("popc", np.int32(-1), 32),
    ("rcbrt", 8, 0.5),
    ("round", 2.5, 3),
    ("round", -0.4, 0),
    ("saturate", 1.5, 1),
    ("saturate", -1, 0),
    ("saturate", math.nan, 0),
    ("sinpi", 2.5, 1),
    ("tgamma", 5, 24),
    ("trunc", -1.5, -1),
]


@pytest.mark.parametrize("name, argument, value", KNOWN)
def test_values_that_are_known(name, argument, value):
    (found,) = call(f"__nv_{name}", [np.asarray([argument])])
    assert found == pytest.approx(value, rel=1e-14, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    "name, x, y, value",
    [
        ("fdim", 3, 5, 0),
        ("fdim", 5, 3, 2),
        ("powi", 2, -3, 0.125),
        ("remainder", 5, 3, -1),
        ("remainder", -INF, 3, math.nan),
        ("remainder", 5, 0, math.nan),
        ("rhypot", 3, 4, 0.2),
    ],
)
def test_values_of_two_arguments(name, x, y, value):
    (found,) = call(f"__nv_{name}", [np.asarray([x], np.float32), np.asarray([y], np.float32)])
    assert found == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "x", "value"), [("3d", (2, 3, 6), 7), ("4d", (1, 1, 1, 1), 2), ("3d", (1e25,) * 3, 3**0.5 * 1e25)]
)
def test_the_length_of_a_vector(name, x, value):
    """Of float32 numbers whose squares float32 does not hold, too."""
    arguments = [np.asarray([one], np.float32) for one in x]
    for form, expected in (("norm", value), ("rnorm", 1 / value)):
        assert call(f"__nv_{form}{name}f", arguments)[0] == pytest.approx(expected, rel=1e-7)


@triton.jit
def assembly_kernel(x_ptr, y_ptr, ASM: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.inline_asm_elementwise(ASM, "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + offsets, y)


def test_inline_assembly_of_one_known_instruction():
    x = torch.linspace(-3, 3, 16)
    y = torch.zeros(16)
    with Emulator() as emulator:
        assembly_kernel[(1,)](x, y, ASM="tanh.approx.f32 $0, $1;", BLOCK=16)
    off = (y.double() / x.double().tanh() - 1).abs()
    assert off.max() == pytest.approx(2**-11, rel=1e-3)  # the largest that PTX documents
    assert off.min() == pytest.approx(2**-11, rel=1e-3)
    assert "fast" in emulator.looser


@pytest.mark.parametrize(
    ("instruction", "function", "x", "error"),
    [
        ("ex2", lambda x: 2.0**x, 3.5, 2 * 2**-20),  # 2 ulp
        ("lg2", math.log2, 1.5, 2**-22),
        ("lg2", math.log2, 1000.0, 2**-22 * math.log2(1000)),
        ("rcp", lambda x: 1 / x, 3.0, 2**-25),
        ("sqrt", math.sqrt, 3.0, 2**-23 * math.sqrt(3)),
        ("rsqrt", lambda x: 1 / math.sqrt(x), 3.0, 2**-22.9 / math.sqrt(3)),
        ("sin", math.sin, 6.0, 2**-20.5),
        ("cos", math.cos, 7.0, 2**-14.7),
        ("cos", math.cos, 300.0, 2**-14.7),
        ("tanh", math.tanh, 1.0, 2**-11 * math.tanh(1)),
    ],
)
def test_approximate_instructions_are_as_far_off_as_ptx_documents(instruction, function, x, error):
    (found,) = approximate.PTX[instruction](np.array([x]))
    assert abs(found - function(x)) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize(
    ("symbol", "function", "x", "error"),
    [
        ("__nv_fast_expf", math.exp, 10.0, 13 * 2**-9),  # 2 + floor(1.173 * 10) ulp, of 2^-9
        ("__nv_fast_expf", math.exp, 0.0, 0.0),
        ("__nv_fast_expf", lambda x: x, math.inf, 0.0),
        ("__nv_fast_logf", math.log, 1.5, 2**-21.41),
        ("__nv_fast_logf", math.log, 1e6, 3 * 2**-20),
        ("__nv_fast_log2f", math.log2, 8.0, 2 * 2**-22),
        ("__nv_fast_sinf", math.sin, 1.0, 2**-21.41),
        ("__nv_fast_sinf", math.sin, 32.0, 32 / math.pi * 2**-21.41),
        ("__nv_fast_tanhf", math.tanh, 2.0, 2**-11 * math.tanh(2)),
    ],
)
def test_approximate_functions_are_as_far_off_as_cuda_documents(symbol, function, x, error):
    (found,) = call(symbol, [np.array([x], dtype=np.float32)])
    off = 0.0 if found == function(x) else abs(found - function(x))
    assert off == pytest.approx(error, rel=1e-6)


def test_approximate_quotients_and_powers():
    x, y = np.float32([7.0, 3.0]), np.float32([3.0, 2.5])
    assert np.abs(call("__nv_fast_fdividef", [x, y]) / (x.astype(float) / y) - 1).max() > 2**-24
    assert call("__nv_fast_powf", [x, y]) == pytest.approx(x.astype(float) ** y, rel=2**-19)
    assert (call("__nv_fast_powf", [x, y]) != x.astype(float) ** y).all()


@triton.jit
def exponent_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.inline_asm_elementwise("cvt.rp.ue8m0x2.f32 $0, 0.0, $1;", "=h,r", [x], dtype=tl.uint16, is_pure=True, pack=1)
    tl.store(y_ptr + offsets, y.to(tl.uint8))


def test_inline_assembly_rounds_up_to_a_power_of_two():
    wanted = {0.0: 0, 2.0**-127: 0, 1.5 * 2**-127: 1, 2.0**-126: 1, 1.0: 127, 1.1: 128, 3.0: 129, 4.0: 129}
    wanted |= {2.0**127: 254, 1.5 * 2**127: 255, math.inf: 255, -3.0: 129}
    x = torch.tensor([*wanted, *[math.nan] * (16 - len(wanted))])
    y = torch.zeros(16, dtype=torch.uint8)
    with Emulator():
        exponent_kernel[(1,)](x, y, BLOCK=16)
    assert y.tolist() == [*wanted.values(), *[255] * (16 - len(wanted))]


def test_unknown_assembly_says_what_is_known():
    with (
        Emulator() as emulator,
        pytest.raises(EmulatorError, match=r"cannot run this inline assembly.*tanh\.approx\.f32"),
    ):
        assembly_kernel[(1,)](torch.zeros(16), torch.zeros(16), ASM="brev.b32 $0, $1; // twice", BLOCK=16)
    assert emulator.findings[0].kind == "not-emulated"


@triton.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.fma(tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)))


def test_fma_rounds_once():
    generator = np.random.default_rng(3)
    x, y = (generator.standard_normal(1024).astype(np.float32) for _ in range(2))
    z = (-x.astype(np.float64) * y).astype(np.float32)  # so that the sum cancels and two roundings give zero
    out = torch.zeros(1024)
    with Emulator():
        fma_kernel[(1,)](torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(z), out, N=1024)
    exact = x.astype(np.float64) * y + z  # exact here: the sum cancels
    assert np.array_equal(out.numpy(), exact.astype(np.float32))
    assert (out != 0).sum() > 900


def test_fma_does_not_round_to_float64_on_the_way():
    """1 + 3 * 2^-24 - 2^-56 lies just below a midpoint of float32; float64 would round it up to the midpoint."""
    x, y, z = (
        torch.full((3, 16), 2.0**-24 * (1 + 2**-16)),
        torch.full((16,), 1 - 2.0**-16),
        torch.full((16,), 1 + 2.0**-23),
    )
    out = torch.zeros(16)
    with Emulator():
        fma_kernel[(1,)](x[0], y, z, out, N=16)
    assert out[0].item() == 1 + 2**-23


@triton.jit
def truncating_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.float16, fp_downcast_rounding="rtz"))


def test_a_cast_toward_zero_never_grows():
    x, y = torch.tensor([1.0, 1.0 + 2**-11 * 1.5, 1e5, 3e-8] * 4), torch.zeros(16, dtype=torch.float16)
    for sign in (1, -1):
        with Emulator():
            truncating_kernel[(1,)](sign * x, y, N=16)
        assert y[:4].tolist() == [sign * 1.0, sign * 1.0, sign * 65504.0, 0.0]


@triton.jit
def inverse_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, libdevice.erfinv(tl.load(x_ptr + i)))


def test_the_inverse_of_erf_is_right_around_0_and_in_the_tails():
    x, y = torch.linspace(-0.99, 0.99, 64), torch.zeros(64)
    with Emulator():
        inverse_kernel[(1,)](x, y, N=64)
    exact = torch.tensor([float(mpmath.erfinv(one)) for one in x.tolist()])
    assert torch.allclose(y, exact, rtol=1e-6, atol=0)


@triton.jit
def overflow_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, 1 / (1 + tl.exp(-x)) + tl.log(x) + x / (x - x) + tl.sqrt(x) + x.to(tl.int32))


def test_nothing_reaches_stderr(capfd, recwarn):
    x = torch.tensor([-200.0, 0.0, 200.0, 1e38])
    with Emulator():
        overflow_kernel[(1,)](x, torch.zeros(4), N=4)
    assert capfd.readouterr().err == ""
    assert [str(warning) for warning in recwarn] == []


@triton.jit
def methods_kernel(x_ptr, y_ptr, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if NAME == "exp":
        y = x.exp() - tl.exp(x)
    elif NAME == "exp2":
        y = x.exp2() - tl.exp2(x)
    elif NAME == "log":
        y = x.log() - tl.log(x)
    elif NAME == "log2":
        y = x.log2() - tl.log2(x)
    elif NAME == "sin":
        y = x.sin() - tl.sin(x)
    elif NAME == "cos":
        y = x.cos() - tl.cos(x)
    elif NAME == "sqrt":
        y = x.sqrt() - tl.sqrt(x)
    elif NAME == "sqrt_rn":
        y = x.sqrt_rn() - tl.sqrt_rn(x)
    elif NAME == "rsqrt":
        y = x.rsqrt() - tl.rsqrt(x)
    elif NAME == "erf":
        y = x.erf() - tl.erf(x)
    elif NAME == "floor":
        y = x.floor() - tl.floor(x)
    elif NAME == "ceil":
        y = x.ceil() - tl.ceil(x)
    elif NAME == "abs":
        y = (-x).abs() - x
    elif NAME == "sum":
        y = x.sum(0) - tl.sum(x, 0) + x - x
    else:
        y = x.sigmoid() - tl.sigmoid(x)
    tl.store(y_ptr + offsets, y)


@pytest.mark.parametrize("name", "exp exp2 log log2 sin cos sqrt sqrt_rn rsqrt erf floor ceil abs sum sigmoid".split())
def test_a_function_called_as_a_method_is_the_function(name):
    x, y = torch.linspace(0.25, 3, 8), torch.ones(8)
    with Emulator():
        methods_kernel[(1,)](x, y, NAME=name, BLOCK=8)
    assert y.eq(0).all()
    assert not hasattr(tl.tensor.exp, "func")  # Triton's own method is back


@triton.jit
def registers_kernel(y_ptr, BLOCK: tl.constexpr):
    before = tl.extra.cuda.globaltimer()
    i = tl.arange(0, tl.extra.cuda.num_threads())
    at = y_ptr + tl.program_id(0) * 4
    tl.store(at, tl.sum(i * 0 + 1))
    tl.store(at + 1, tl.extra.cuda.num_warps())
    tl.store(at + 2, (tl.extra.cuda.globaltimer() >= before).to(tl.int64))
    tl.store(at + 3, (tl.extra.cuda.smid() >= 0).to(tl.int64) * BLOCK)


@triton.jit
def imported_registers_kernel(y_ptr, BLOCK: tl.constexpr):
    at, before = y_ptr + tl.program_id(0) * 4, globaltimer()
    gdc_wait()
    tl.store(at, tl.sum(tl.arange(0, num_threads()) * 0 + 1))
    tl.store(at + 1, num_warps())
    tl.store(at + 2, (globaltimer() >= before).to(tl.int64))
    tl.store(at + 3, (smid() >= 0).to(tl.int64) * BLOCK)
    gdc_launch_dependents()


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("kernel", [registers_kernel, imported_registers_kernel])
def test_special_registers(warps, kernel):
    """Threads and warps are constants of the launch; the functions may be imported by their names."""

    def program():
        y = torch.zeros(3, 4, dtype=torch.int64)
        kernel[(3,)](y, BLOCK=16, **({} if warps == 4 else {"num_warps": warps}))
        return y

    with Emulator() as emulator:
        assert program().tolist() == [[32 * warps, warps, 1, 16]] * 3
    assert emulator.findings == ()
    assert assert_same(program) == []


@triton.jit
def flushing_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.sqrt(x))
    tl.store(y_ptr + N + i, tl.rsqrt(x))
    tl.store(y_ptr + 2 * N + i, tl.exp2(-130.0 + 0.0 * x))
    tl.store(y_ptr + 3 * N + i, tl.sqrt_rn(x))
    tl.store(y_ptr + 4 * N + i, libdevice.fast_dividef(1.7e38 + 0.0 * x, 1.7e38 + 0.0 * x))


def test_subnormal_numbers_are_flushed_where_a_gpu_does_so():
    x, y = torch.tensor([1e-39, 0.25]), torch.empty(5, 2)
    with Emulator():
        flushing_kernel[(1,)](x, y, N=2)
    assert y[:3].tolist() == [[0.0, 0.5], [math.inf, 2.0], [0.0, 0.0]]
    assert y[3].tolist() == x.double().sqrt().float().tolist()
    assert y[4].tolist() == [0.0, 0.0]  # by CUDA's manual, for a divisor between 2^126 and 2^128
