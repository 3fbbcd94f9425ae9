"""The weights of experts and the sum of their rows, broken: (why, old, new, the case that must see it)."""

ORDINARY, ABSENT, SATURATED = "ordinary values", "places without an expert", "logits from 5 to 40"
ZERO, CHOSEN = "σ zero, -200", "NaN in one chosen logit"
ENDS, NO_NAN = "experts 0 and 15, and places without one", "places without a row, and no NaN"
UNUSED, WORKSPACE, NAN_WEIGHTS = "places without a row", "no slot is 0, none the last", "weights of NaN without a row"

MUTANTS = {
    ("expert_weights_forward", "torch"): (
        ("takes nothing away from the exponent", "(below - below.amax(1, keepdim=True))", "below", ZERO),
        ("ignores scale", "scale * (sigma", "(sigma", "scale = 2.5"),
        ("has a softmax of x", " / (1 + (-x.abs()).exp())", "", ORDINARY),
        ("leaves 0 / 0", "return weights.masked_fill(~there, 0)", "return weights", ABSENT),
        ("takes -2 for -1", "(experts < 0)", "(experts < -2)", "-2 among the numbers of experts"),
    ),
    ("expert_weights_backward", "torch"): (
        ("takes 1 - σ", "(-x).sigmoid()", "1 - x.sigmoid()", SATURATED),
        ("forgets scale", " / scale)", ")", "scale = 2.5"),
        ("has a softmax's gradient", "slope * (-x).sigmoid()", "slope", ORDINARY),
        (
            "multiplies NaN by 0",
            "weights.masked_fill(~there, 0), dweights.masked_fill(~there, 0)",
            "weights * there, dweights * there",
            "NaN at places without an expert",
        ),
        ("stores the 0 of an absent place over a gradient", "scatter_add", "scatter", ENDS),
    ),
    ("expert_weights_forward", "triton"): (
        ("takes nothing away from the exponent", "below - tl.max(below, 1)[:, None]", "below", ZERO),
        (
            "counts a place without an expert",
            "tl.where(there, tl.minimum(x, 0.0), -3.4028234663852886e38)",
            "tl.minimum(x, 0.0)",
            ABSENT,
        ),
        ("has one stride for all logits", "expert * stride_e, mask=there", "expert, mask=there", "logits transposed"),
        ("drops NaN", "tl.exp(-tl.abs(x))", "tl.exp(tl.minimum(x, 0.0) - tl.maximum(x, 0.0))", CHOSEN),
        (
            "looks at one token for bad experts",
            "tl.where(bad, at, T * k)",
            "tl.where(bad & (tokens == 0), at, T * k)",
            "-2 among the numbers of experts",
        ),
    ),
    ("expert_weights_backward", "triton"): (
        ("takes 1 - σ", "tl.where(x > 0.0, e, 1.0) / (1.0 + e)", "1.0 - 1.0 / (1.0 + tl.exp(-x))", SATURATED),
        ("leaves the rest unwritten", "torch.zeros(T, E", "torch.empty(T, E", ORDINARY),
        ("takes dweights to be contiguous", "*dweights.stride(),", "k, 1,", "dweights of stride 0"),
        ("forgets the sum", "dw - tl.sum(w * dw, 1)[:, None] / scale", "dw", ORDINARY),
    ),
    ("moe_sum_forward", "torch"): (
        ("forgets the last place", "range(slots.shape[1])", "range(slots.shape[1] - 1)", ORDINARY),
        ("takes -1 for a row", "(slots[:, j] != -1).nonzero()", "(slots[:, j] < 1e9).nonzero()", UNUSED),
        (
            "takes -1 for the first row",
            "tokens = (slots[:, j] != -1)",
            "slots = slots.clamp(min=0)\n        tokens = (slots[:, j] != -1)",
            NO_NAN,
        ),
        ("sums in the dtype of rows", "dtype=weights.dtype", "dtype=rows.dtype", "float16"),
        ("forgets the weight", "weights[tokens, j : j + 1] * rows[at]", "rows[at]", ORDINARY),
    ),
    ("moe_sum_backward", "torch"): (
        ("leaves drows as it was", "torch.zeros_like(rows)", "rows.clone()", UNUSED),
        ("forgets the weight", "weights[tokens, j : j + 1] * upstream", "upstream", ORDINARY),
        ("leaves dweights as it was", "torch.zeros_like(weights)", "weights.clone()", UNUSED),
        ("multiplies in half precision", "(upstream * rows[at]).sum(1)", "(dy[tokens] * rows[at]).sum(1)", "float16"),
    ),
    ("moe_sum_forward", "triton"): (
        (
            "has too few blocks",
            "triton.cdiv(D, block))](\n            rows, w",
            "D // block)](\n            rows, w",
            "1000 columns",
        ),
        ("reads the rows of -1", "there[:, None] & (cols < D)[None, :]", "(cols < D)[None, :]", UNUSED),
        ("reads 8 rows of a token", "range(0, k, PLACES)", "range(0, PLACES, PLACES)", "17 rows a token"),
        (
            "reads weights of -1",
            "mask=slot >= 0, other=0.0)\n        row",
            "mask=place < k, other=0.0)\n        row",
            NAN_WEIGHTS,
        ),
    ),
    ("moe_sum_backward", "triton"): (
        ("leaves drows unwritten", "torch.zeros_like(rows)", "torch.empty_like(rows)", UNUSED),
        (
            "leaves dweights unwritten",
            "tl.where(slot >= 0, dweight, 0.0), mask=place < k",
            "dweight, mask=slot >= 0",
            UNUSED,
        ),
        ("has the weights of the first token", "token * k + place, mask=slot >= 0", "place, mask=slot >= 0", ORDINARY),
        ("reads one block", "range(0, D, BLOCK)", "range(0, BLOCK, BLOCK)", "1025 columns"),
    ),
    ("expert_witness", "torch"): (
        (
            "has logits near 0",
            "[-13.5, -14.0, -13.8, -40.0]",
            "[-0.5, -1.0, 0.3, -4.0]",
            "an error of a router that gets σ back as (σ + bias) - bias",
        ),
        (
            "has logits that leave nothing",
            "[-13.5, -14.0, -13.8, -40.0]",
            "[-23.5, -24.0, -23.8, -40.0]",
            "a valid input",
        ),
        ("has k of 1", "]), 3", "]), 1", "a valid input"),
        (
            "has a bias of 0",
            "[11.3, 11.3, 11.3, 11.3]",
            "[0.0, 0.0, 0.0, 0.0]",
            "an error of a router that gets σ back as (σ + bias) - bias",
        ),
    ),
}
