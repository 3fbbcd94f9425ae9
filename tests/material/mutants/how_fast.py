"""Costs of a tiled product, the norm of a sum, broken: (why, old, new, the case that must see it)."""

ORDINARY, WHOLE = "ordinary values", "whole tiles"
SMALL = "variance far below eps"

MUTANTS = {
    ("product_cost", "torch"): (
        ("rounds down", "-(-m // block_m), -(-n // block_n)", "m // block_m, n // block_n", "less than a tile"),
        ("counts a tile too many", "-(-m // block_m)", "m // block_m + 1", WHOLE),
        (
            "mixes the blocks up",
            "-(-m // block_m), -(-n // block_n)",
            "-(-m // block_n), -(-n // block_m)",
            "tall blocks",
        ),
        ("reads each matrix once", "m * k * columns + k * n * rows", "m * k + k * n", ORDINARY),
        ("pads the last tile", "m * k * columns", "rows * block_m * k * columns", ORDINARY),
        ("counts in float64", "2 * m * n * k", "(2.0 * m.double() * n * k).long()", "sizes near 300,000"),
        ("counts in int32", "sizes.unbind(1)", "sizes.int().unbind(1)", "sizes near 300,000"),
        ("knows elements of two bytes only", "element_bytes * moved", "2 * moved", "float32"),
    ),
    ("programs_at_once", "torch"): (
        ("rounds no registers up", "(-(-registers // 8) * 8)", "registers", "registers run out"),
        ("forgets what each program takes", "(shared + 1024)", "shared.clamp(min=1)", "memory runs out"),
        ("forgets the warps", "torch.minimum(64 // warps, by_registers)", "by_registers", "few registers"),
        ("knows no most", "least.clamp(max=32)", "least", "one warp"),
        ("lets spills run", "torch.where(spilled > 0, 0, least.clamp(max=32))", "least.clamp(max=32)", "spills"),
    ),
    ("add_rms_norm", "triton"): (
        (
            "has eps outside the root",
            "tl.rsqrt(tl.sum(total * total) / N + eps)",
            "tl.rsqrt(tl.sum(total * total) / N) + eps",
            SMALL,
        ),
        ("divides by the block", "tl.sum(total * total) / N", "tl.sum(total * total) / BLOCK", "1000 columns"),
        (
            "squares the last block only",
            "squares += total * total",
            "squares = total * total",
            "a row longer than a block",
        ),
        (
            "rounds before the weight",
            "(total * rstd * weight).to(y_ptr.dtype.element_ty), mask=mask)",
            "((total * rstd).to(y_ptr.dtype.element_ty) * weight).to(y_ptr.dtype.element_ty), mask=mask)",
            "many rows, bfloat16",
        ),
        ("reads twice", "N > BLOCK:", "N > BLOCK // 8:", "memory traffic"),
    ),
}
