"""SiLU and SwiGLU, broken: (why, old, new, the case that must see it)."""

ORDINARY, FP16 = "ordinary values", "every float16 value"
BLOCKS, EDGES = "odd shape, several blocks", "infinity and NaN"

MUTANTS = {
    ("silu_forward", "torch"): (
        ("e^|x| overflows", "torch.exp(-v.abs() / 2)", "torch.exp(v.abs() / 2)", ORDINARY),
        ("computes in the dtype of x", "x.to(torch.promote_types(x.dtype, torch.float32))", "x", FP16),
        ("NaN becomes 0", "v.clamp(min=-1500)", "v.nan_to_num().clamp(min=-1500)", EDGES),
        ("clamps too early", "clamp(min=-1500)", "clamp(min=-1500, max=200)", "large values"),
        ("clamps at 20,000", "clamp(min=-1500)", "clamp(min=-1500, max=2e4)", FP16),
    ),
    ("silu_backward", "torch"): (
        ("the derivative of the sigmoid alone", "(1 + v * other)", "other", ORDINARY),
        ("1 - s(x) from a rounded 0.5", "torch.where(v < 0, 1, h * h)", "torch.where(v <= 0, 1, h)", ORDINARY),
        ("the 1 is lost in x", "(1 + v * other)", "(1 + v - v * (1 - other))", "below powers of two"),
        ("divides back at the end", "(dy * slope * tail)", "(dy * (slope * tail * v / v))", "exact zeros"),
        ("a floor under |x|", "v.clamp(-1500, 1500)", "v.clamp(-1500, 1500) + (v.abs() < 1e-3) * 1e-3", "exact zeros"),
        ("NaN becomes 0", "v.clamp(-1500, 1500)", "v.nan_to_num().clamp(-1500, 1500)", EDGES),
    ),
    ("silu_witness", "torch"): (
        ("nothing is wrong at 1", "0.0, -0.0, 1e-45, 1.0", "1.0, 2.0, 3.0, 4.0", "an error of candle 0.4.1-0.5.0"),
        ("infinity is no witness", "0.0, -0.0, 1e-45, 1.0", "float('inf'), 1.0", "a valid input"),
        ("an empty tensor", "[0.0, -0.0, 1e-45, 1.0]", "[]", "an error of candle 0.4.1-0.5.0"),
        ("a gradient of zeros hides it", "torch.full_like(x, -0.75)", "torch.full((2,), -0.75)", "a valid input"),
    ),
    ("silu_forward", "triton"): (
        ("one program too few", "triton.cdiv(x.numel(), BLOCK)", "max(x.numel() // BLOCK, 1)", BLOCKS),
        ("reads a transposed tensor as it lies", "x = x.contiguous()\n    y", "y", "every second column"),
        (
            "h in float16",
            "return tl.exp(-r) * tl.exp2(-n)",
            "return (tl.exp(-r) * tl.exp2(-n)).to(tl.float16)",
            ORDINARY,
        ),
        ("e^|x| overflows", "return tl.exp(-r) * tl.exp2(-n)", "return tl.exp(r) * tl.exp2(n)", ORDINARY),
        ("e^-|x| for its root in half precision", "-0.72134752", "-1.44269504", FP16),
        ("every program does the first block", "tl.program_id(0).to(tl.int64) * BLOCK + ", "", BLOCKS),
    ),
    ("silu_backward", "triton"): (
        ("reads dy by x's layout", "dy, x = dy.contiguous(), x.contiguous()", "x = x.contiguous()", "dy of stride 0"),
        (
            "copies dy where x has to be copied",
            "dy, x = dy.contiguous(), x.contiguous()",
            "dy, x = (dy, x) if x.is_contiguous() and 0 not in dy.stride() else (dy.contiguous(), x.contiguous())",
            "dy transposed",
        ),
        (
            "takes a small dy for 0",
            "return dy * slope",
            "return tl.where(tl.abs(dy) < 1e-6, 0.0, dy) * slope",
            "tiny dy",
        ),
        ("the sigmoid's derivative alone", "(1.0 + x * (other * other * r))", "(other * other * r)", ORDINARY),
        ("divides back", "return dy * slope * tail", "return dy * (slope * tail * x / x)", "exact zeros"),
        (
            "the 1 is lost in x",
            "(1.0 + x * (other * other * r))",
            "(1.0 + x - x * (1.0 - other * other * r))",
            "below powers of two",
        ),
        ("half a block", "tl.arange(0, BLOCK)", "tl.arange(0, BLOCK // 2)", ORDINARY),
    ),
    ("swiglu_forward", "triton"): (
        (
            "gate and up change places",
            "silu_of(gate, y_ptr.dtype.element_ty) * up",
            "silu_of(up, y_ptr.dtype.element_ty) * gate",
            ORDINARY,
        ),
        (
            "silu(gate) is rounded to a half",
            "silu_of(gate, y_ptr.dtype.element_ty) * up",
            "silu_of(gate, y_ptr.dtype.element_ty).to(y_ptr.dtype.element_ty) * up",
            FP16,
        ),
        (
            "the wrong mask value of up",
            "up_ptr + offsets, mask=mask, other=0.0)",
            "up_ptr + offsets + 1, mask=mask, other=0.0)",
            ORDINARY,
        ),
        (
            "forgets the strides of up",
            "gate, up = gate.contiguous(), up.contiguous()",
            "gate = gate.contiguous()",
            "transposed",
        ),
    ),
    ("swiglu_backward", "triton"): (
        ("dup without silu", "dup = part * gate * tail", "dup = dy * gate", ORDINARY),
        ("dgate without up", "part * up * slope", "part * slope", ORDINARY),
        ("the sigmoid's derivative alone", "1.0 + bounded * (other", "bounded * (other", ORDINARY),
        ("the root of a sigmoid", "part = dy * tail * r\n", "part = dy * r\n", ORDINARY),
        ("one output", "return dgate, dup", "return dgate", ORDINARY),
        ("forgets the strides of dy", "dy, gate, up = dy.contiguous(), gate", "gate, up = gate", "dy of stride 0"),
    ),
}
