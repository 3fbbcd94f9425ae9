"""RMS norm, broken: (why, old, new, the case that must see it)."""

ORDINARY, TINY, LARGE_EPS, PADDED = "ordinary values", "variance far below eps", "eps = 0.1", "17 columns"
LONG, FP16, SQUARES = "a row longer than a block", "float16", "float16 values of 300"
MEAN = "(v * v).mean(-1, keepdim=True)"
LOAD_X = "x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)"

MUTANTS = {
    ("rms_norm_forward", "torch"): (
        ("adds eps outside the root", f"torch.rsqrt({MEAN} + eps * scale * scale)", f"1 / ({MEAN}.sqrt() + eps)", TINY),
        ("subtracts the mean", "v = v * scale", "v = (v - v.mean(-1, keepdim=True)) * scale", "large mean"),
        ("has layer norm's eps", "eps: float = 1e-6", "eps: float = 1e-5", TINY),
        ("ignores eps", "eps * scale * scale", "1e-6 * scale * scale", LARGE_EPS),
        (
            "scales every row, and not eps",
            "eps * scale * scale",
            "eps * v.abs().amax(-1, keepdim=True) ** 2",
            "one outlier",
        ),
        ("rounds before the weight", "(v * rstd * weight)", "((v * rstd).to(x.dtype) * weight)", FP16),
    ),
    ("rms_norm_backward", "torch"): (
        ("forgets the mean", " - normal * (g * normal).mean(-1, keepdim=True)", "", ORDINARY),
        ("has layer norm's gradient", "(g - normal *", "(g - g.mean(-1, keepdim=True) - normal *", ORDINARY),
        ("sums rounded numbers", "(dy * normal).sum(0)", "(dy * normal).to(x.dtype).sum(0)", FP16),
        ("gives dweight the dtype of x", ".to(weight.dtype)", ".to(x.dtype)", "bfloat16 with float32 weights"),
    ),
    ("rms_norm_forward", "triton"): (
        ("divides by the block", "tl.sum(x * x) / N", "tl.sum(x * x) / BLOCK", PADDED),
        (
            "adds eps outside the root",
            "tl.rsqrt(tl.sum(x * x) / N + eps * scale * scale)",
            "1.0 / (tl.sqrt(tl.sum(x * x) / N) + eps)",
            TINY,
        ),
        ("squares in the dtype of x", "tl.sum(x * x) / N", "tl.sum((x * x).to(x_ptr.dtype.element_ty)) / N", SQUARES),
        (
            "reads x twice",
            "y = x * rstd * weight\n\n",
            "y = " + LOAD_X.removeprefix("x = ") + " * scale * rstd * weight\n\n",
            "memory traffic",
        ),
        (
            "has an eps of its own in long rows",
            "squares_down, squares)) / N + eps",
            "squares_down, squares)) / N + 1e-6",
            "3 rows of 8193, eps = 0.1",
        ),
        ("keeps the last block of a long row", "squares += x * x", "squares = x * x", LONG),
        ("reads a transposed tensor as it lies", "    x = x.contiguous()\n", "", "transposed"),
    ),
    ("rms_norm_backward", "triton"): (
        ("divides by the block", "tl.sum(g * normal) / N", "tl.sum(g * normal) / BLOCK", PADDED),
        ("keeps only the last row of a group", "dweight += dy * normal", "dweight = dy * normal", "301 rows"),
        ("gives every program all its rows", "tl.minimum(M - first, rows).to(tl.int32)", "rows", "301 rows"),
        ("keeps the last block of a long row", "total += g", "total = g", LONG),
        (
            "forgets the strides of dy",
            "dy, x = dy.contiguous(), x",
            "x = x",
            "dy of stride 0",
        ),
        (
            "copies the dy of rows that fit in a block alone",
            "dy, x = dy.contiguous(), ",
            "dy, x = dy if dy.shape[1] > WHOLE else dy.contiguous(), ",
            "2 rows of 8193, dy in every second column",
        ),
    ),
}
