"""Layer norm, broken: (why, old, new, the case that must see it)."""

ORDINARY, CONSTANT, TINY, LARGE_EPS = "ordinary values", "constant rows", "variance far below eps", "eps = 0.1"
FAR, PADDED, LONG, FP16, BF16 = "large mean", "17 columns", "a row longer than a block", "float16", "bfloat16"
ROWS = "3 rows of 8193"
SQUARES, MIXED, BURN = "float16 values of 300", "bfloat16 with float32 weights", "an error of burn 0.3.0-0.13.2"
VARIANCE = "(d * d).mean(-1, keepdim=True)"
LOAD_X = "x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)"
Y = "y = d * rstd * weight + bias"
RSTD = "rstd = tl.rsqrt(tl.sum(d * d) / N + eps)"
AGAIN = LOAD_X.removeprefix("x = ")

MUTANTS = {
    ("layer_norm_forward", "torch"): (
        (
            "adds eps to the standard deviation",
            f"torch.rsqrt({VARIANCE} + eps)",
            f"1 / ({VARIANCE}.sqrt() + eps)",
            TINY,
        ),
        ("divides by N - 1", VARIANCE, "(d * d).sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)", "3 columns"),
        ("takes the variance in one pass", VARIANCE, "((v * v).mean(-1, keepdim=True) - mean * mean)", FAR),
        ("scales the bias", Y, "y = (d * rstd + bias) * weight", ORDINARY),
        ("has another default eps", "eps: float = 1e-5", "eps: float = 1e-6", TINY),
        ("ignores eps", "+ eps)", "+ 1e-5)", LARGE_EPS),
        ("normalises columns", "mean = v.mean(-1, keepdim=True)", "mean = v.mean(0, keepdim=True)", ORDINARY),
    ),
    ("layer_norm_backward", "torch"): (
        ("sums rounded numbers", "(dy * normal).sum(0)", "(dy * normal).to(x.dtype).sum(0)", FP16),
        (
            "takes a small dy for 0",
            "dy, rstd = dy.to(wide)",
            "dy, rstd = dy.where(dy.abs() > 1e-6, 0).to(wide)",
            "tiny dy",
        ),
        (
            "gives dweight the dtype of x",
            "(dy * normal).sum(0).to(weight.dtype)",
            "(dy * normal).sum(0).to(x.dtype)",
            MIXED,
        ),
        ("goes through the root of var", "* rstd  # x̂", "/ d.var(-1, correction=0, keepdim=True).sqrt()", CONSTANT),
    ),
    ("layer_norm_witness", "torch"): (
        ("has an ordinary variance", "0.0, 1e-4, -1e-4, 2e-4", "0.0, 1.0, -2.0, 3.0", BURN),
        ("holds a NaN", "0.0, 1e-4, -1e-4, 2e-4", "0.0, float('nan'), -1e-4, 2e-4", "a valid input"),
        ("is empty", "return x,", "return x[:0],", "an error of burn 0.3.0-0.13.2"),
        (
            "has a weight of another length",
            "torch.tensor([1.0, -0.5, 2.0, 0.75])",
            "torch.tensor([1.0, -0.5, 2.0])",
            "a valid input",
        ),
        ("is one vector", "return x,", "return x[0],", "a valid input"),
    ),
    ("layer_norm_forward", "triton"): (
        (
            "adds eps to the standard deviation",
            "tl.rsqrt(tl.sum(d * d) / N + eps)",
            "1.0 / (tl.sqrt(tl.sum(d * d) / N) + eps)",
            TINY,
        ),
        (
            "divides by the block",
            RSTD,
            RSTD.replace("N", "BLOCK"),
            PADDED,
        ),
        (
            "pads with the mean, rounded to the dtype of x",
            RSTD,
            f"d = tl.where(mask, d, mean.to(x_ptr.dtype.element_ty).to(tl.float32) - mean)\n    {RSTD}",
            "large mean, float16",
        ),
        (
            "pads with the mean, rounded to bfloat16",
            RSTD,
            f"d = tl.where(mask, d, mean.to(tl.bfloat16).to(tl.float32) - mean)\n    {RSTD}",
            "large mean, bfloat16",
        ),
        ("squares in the dtype of x", "tl.sum(d * d) / N", "tl.sum((d * d).to(x_ptr.dtype.element_ty)) / N", SQUARES),
        ("reads x twice", Y + "\n\n", f"y = ({AGAIN} - mean - rest) * rstd * weight + bias\n\n", "memory traffic"),
        ("has an eps of its own in long rows", "squares / N + eps", "squares / N + 1e-5", "3 rows of 8193, eps = 0.1"),
        ("keeps the mean of the first block", "rest += step * share", "rest += 0.0 * share", LONG),
        ("reads a transposed tensor as it lies", "    x = x.contiguous()\n", "", "transposed"),
        ("begins every long row at the first", "x_ptr += row * N\n    y", "y", ROWS),
        (
            "copies rows that fit in a block alone",
            "x = x.contiguous()",
            "x = x if x.shape[1] > BLOCK else x.contiguous()",
            "2 rows of 8193, every second column",
        ),
    ),
    ("layer_norm_backward", "triton"): (
        ("keeps only the last row of a group", "dbias += dy", "dbias = dy", "301 rows"),
        ("gives every program all its rows", "tl.minimum(M - first, rows).to(tl.int32)", "rows", "301 rows"),
        ("adds up the first partial sums only", "range(0, P, ROWS)", "range(0, ROWS, ROWS)", "80 rows"),
        ("forgets the third mean of a long row", "row * 3 + 2, means[2]", "row * 3 + 2, means[1]", LONG),
        (
            "leaves dweight unwritten for no rows",
            "return dx, dweight.zero_(), dbias.zero_()",
            "return dx, dweight, dbias",
            "no rows",
        ),
        (
            "forgets the strides of dy",
            "dy, x = dy.contiguous(), x.contiguous()",
            "x = x.contiguous()",
            "dy of stride 0",
        ),
        (
            "takes a row of stride 1 for contiguous",
            "dy, x = dy.contiguous(), ",
            "dy, x = dy if dy.stride(-1) == 1 else dy.contiguous(), ",
            "dy with gaps",
        ),
        (
            "rounds the partial sums",
            "torch.empty(groups, N, dtype=torch.float32",
            "torch.empty(groups, N, dtype=x.dtype",
            BF16,
        ),
    ),
}
