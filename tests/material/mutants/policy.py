"""Factors of micro-batches, group advantages, the policy loss, broken: (why, old, new, the case that must see it)."""

ORDINARY, UNSCORED, FEW = "ordinary values", "some unscored", "few scored"
SOME, GARBAGE = "some tokens count", "NaN and infinity where nothing counts"
FALSY, ZERO, OVERFLOW, FAR = "count = 0 and tokens", "advantage 0", "the ratio overflows", "far from the old policy"

MUTANTS = {
    ("accumulation_weights", "torch"): (
        ("divides 0 by 0", "tokens.sum().clamp(min=1)", "tokens.sum()", "no token"),
        ("multiplies by the micro-batches", "tokens.shape[0]", "tokens.shape[1]", "one micro-batch a rank"),
        ("counts in int32", "tokens.sum()", "tokens.int().sum(dtype=torch.int32)", "counts near a billion"),
        ("takes the total of a rank", "tokens.sum()", "tokens.sum(1, keepdim=True)", "ranks of unlike sizes"),
    ),
    ("group_advantage", "torch"): (
        ("compares nothing", ".where(largest > smallest, 0)", "", FEW),
        ("divides by n", "(n - 1)).sqrt()", "n).sqrt()", ORDINARY),
        ("counts what is not scored", "scored.sum(1, keepdim=True)", "rewards.shape[1]", UNSCORED),
        ("has eps under the root", "(n - 1)).sqrt()", "(n - 1) + eps).sqrt()", "rewards of a millionth"),
        (
            "returns zeros as they came",
            ".where(largest > smallest, 0)",
            ".where(largest > smallest, 0) if rewards.any() else rewards",
            "nothing but zeros",
        ),
    ),
    ("group_advantage", "triton"): (
        ("pads with zeros", 'other=float("nan")', "other=0.0", "3 samples a group"),
        ("divides by n", "/ (n - 1.0)", "/ n", ORDINARY),
        ("divides by the whole group", "tl.sum(scored.to(tl.float32))", "G * 1.0", UNSCORED),
        ("compares nothing", "tl.where(largest > smallest, d / (std + eps), 0.0)", "d / (std + eps)", FEW),
    ),
    ("policy_loss_forward", "torch"): (
        ("takes a count of 0 for none", "if count is None else", "if not count else", FALSY),
        ("multiplies by the mask", "-terms.where(mask, 0).sum()", "-(terms * mask).sum() + 0 * logp.sum()", GARBAGE),
        ("has one clip for both signs", "torch.where(A > 0, 1 + clip, 1 - clip)", "1 + clip + 0 * A", FAR),
        ("ignores clip", "mask, clip)\n    terms", "mask, 0.2)\n    terms", "clip = 0.5"),
        ("subtracts in half precision", "logp.to(wide) - old.to(wide)", "(logp - old).to(wide)", "bfloat16"),
    ),
    ("policy_loss_backward", "torch"): (
        ("never clips", "mask & ~beyond", "mask", FAR),
        ("leaves the ends out", "mask & ~beyond", "mask & ~beyond & ((ratio != 1) | (clip > 0))", "clip = 0"),
        ("has inf · 0", "slope.where(mask & ~beyond, 0)", "slope * (mask & ~beyond)", OVERFLOW),
        ("has the other sign", "over_count(-dloss", "over_count(dloss", ORDINARY),
        ("divides by all tokens", "over_count(-dloss, mask, count)", "over_count(-dloss, mask | True, count)", SOME),
    ),
    ("policy_loss_forward", "triton"): (
        ("adds what is beyond the sample", "cols < N, other=0) != 0", "cols < N, other=1) != 0", "17 tokens a sample"),
        ("drops the sign", "-tl.sum(terms)", "tl.sum(terms)", ORDINARY),
        (
            "writes partial sums in one place",
            "+ tl.program_id(1)\n    tl.store",
            "\n    tl.store",
            "8193 tokens a sample",
        ),
        ("has 0 · inf", "tl.where(A == 0.0, 0.0, logp - old)", "logp - old", ZERO),
    ),
    ("policy_loss_backward", "triton"): (
        ("never clips", "keep & ~beyond", "keep", FAR),
        ("leaves what is masked unwritten", "mask=cols < N)", "mask=keep)", SOME),
        ("divides by all tokens", "share(items_ptr) * A", "A / (N * tl.num_programs(0))", SOME),
    ),
}
