"""The names a kernel may use: reviewed one by one, for Triton 3.6 to 3.9. Imports nothing.

Compiling a kernel, and running it in the interpreter, calls what its names stand for, in Python. Some functions of
Triton's language turn text into code or open files (`str_to_ty` evaluates its argument, `extern_elementwise` links a
library by its path). So a name is here because somebody read what it does with its arguments, and no name is permitted
because of the module that it lives in.
"""

# Of triton.language: `__all__` of each version, less what is not for kernels.
LANGUAGE = frozenset(
    """
    TRITON_MAX_TENSOR_NUMEL abs add advance arange argmax argmin associative_scan assume atomic_add atomic_and
    atomic_cas atomic_load atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor bfloat16
    bitonic_merge block_type broadcast broadcast_to cast cat cdiv ceil clamp condition const constexpr cos cumprod
    cumsum debug_barrier device_assert device_print div_rn dot dot_scaled dtype erf exp exp2 expand_dims expect_zero
    fdiv flip float16 float32 float64 float8e4b15 float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full gather
    histogram int1 int16 int32 int64 int8 interleave join load load_tensor_descriptor log log2 make_block_ptr
    make_tensor_descriptor map_elementwise max max_constancy max_contiguous maximum min minimum mul multiple_of
    num_programs pair_uniform_to_normal permute philox philox_impl pi32_t pointer_type program_id rand rand4x
    randint randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice softmax sort split
    sqrt sqrt_rn squeeze static_assert static_print static_range store store_tensor_descriptor sub sum swizzle2d
    tensor tensor_descriptor to_tensor topk trans tuple uint16 uint32 uint64 uint8 uint_to_uniform_float umulhi
    unsqueeze view void where xor_sum zeros zeros_like
    """.split()
)

# Of triton.language.extra.libdevice. Each calls a function of NVIDIA's or AMD's mathematical library by its name.
LIBDEVICE = frozenset(
    """
    abs acos acosh add_rd add_rn add_ru add_rz asin asinh atan atan2 atanh brev byte_perm cbrt ceil clz copysign cos
    cosh cospi cyl_bessel_i0 cyl_bessel_i1 div_rd div_rn div_ru div_rz double2float_rd double2float_rn
    double2float_ru double2float_rz double2hiint double2int_rd double2int_rn double2int_ru double2int_rz
    double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2loint double2uint_rd double2uint_rn double2uint_ru
    double2uint_rz double2ull_rd double2ull_rn double2ull_ru double2ull_rz double_as_longlong erf erfc erfcinv erfcx
    erfinv exp exp10 exp2 expm1 fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f fast_log2f fast_logf
    fast_powf fast_sinf fast_tanf fast_tanhf fdim ffs finitef float2int_rd float2int_rn float2int_ru float2int_rz
    float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd float2uint_rn float2uint_ru float2uint_rz
    float2ull_rd float2ull_rn float2ull_ru float2ull_rz float_as_int float_as_uint floor fma fma_rd fma_rn fma_ru
    fma_rz fmod hadd hiloint2double hypot ilogb int2double_rn int2float_rd int2float_rn int2float_ru int2float_rz
    int_as_float isfinited isinf isnan j0 j1 jn ldexp lgamma ll2double_rd ll2double_rn ll2double_ru ll2double_rz
    ll2float_rd ll2float_rn ll2float_ru ll2float_rz llrint llround log log10 log1p log2 logb longlong_as_double
    mul24 mul_rd mul_rn mul_ru mul_rz mulhi nearbyint nextafter norm3d norm4d normcdf normcdfinv popc pow rcbrt
    rcp64h rcp_rd rcp_rn rcp_ru rcp_rz remainder rhadd rhypot rint rnorm3d rnorm4d round rsqrt rsqrt_rn sad
    saturatef scalbn signbit sin sinh sinpi sqrt sqrt_rd sqrt_rn sqrt_ru sqrt_rz sub_rd sub_rn sub_ru sub_rz tan
    tanh tgamma trunc uint2double_rn uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float
    ull2double_rd ull2double_rn ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz y0
    y1 yn
    """.split()
)

# Attributes and methods of tensors, tensor descriptors, dtypes and compile-time constants.
ATTRIBUTES = frozenset(
    """
    ALL NONE T abs address_space advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_load
    atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor block_shape block_type
    broadcast_to cast cdiv ceil cos cumprod cumsum dtype element_ty erf exp exp2 expand_dims exponent_bias flip
    floor fp_mantissa_width gather get_block_shapes get_int_max_value get_int_min_value histogram int_bitwidth
    int_signedness is_bf16 is_block is_bool is_const is_dtype is_floating is_fp16 is_fp32 is_fp64 is_fp8 is_fp8e4b15
    is_fp8e4b8 is_fp8e4nv is_fp8e5 is_fp8e5b16 is_int is_int1 is_int16 is_int32 is_int64 is_int8 is_int_signed
    is_int_unsigned is_ptr is_standard_floating is_uint16 is_uint32 is_uint64 is_uint8 is_void item kind load log
    log2 logical_and logical_or max min name nbytes numel permute primitive_bitwidth ravel reduce reduce_or reshape
    rsqrt scalar scatter shape sigmoid sin softmax sort split sqrt sqrt_rn store sum to trans type value values view
    with_element_ty xor_sum
    """.split()
)

# Of LIBDEVICE, what kernels usually call, from float32 to float32 (`device_libraries`). What is absent works as well.
DEVICE_FUNCTIONS = ("ceil", "erf", "exp2", "expm1", "floor", "log", "log1p", "log2", "rsqrt", "sqrt", "tanh")

# Python's own: numbers, and functions of small numbers.
MATH = frozenset("pi e tau inf nan sqrt exp exp2 log log2 log10 log1p expm1 ceil floor fabs".split())

_EXTRA = "triton.language.extra"
# The first as `name_check` permits it; the members of the enumeration are what a constant of a module may hold.
_CORE = LANGUAGE | {"inline_asm_elementwise", "PropagateNan", "PropagateNan.ALL", "PropagateNan.NONE"}

# What a kernel may name of each module.
MODULES = {
    "math": MATH,
    "triton": frozenset({"language", "cdiv", "next_power_of_2"}),
    "triton.language": _CORE | {"core", "math", "standard", "random", "extra", "target_info"},
    "triton.language.core": _CORE,
    "triton.language.math": LANGUAGE,
    "triton.language.standard": LANGUAGE,
    "triton.language.random": LANGUAGE,
    "triton.language.target_info": frozenset({"is_cuda", "is_hip", "cuda_capability_geq"}),
    _EXTRA: frozenset({"cuda", "hip", "libdevice"}),
    f"{_EXTRA}.libdevice": LIBDEVICE,
    f"{_EXTRA}.cuda.libdevice": LIBDEVICE,
    f"{_EXTRA}.hip.libdevice": LIBDEVICE,
    f"{_EXTRA}.cuda": frozenset(
        "libdevice globaltimer num_threads num_warps smid gdc_wait gdc_launch_dependents".split()
    ),
    f"{_EXTRA}.hip": frozenset({"libdevice", "memrealtime", "num_threads", "num_warps", "smid"}),
}
