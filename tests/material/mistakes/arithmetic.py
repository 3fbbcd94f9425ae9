"""Mistakes in the mathematics: a formula, what it is computed in, which rows and values it takes."""

from .mistake import on

SILU = "def silu_forward(x):\n    {}\n"
SLOPE = "def silu_backward(dy, x):\n    {}\n"
GELU = "def gelu_forward(x, approximate='none'):\n    x32 = x.float()\n    {}\n"
NORM = """
def layer_norm_forward(x, weight, bias, eps=1e-5):
    v = x.float()
    mean = v.mean(1, keepdim=True)
    var = {}
    rstd = {}
    y = (v - mean) * rstd * weight.float() + bias.float()
    return y.to(x.dtype), mean[:, 0], rstd[:, 0]
"""
LOSS = """
def cross_entropy_forward(logits, labels, ignore_index=-100):
    x = logits.float()
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= x.shape[1]))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"row {{row}}: label {{labels[row]}}")
    own = x.gather(1, labels.where(keep, 0)[:, None])[:, 0]
    {}
    return {}, lse
"""
TOKENS = """
def token_mean(loss, labels, ignore_index=-100, num_items=None):
    keep = labels != ignore_index
    {}
"""
SOFTMAX = """
def masked_softmax_forward(x, mask):
    s = x.float().masked_fill(~mask, {})
    p = torch.exp(s - s.amax(1, keepdim=True))
    return ({}).to(x.dtype)
"""
PLACE = """
def place(x):
    integer = torch.int32 if x.dtype == torch.float32 else torch.int16
    bits = x.view(integer).long()
    return torch.where(bits < 0, torch.iinfo(integer).min - bits, bits)


def ulp_distance(actual, expected):
    most, unknown = torch.iinfo(torch.int64).max, actual.isnan() | expected.isnan()
    {}
"""
SQUARES, ROOT = "((v - mean) ** 2).mean(1, keepdim=True)", "(var + eps).rsqrt()"
TOP = "top = x.amax(1, keepdim=True)\n    "

