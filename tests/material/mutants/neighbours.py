"""Rotary embedding, Gumbel argmax, Gemma's norm and SiLU as a Function, broken: (why, old, new, the case that must see
it).
"""

ORDINARY, INTERLEAVED, NEGATIVE = "ordinary values", "interleaved", "negative positions"
PAST, FAR, HALF = "positions past 256, bfloat16", "positions from 65,536 on", "positions past 65,504, float16"
ONE, ZERO = "u = 1", "u = 0"
EQUAL, APART = "equal scores", "equal scores, far apart"
SMALL = "small weights in bfloat16"
ANGLE = "positions.double().unsqueeze(-1) * inv_freq.double()"

BETWEEN = """
        return silu_forward(x)

    @staticmethod
    def backward(ctx, dy):
        """

MUTANTS = {
    ("silu_function", "torch"): (
        ("saves the result", "ctx.save_for_backward(x)", "ctx.save_for_backward(silu_forward(x))", ORDINARY),
        ("leaves out what arrives", "silu_backward(dy, x)", "silu_backward(torch.ones_like(dy), x)", ORDINARY),
        (
            "takes one number for all",
            "silu_backward(dy, x)",
            "silu_backward(dy.flatten()[:1].expand_as(x), x)",
            ORDINARY,
        ),
        (
            "keeps x in the class",
            f"ctx.save_for_backward(x){BETWEEN}(x,) = ctx.saved_tensors",
            f"SiLU.last = x{BETWEEN}x = SiLU.last",
            ORDINARY,
        ),
        ("is not attached", "SiLU.apply(x)", "SiLU.apply(x.detach())", ORDINARY),
        ("gives float32", "return silu_backward(dy, x)", "return silu_backward(dy, x.sign())", ORDINARY),
    ),
    ("rotary_forward", "torch"): (
        ("has positions in the dtype of x", "positions.double()", "positions.to(x.dtype).double()", PAST),
        ("has positions in float16", "positions.double()", "positions.half().double()", HALF),
        ("multiplies in bfloat16", ANGLE, f"({ANGLE}).bfloat16().double()", FAR),
        ("rounds the frequencies", "* inv_freq.double()", "* inv_freq.bfloat16().double()", ORDINARY),
        (
            "computes its own frequencies",
            "* inv_freq.double()",
            "* 1e4 ** (-torch.arange(len(inv_freq)) / len(inv_freq))",
            "frequencies without a formula",
        ),
        (
            "counts positions",
            "positions.double()",
            "torch.arange(positions.shape[1]).expand(positions.shape).double()",
            NEGATIVE,
        ),
        (
            "takes the first sequence's positions",
            "positions.double()",
            "positions[:1].double()",
            "positions in any order",
        ),
        ("turns the other way", "direction * angle", "-direction * angle", ORDINARY),
        ("swaps the layouts", "v[..., 1::2]) if interleaved", "v[..., 1::2]) if not interleaved", ORDINARY),
        ("takes positions from 0", "positions.double()", "positions.clamp(min=0).double()", NEGATIVE),
    ),
    ("rotary_backward", "torch"): (
        ("turns onward", "interleaved, -1)", "interleaved, 1)", ORDINARY),
        ("does not turn", "interleaved, -1)", "interleaved, 0)", ORDINARY),
        ("forgets the layout", "inv_freq, interleaved, -1)", "inv_freq, False, -1)", INTERLEAVED),
    ),
    ("rotary_forward", "triton"): (
        (
            "has the angle in float32, rounded twice more",
            "cos_sin(angle * 0.15915494309189535)",
            "cos_sin((angle.to(tl.float32) * 0.15915494).to(tl.bfloat16).to(tl.float64))",
            ORDINARY,
        ),
        (
            "skips what is negative",
            "mask = pairs, pairs + HALF, (heads < H) & (pairs < HALF)",
            "mask = pairs, pairs + HALF, (heads < H) & (pairs < HALF) & (position >= 0)",
            NEGATIVE,
        ),
        (
            "takes the position of the first sequence",
            "tl.load(positions_ptr + token)",
            "tl.load(positions_ptr + m)",
            "positions in any order",
        ),
        ("has no mask for heads", "(heads < H) & (pairs < HALF)", "(heads < H + 1) & (pairs < HALF)", "3 pairs"),
        (
            "has no mask for pairs",
            "(heads < H) & (cols < 2 * HALF)",
            "(heads < H) & (cols < 2 * BLOCK)",
            "3 pairs, interleaved",
        ),
        (
            "takes the layout for contiguous",
            "heads.to(tl.int64) * stride_h",
            "heads.to(tl.int64) * M * HALF * 2",
            "heads before tokens in memory",
        ),
        ("takes pairs for neighbours", "cols.to(tl.int64) * stride_d", "cols.to(tl.int64)", "every second number"),
        (
            "takes numbers for neighbours",
            "first.to(tl.int64) * stride_d",
            "first.to(tl.int64)",
            "every second of halves",
        ),
        ("forgets the sign of a half turn", "1.0 - 2.0 * tl.abs(n)", "1.0", ORDINARY),
        ("exchanges the halves", "tl.store(y_row + first,", "tl.store(y_row + pairs + 1,", ORDINARY),
        ("wraps offsets", "b * stride_b", "b.to(tl.int32) * stride_b", "offsets beyond 2^31"),
    ),
    ("rotary_backward", "triton"): (
        ("turns onward", "interleaved, -1)", "interleaved, 1)", ORDINARY),
        ("forgets the layout", "inv_freq, interleaved, -1)", "inv_freq, False, -1)", INTERLEAVED),
    ),
    ("gumbel_argmax", "torch"): (
        ("has no clamp at u = 1", "exponential.clamp(min=GRID).log()", "exponential.log()", ONE),
        ("clamps at the smallest float", "exponential.clamp(min=GRID)", "exponential.clamp(min=1.2e-38)", ONE),
        ("clamps at 2^-24", "exponential.clamp(min=GRID)", "exponential.clamp(min=2.0**-24)", ONE),
        ("has no clamp at u = 0", "u.clamp(min=GRID)", "u", ZERO),
        ("clamps u at the smallest float", "u.clamp(min=GRID)", "u.clamp(min=1.2e-38)", ZERO),
        ("takes the last of equals", "score.argmax(1)", "(logits.shape[1] - 1 - score.flip(1).argmax(1))", EQUAL),
        ("adds in half precision", "logits - exponential", "logits - exponential.to(logits.dtype)", "bfloat16"),
    ),
    ("gumbel_argmax", "triton"): (
        (
            "gives the index in the block",
            "tl.where(score == top, cols, V)",
            "tl.where(score == top, cols - start, V)",
            APART,
        ),
        (
            "takes the last of equals",
            "tl.min(tl.where(score == top, cols, V))",
            "tl.max(tl.where(score == top, cols, -1))",
            EQUAL,
        ),
        (
            "begins at -50,000",
            'best, index = float("-inf"), -1',
            "best, index = -5e4, -1",
            "the smallest float as a mask",
        ),
        ("begins at 0", 'best, index = float("-inf"), -1', "best, index = 0.0, -1", "logits around -9000"),
        ("pads with zeros", 'other=float("-inf")', "other=0.0", "17 classes"),
    ),
    ("gemma_norm", "torch"): (
        ("adds in the dtype of weight", "(1 + weight.to(wide))", "(1 + weight)", SMALL),
        ("forgets 1", "(1 + weight.to(wide))", "weight.to(wide)", ORDINARY),
    ),
    ("gemma_norm", "triton"): (
        (
            "adds in the dtype of weight",
            "mask=mask, other=0.0).to(tl.float32)\n\n    rstd",
            "mask=mask, other=0.0)\n\n    rstd",
            SMALL,
        ),
        ("forgets 1", "(1.0 + weight)", "weight", ORDINARY),
        ("divides by the block", "/ N + eps", "/ BLOCK + eps", "3 columns"),
    ),
}
