"""A decaying sum along time, broken: (why, old, new, the case that must see it)."""

ORDINARY, ROWS, COLUMNS, CARRIED = "ordinary values", "100 rows", "130 columns", "300 rows that hardly decay"
STEEP, OFTEN, RESET, LATER = "decays of -6", "decays of -100 and of 0", "a decay of -inf", "NaN in a later row of x"

MUTANTS = {
    ("decay_scan", "torch"): (
        (
            "takes every decay for its opposite",
            "log_decay.to(h.dtype).exp()",
            "(-log_decay.to(h.dtype)).exp()",
            ORDINARY,
        ),
        ("clamps decays at -5", "log_decay.to(h.dtype).exp()", "log_decay.to(h.dtype).clamp(min=-5).exp()", STEEP),
        ("has no window of more than 64 rows", "while step < len(h):", "while step < min(len(h), 64):", CARRIED),
        ("does not multiply the decays", "decay[step:] * decay[:-step]", "decay[step:]", ROWS),
        ("decays by the older window", "decay[step:] * h[:-step]", "decay[:-step] * h[:-step]", ORDINARY),
        ("adds the rows behind", "h[step:] + decay[step:] * h[:-step]", "h[step:] + decay[step:] * h[step:]", ORDINARY),
        ("multiplies a whole matrix by 0", "return h.to(", "h = h + 0 * x.float().sum(0)\n    return h.to(", LATER),
        ("sums in x's dtype", "torch.promote_types(x.dtype, torch.float32)", "x.dtype", "300 rows in bfloat16"),
        (
            "takes -inf for no decay",
            "log_decay.to(h.dtype).exp()",
            "log_decay.to(h.dtype).nan_to_num(neginf=0).exp()",
            RESET,
        ),
    ),
    ("decay_scan", "triton"): (
        ("carries nothing on", "h += decay * before[None, :]", "h += 0.0 * before[None, :]", CARRIED),
        ("carries on without decay", "h += decay * before[None, :]", "h += before[None, :]", ROWS),
        ("decays by the older window", "b * h + k", "a * h + k", ORDINARY),
        ("adds the decays up", "return a * b,", "return a + b,", ROWS),
        ("takes the first row on", "== CHUNK - 1", "== 0", CARRIED),
        ("has one block of columns", "grid = (triton.cdiv(D, BLOCK),)", "grid = (1,)", COLUMNS),
        (
            "takes x for contiguous",
            "t[:, None] * x_row + d[None, :] * x_col",
            "t[:, None] * D + d[None, :]",
            "x transposed",
        ),
        ("clamps decays at -5", "tl.exp(g)", "tl.exp(tl.maximum(g, -5.0))", STEEP),
        (
            "wraps offsets",
            "(start + tl.arange(0, CHUNK)).to(tl.int64)",
            "start + tl.arange(0, CHUNK)",
            "offsets beyond 2^31",
        ),
        (
            "rounds what it carries",
            "before = tl.sum(tl.where(last, h, 0.0), 0)",
            "before = tl.sum(tl.where(last, h, 0.0), 0).to(y_ptr.dtype.element_ty).to(tl.float32)",
            "300 rows in bfloat16",
        ),
    ),
}
