"""The first chapter's answers, broken: (why, old, new, the case that must see it)."""

ORDINARY, BOTH_SIDES = "ordinary values", "on both sides of zero"
FP16, BLOCKS, LONG = "every float16 value", "odd shape, several blocks", "longer than a block"
DISTANCE, NAN = "place(actual) - place(expected)", "actual.isnan() | expected.isnan()"
LOAD = "tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)"
ADD, NARROW = f"total += {LOAD}", f"total = (total + {LOAD}).to(x_ptr.dtype.element_ty)"

MUTANTS = {
    ("ulp_distance", "torch"): (
        ("-0 and 0 are 1 apart", "torch.iinfo(integer).min - bits", "torch.iinfo(integer).min - bits - 1", BOTH_SIDES),
        ("NaN is as far as its pattern", NAN, "actual.isnan() & ~actual.isnan()", "NaN"),
        ("counts float16 in float32", DISTANCE, "place(actual.float()) - place(expected.float())", FP16),
        ("never more than 100", ".abs()", ".abs().clamp(max=100)", ORDINARY),
    ),
    ("axpy", "triton"): (
        ("one program too few", "triton.cdiv(x.numel(), BLOCK)", "max(x.numel() // BLOCK, 1)", BLOCKS),
        ("every program does the first block", "tl.program_id(0).to(tl.int64) * BLOCK + ", "", BLOCKS),
        ("forgets the strides of y", "x, y = x.contiguous(), y.contiguous()", "x = x.contiguous()", "transposed"),
        ("a is a constant", "float(a), x, y", "2.5, x, y", BLOCKS),
        ("computes in the dtype of x", "out = a * x + y", "out = ((a * x).to(out_ptr.dtype.element_ty) + y)", FP16),
    ),
    ("row_sum", "triton"): (
        ("the first block only", "range(0, N, BLOCK_N)", "range(0, min(N, BLOCK_N), BLOCK_N)", LONG),
        ("pads with ones", "other=0.0", "other=1.0", ORDINARY),
        ("leaves out the last block", "range(0, N, BLOCK_N)", "range(0, N // BLOCK_N * BLOCK_N, BLOCK_N)", ORDINARY),
        ("accumulates in the dtype of x", ADD, NARROW, "many ones"),
        ("reads a transposed matrix as it lies", "    x = x.contiguous()\n", "", "transposed"),
        (
            "copies rows that fit in a block alone",
            "x = x.contiguous()",
            "x = x if N > 1024 else x.contiguous()",
            "longer than a block, transposed",
        ),
        ("rows of none are left unwritten", "    if M:\n", "    if M and N:\n", "no columns"),
    ),
}
