"""The entropy of a softmax, broken: (why, old, new, the case that must see it)."""

ORDINARY, MASKED, NOTHING, NAN = "ordinary values", "masked classes", "a row of -inf", "NaN in one row"
LONG = "3 rows of 8193, every second column"
FAR, SLOPES, BLOCK = "logits around 9000", "rising and falling", "a first block of -inf"

MUTANTS = {
    ("entropy_forward", "torch"): (
        ("0 · -inf", "e * d.masked_fill(d == -torch.inf, 0)", "e * d", MASKED),
        ("-inf - -inf", "    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN\n", "", NOTHING),
        ("0 / 0", "(total.log() - mean).masked_fill(total == 0, 0)", "total.log() - mean", NOTHING),
        ("hides NaN", ".masked_fill(total == 0, 0)", ".nan_to_num(0)", NAN),
        ("subtracts nothing", "d = z - top", "d, top = z, top * 0", FAR),
        ("does not divide", ".sum(1) / total ", ".sum(1) ", ORDINARY),
        (
            "computes in the dtype of logits",
            "torch.promote_types(logits.dtype, torch.float32)",
            "logits.dtype",
            "float16",
        ),
        ("lse without the maximum", "top.squeeze(1) + total.log()", "total.log()", ORDINARY),
    ),
    ("entropy_backward", "torch"): (
        ("0 · -inf", "dlogits.masked_fill(logits == -torch.inf, 0)", "dlogits", MASKED),
        ("hides NaN", "dlogits.masked_fill(logits == -torch.inf, 0)", "dlogits.nan_to_num(0)", NAN),
        ("forgets H", "(log_p + entropy.unsqueeze(1))", "log_p", ORDINARY),
        ("forgets p", " * log_p.exp()", "", ORDINARY),
        ("has the other sign", "-dentropy.unsqueeze(1)", "dentropy.unsqueeze(1)", ORDINARY),
        ("takes a small p for 0", "logits == -torch.inf, 0", "log_p < -9, 0", "20011 classes"),
    ),
    ("entropy_forward", "triton"): (
        ("0 · -inf", 'tl.where(d == float("-inf"), 0.0, d)', "d", MASKED),
        ("-inf - -inf", 'tl.where(new_top == float("-inf"), 0.0, new_top)', "new_top", BLOCK),
        ("-inf · 0", 'tl.where(top == float("-inf"), 0.0, top - shift)', "top - shift", BLOCK),
        ("0 / 0", "tl.where(total == 0.0, 0.0, entropy)", "entropy", NOTHING),
        ("leaves each d as it was", "(weighted + step * total)", "weighted", SLOPES),
        ("does not bring the sum to the new maximum", "total = total * tl.exp(step)", "total = total", SLOPES),
        ("takes the maximum of the last block", "tl.maximum(top, tl.max(z))", "tl.max(z)", LONG),
        ("starts at 0", 'top = float("-inf")  #', "top = 0.0  #", LONG),
        ("pads the row with zeros", 'other=float("-inf"))', "other=0.0)", "17 classes"),
    ),
    ("entropy_backward", "triton"): (
        ("0 · -inf", 'tl.where(z == float("-inf"), 0.0, dlogits)', "dlogits", MASKED),
        ("forgets H", "(log_p + entropy)", "log_p", ORDINARY),
        (
            "takes dentropy to be contiguous",
            "dentropy, logits = dentropy.contiguous(), ",
            "logits = ",
            "dentropy of stride 0",
        ),
        ("does one block of a row", "triton.cdiv(V, block)", "1", "20011 classes"),
    ),
}