ARITHMETIC = (
    *on(
        "silu_forward",
        "torch",
        SILU,
        ("by the formula, in the dtype of x", "every float16 value", "return x / (1 + torch.exp(-x))"),
        ("sigmoid by e^x", "large values", "e = x.float().exp(); return (x * e / (1 + e)).to(x.dtype)"),
        ("x is changed", "ordinary values", "return x.mul_(torch.sigmoid(x))"),
        (
            "hides NaN",
            "infinity and NaN",
            "y = x.float() * torch.sigmoid(x.float()); return y.nan_to_num().to(x.dtype)",
        ),
        (
            "calls what is negative 0",
            "ordinary values",
            "v = x.float(); return torch.where(v > 0, v * torch.sigmoid(v), 0).to(x.dtype)",
        ),
    ),
    *on(
        "silu_backward",
        "torch",
        SLOPE,
        ("without x", "ordinary values", "s = torch.sigmoid(x.float()); return (dy * s * (1 - s)).to(x.dtype)"),
        (
            "divides back",
            "exact zeros",
            "v = x.float(); y = v * torch.sigmoid(v); s = y / v; return (dy * (s + y * (1 - s))).to(x.dtype)",
        ),
    ),
    *on(
        "gelu_forward",
        "torch",
        GELU,
        ("sigmoid form", "ordinary values", "return (x32 * torch.sigmoid(1.702 * x32)).to(x.dtype)"),
        (
            "knows one form only",
            "tanh: ordinary values",
            "return (x32 * 0.5 * (1 + torch.erf(x32 / math.sqrt(2)))).to(x.dtype)",
        ),
    ),
    *on(
        "layer_norm_forward",
        "torch",
        NORM,
        ("in one pass", "variance far below eps", "(v * v).mean(1, keepdim=True) - mean * mean", ROOT),
        ("eps outside", "constant rows", SQUARES, "1 / (var.sqrt() + eps)"),
        ("unbiased", "ordinary values", "v.var(1, keepdim=True)", ROOT),
        ("corrects what is unbiased", "1 column", "v.var(1, keepdim=True) * (v.shape[1] - 1) / v.shape[1]", ROOT),
        ("corrects it in another way", "1 column", "v.var(1, keepdim=True) / (1 + 1 / (v.shape[1] - 1))", ROOT),
        ("no eps", "constant rows", SQUARES, "var.rsqrt()"),
        ("eps at least", "variance far below eps", SQUARES, "var.clamp(min=eps).rsqrt()"),
        (
            "leaves NaN out of the variance",
            "NaN in one row",
            "((v - mean).nan_to_num() ** 2).mean(1, keepdim=True)",
            ROOT,
        ),
        ("hides NaN of rstd", "NaN in one row", SQUARES, "(var + eps).rsqrt().nan_to_num()"),
        ("a variance of NaN is not above 0", "NaN in one row", f"torch.where({SQUARES} > 0, {SQUARES}, 0)", ROOT),
    ),
    *on(
        "cross_entropy_forward",
        "torch",
        LOSS,
        ("no maximum", "large logits", "lse = x.exp().sum(1).log()", "(lse - own) * keep"),
        (
            "log of p",
            "large logits",
            f"{TOP}e = (x - top).exp()\n    total = e.sum(1)\n    p = (own - top[:, 0]).exp() / total\n"
            "    lse = total.log() + top[:, 0]",
            "torch.where(keep, -p.log(), 0)",
        ),
        (
            "ignored rows not zeroed",
            "some rows ignored",
            f"{TOP}lse = (x - top).exp().sum(1).log() + top[:, 0]",
            "lse - own",
        ),
    ),
    *on(
        "token_mean",
        "torch",
        TOKENS,
        ("loss.sum() / n, ignored rows in the sum", "some rows ignored", "return loss.sum() / keep.sum()"),
        ("0 / 0", "no token", "return loss[keep].sum() / (keep.sum() if num_items is None else num_items)"),
        ("returns 0.0", "no token", "return loss[keep].mean() if keep.any() else torch.tensor(0.0)"),
    ),
    *on(
        "masked_softmax_forward",
        "torch",
        SOFTMAX,
        ("-inf and no care", "a row of nothing", "float('-inf')", "p / p.sum(1, keepdim=True)"),
        ("finite -inf", "a row of nothing", "-1e4", "p / p.sum(1, keepdim=True)"),
    ),
    *on(
        "ulp_distance",
        "torch",
        PLACE,
        ("the difference itself", "ordinary values", "return (actual - expected).abs().long()"),
        (
            "in steps of 1",
            "ordinary values",
            "return ((actual - expected).abs() / torch.finfo(actual.dtype).eps).long().masked_fill(unknown, most)",
        ),
        (
            "divides by the gap",
            "on both sides of a power of two",
            "gap = torch.nextafter(expected.abs(), torch.full_like(expected, math.inf)) - expected.abs()\n"
            "    return ((actual.double() - expected.double()).abs() / gap).round().long().masked_fill(unknown, most)",
        ),
        (
            "takes sizes apart from signs",
            "on both sides of zero",
            "return (place(actual.abs()) - place(expected.abs())).abs().masked_fill(unknown, most)",
        ),
        (
            "NaN and NaN are alike",
            "NaN",
            "unknown = actual.isnan() ^ expected.isnan()\n"
            "    return (place(actual) - place(expected)).abs().masked_fill(unknown, most)",
        ),
        (
            "counts both halves as float16",
            "every bfloat16 value",
            "if actual.dtype == torch.bfloat16:\n        actual, expected = actual.half(), expected.half()\n"
            "    return (place(actual) - place(expected)).abs().masked_fill(unknown, most)",
        ),
        (
            "counts halves in int16",
            "every float16 value",
            "p, q = place(actual), place(expected)\n    if actual.dtype != torch.float32:\n"
            "        p, q = p.short(), q.short()\n    return (p - q).abs().long().masked_fill(unknown, most)",
        ),
    ),
)
