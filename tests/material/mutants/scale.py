"""Quantizers and a product with scales, broken: (why, old, new, the case that must see it)."""

ORDINARY, ZEROS, DORMANT, UNDERFLOW = (
    "ordinary values",
    "a block of zeros",
    "a dormant expert",
    "a scale that underflows",
)
ANY, BORDER, ABOVE = "any largest value", "at 448 · 2^e, and one step above it", "just above 448 · 2^e"
SMALL, CODES = "blocks below 2^-119", "every code"
PADDED, GROUPS_32, GROUPS_96 = "scales in padded pages", "groups of 32", "groups of 96"
SAFE, SHORT = "torch.where(scale == 0, 1, scale)", "three blocks and a rest"
KERNELS_SAFE = "tl.where(scale == 0.0, 1.0, scale)"

MUTANTS = {
    ("quantize_blocks", "torch"): (
        ("has no guard", SAFE, "scale", ZEROS),
        ("asks the largest value", SAFE, "torch.where(v.abs().amax(-1) == 0, 1, scale)", UNDERFLOW),
        ("multiplies by the inverse", "v / safe[..., None]", "v * (1 / safe)[..., None]", DORMANT),
        ("takes 240 for the largest", "amax(-1) / 448", "amax(-1) / 240", ORDINARY),
        (
            "has one scale a row",
            "v.abs().amax(-1) / 448",
            "(v.abs().amax(-1) / 448).amax(1, True).expand(v.shape[:2])",
            SHORT,
        ),
        ("drops NaN", "v.abs().amax(-1)", "v.nan_to_num().abs().amax(-1)", "NaN"),
        ("takes the largest, not its size", "v.abs().amax(-1)", "v.amax(-1).abs()", SHORT),
        ("floors small scales", SAFE, "scale.clamp(min=1e-12)", DORMANT),
        ("rounds to bfloat16 first", "x.float()", "x.bfloat16().float()", ORDINARY),
    ),
    ("quantize_blocks", "triton"): (
        ("has no guard", KERNELS_SAFE, "scale", ZEROS),
        ("asks the largest value", KERNELS_SAFE, "tl.where(bits == 0, 1.0, scale)", UNDERFLOW),
        ("multiplies by the inverse", "x / safe[:, None]", "x * (1.0 / safe)[:, None]", DORMANT),
        (
            "drops NaN",
            "tl.max(x.to(tl.int32, bitcast=True) & 0x7FFFFFFF, axis=1)",
            "tl.max(tl.abs(x), axis=1).to(tl.int32, bitcast=True)",
            "NaN",
        ),
        ("has no mask for the last block", "& (cols < N)", "& (cols < N + 1)", SHORT),
        ("wraps offsets", "(row * N)[:, None]", "(row * BLOCK * per_row)[:, None]", SHORT),
        ("takes x for contiguous", "x = x.contiguous()\n", "x = x\n", "transposed"),
        ("counts blocks of 128 alone", "part * BLOCK", "part * 128", "blocks of 32"),
    ),
    ("quantize_mx", "torch"): (
        ("rounds to the nearest", "(fraction > 0.875)", "(fraction > 0.6187)", ANY),
        ("takes the standard's text", " + (fraction > 0.875)", "", ANY),
        ("is one step late", "fraction > 0.875", "fraction > 0.8750001", BORDER),
        ("is one step early", "fraction > 0.875", "fraction >= 0.875", BORDER),
        ("rounds the largest to bfloat16", "torch.frexp(amax)", "torch.frexp(amax.bfloat16().float())", ABOVE),
        ("has no least exponent", "clamp(min=-127)", "clamp(min=-126)", SMALL),
        ("has e = 0 for zeros", "torch.where(amax == 0, -127, ", "torch.where(amax == 0, 0, ", ZEROS),
        ("marks no NaN", "torch.where(amax.isnan(), 255, e + 127)", "(e + 127)", "NaN"),
        (
            "loses the sign of 0",
            "q.to(torch.float8_e4m3fn)",
            "(q.to(torch.float8_e4m3fn).float() + 0.0).to(torch.float8_e4m3fn)",
            CODES,
        ),
    ),
    ("quantize_mx", "triton"): (
        ("rounds down", "(bits + 0x1FFFFF)", "bits", ANY),
        ("is one step late", "0x1FFFFF", "0x1FFFFE", BORDER),
        ("is one step early", "0x1FFFFF", "0x200000", BORDER),
        ("has no least exponent", "- 8, 0)", "- 8, 1)", SMALL),
        ("marks no NaN", "tl.where(bits > 0x7F800000, 255, biased)", "biased", "NaN"),
        ("drops the last blocks", "i < total", "i < total - 1", "three rows of 13 blocks"),
        ("takes x for contiguous", "x = x.contiguous()\n", "x = x\n", "every second column"),
    ),
    ("scaled_matmul", "torch"): (
        ("forgets the scales of a", "a_scale.T[:, :, None] * ", "", ORDINARY),
        ("takes the first scale of b", "b_scale[:, None, :]", "b_scale[:1, None, :]", "three groups"),
        ("adds in int8", "left.transpose(0, 1) @ right", "(left.transpose(0, 1) @ right).to(torch.int8)", ORDINARY),
        (
            "adds in half precision",
            "left.transpose(0, 1) @ right",
            "(left.transpose(0, 1) @ right).bfloat16()",
            ORDINARY,
        ),
        (
            "takes strides from the shape",
            "(a_scale.T[:, :, None]",
            "(torch.as_strided(a_scale, a_scale.shape, (groups, 1)).T[:, :, None]",
            PADDED,
        ),
        (
            "interleaves the groups",
            "a.float().unflatten(1, (groups, -1))",
            "a.float().unflatten(1, (-1, groups)).mT",
            "three groups",
        ),
    ),
    ("scaled_matmul", "triton"): (
        ("has one scale a tile of 64", "min(group & -group, 128)", "min(64, K)", GROUPS_96),
        ("counts groups of 128", "g = (start // GROUP)", "g = (start // 128)", GROUPS_32),
        ("takes rows of scales for contiguous", "rows * a_scale_row", "rows * (K // GROUP)", PADDED),
        ("takes b for contiguous", "k[:, None] * b_row", "k[:, None] * N", "b transposed"),
        (
            "scales by one of both",
            "a_scale[:, None] * b_scale[None, :]",
            "a_scale[:, None] + 0 * b_scale[None, :]",
            ORDINARY,
        ),
        ("adds the last group alone", "total += sums", "total = sums", "three groups"),
        (
            "keeps the sum of the group before",
            "sums = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)\n        for",
            "sums = (0 * total).to(tl.int32) + start\n        for",
            "three groups",
        ),
    ),
}
