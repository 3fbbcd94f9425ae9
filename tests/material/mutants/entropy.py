"""The entropy of a softmax, broken: (why, old, new, the case that must see it)."""

ORDINARY, MASKED, NOTHING, NAN = "ordinary values", "masked classes", "a row of -inf", "NaN in one row"
LONG = "3 rows of 8193, every second column"
FAR, BLOCK = "logits around 9000", "a first block of -inf"

MUTANTS = {
    ("entropy_forward", "torch"): (
        ("0 · -inf", "e * d.masked_fill(d == -torch.inf, 0)", "e * d", MASKED),
        ("-inf - -inf", "    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN\n", "", NOTHING),
        ("hides NaN", ".masked_fill(total == 0, 0)", ".nan_to_num(0)", NAN),
        ("subtracts nothing", "d = z - top", "d, top = z, top * 0", FAR),
    ),
    ("entropy_backward", "torch"): (
        ("0 · -inf", "dlogits.masked_fill(logits == -torch.inf, 0)", "dlogits", MASKED),
        ("hides NaN", "dlogits.masked_fill(logits == -torch.inf, 0)", "dlogits.nan_to_num(0)", NAN),
        ("forgets H", "(log_p + entropy.unsqueeze(1))", "log_p", ORDINARY),
        ("takes a small p for 0", "logits == -torch.inf, 0", "log_p < -9, 0", "20011 classes"),
    ),
    ("entropy_forward", "triton"): (
        ("0 · -inf", "e * tl.maximum(d, FAR)", "e * d", MASKED),
        ("-inf - -inf", "-3.4028234663852886e38", 'float("-inf")', BLOCK),
        ("starts at 0", "-3.4028234663852886e38", "0.0", LONG),
        ("pads the row with zeros", 'lanes < end), other=float("-inf"))', "lanes < end), other=0.0)", "17 classes"),
        ("begins where its block does", "(lanes >= begin) & ", "", "17 classes"),
        ("leaves out the rest", "range(whole, end, LANES)", "range(whole, whole, LANES)", "20011 classes"),
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
