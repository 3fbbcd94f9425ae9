"""The matrix product, broken: (why, old, new, the case that must see it)."""

ORDINARY, TILES, ONES = "ordinary values", "several tiles", "20,000 ones"
BEYOND = "offsets beyond 2^31"
TOTAL = "total = tl.dot(a, b, total, input_precision="
NARROW = "total = tl.dot(a, b, total.to(a_ptr.dtype.element_ty).to(tl.float32), input_precision="

MUTANTS = {
    ("matmul", "triton"): (
        (
            "leaves out the last tile of K",
            "range(0, depth, TILE_K)",
            "range(0, depth // TILE_K * TILE_K, TILE_K)",
            TILES,
        ),
        (
            "reads a as if it were contiguous",
            "rows * a_row + k[None, :] * a_col",
            "rows * depth + k[None, :]",
            "a transposed",
        ),
        (
            "reads b as if it were contiguous",
            "k[:, None] * b_row + cols * b_col",
            "k[:, None] * N + cols",
            "b transposed",
        ),
        ("one program in each direction", "triton.cdiv(N, block_n))", "1)", TILES),
        ("rows are 32-bit", "(tl.program_id(0).to(tl.int64) * BLOCK_M", "(tl.program_id(0) * BLOCK_M", BEYOND),
        (
            "k is 32-bit",
            "(start + tl.arange(0, TILE_K)).to(tl.int64)",
            "start + tl.arange(0, TILE_K)",
            f"{BEYOND}, in b",
        ),
        ("multiplies in TF32", ', input_precision="ieee"', "", ORDINARY),
        ("accumulates in the dtype of a", TOTAL, NARROW, ONES),
        ("nothing is written where K is 0", "if M and N:", "if M and N and K:", "K is 0"),
    ),
}
