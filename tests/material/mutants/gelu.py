"""GELU, broken: (why, old, new, the case that must see it)."""

ORDINARY, FP16 = "ordinary values", "every float16 value"
BLOCKS, EDGES = "odd shape, several blocks", "infinity and NaN"
TANH = "tanh: ordinary values"
LOAD_X = "tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)"

MUTANTS = {
    ("gelu_forward", "torch"): (
        ("ten times the cubic term", "b = 0.044715 * a", "b = 0.44715 * a", TANH),
        ("sqrt(2) / pi", "a = 2 * math.sqrt(2 / math.pi)", "a = 2 * math.sqrt(2) / math.pi", TANH),
        ("always the normal distribution", 'approximate == "none":', 'approximate in ("none", "tanh"):', TANH),
        ("NaN becomes 0", "v.clamp(min=-40)", "v.nan_to_num().clamp(min=-40)", EDGES),
        ("the right side mirrored to the left", "v * share * h * h, v", "v * (1 - share * h * h), v", ORDINARY),
    ),
    ("gelu_backward", "torch"): (
        ("leaves out x · F'(x)", "(share - bend)", "share", ORDINARY),
        ("the sign of the density", "(share - bend)", "(share + bend)", ORDINARY),
        ("always the normal distribution", "clamp(max=40), approximate)", 'clamp(max=40), "none")', TANH),
        ("cut off at 2", "clamp(max=40)", "clamp(max=2)", ORDINARY),
    ),
    ("gelu_witness", "torch"): (
        ("too small to see the cubic", "-2.0, -1.0, 1.0, 2.0", "1e-5, -1e-5", "an error of tanh-GELU with 0.44715"),
        ("too large: tanh is 1", "-2.0, -1.0, 1.0, 2.0", "10.0, 20.0", "an error of tanh-GELU with 0.44715"),
        ("infinity is no witness", "-2.0, -1.0", "float('inf'), 1.0", "a valid input"),
        ("the erf form has no such constant", '2.0]), "tanh"', '2.0]), "none"', "a valid input"),
        ("an empty tensor", "[-2.0, -1.0, 1.0, 2.0]", "[]", "an error of tanh-GELU with 0.44715"),
    ),
    ("gelu_forward", "triton"): (
        ("one program too few", "triton.cdiv(x.numel(), BLOCK)", "max(x.numel() // BLOCK, 1)", BLOCKS),
        ("computes in the dtype of x", LOAD_X, LOAD_X.replace("tl.float32", "x_ptr.dtype.element_ty"), FP16),
        ("ten times the cubic term", "1.595703125 + 0.0712890625", "1.595703125 + 0.712890625", TANH),
        ("ten times the same in half precision", "0.0514716035", "0.514716035", f"tanh: {FP16}"),
        ("a wrong digit in half precision", "0.124836951", "0.134836951", FP16),
        ("always the normal distribution", "TANH=tanh", "TANH=False", TANH),
        ("always tanh", "TANH=tanh", "TANH=True", ORDINARY),
        ("e^-w without its second part", "+ (low + n * 4.24388880e-4)", "+ n * 4.24388880e-4", ORDINARY),
    ),
    ("gelu_backward", "triton"): (
        ("reads dy by x's layout", "dy, x, tanh = dy.contiguous(), x", "x, tanh = x", "dy of stride 0"),
        ("always the normal distribution", "TANH=tanh", "TANH=False", TANH),
        ("cut off at 2", "tl.where(tl.abs(x) > 16.0, 16.0,", "tl.where(tl.abs(x) > 2.0, 2.0,", ORDINARY),
        ("NaN becomes 16", "tl.where(tl.abs(x) > 16.0, 16.0, tl.abs(x))", "tl.minimum(tl.abs(x), 16.0)", EDGES),
    ),
}
