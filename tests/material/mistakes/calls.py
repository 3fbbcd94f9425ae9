"""Mistakes in PyTorch that are none of mathematics: shapes, layouts, empty tensors, dtypes, what is kept from call to
call.
"""

from .arithmetic import PLACE
from .mistake import on

SILU = "RESULTS = {{}}\n\n\ndef silu_forward(x):\n    y = (x.float() * torch.sigmoid(x.float())).to(x.dtype)\n    {}\n"
NORM = """
KEPT = {{{{}}}}


def {signature}:
    v = x.float()
    {before}
    mean = {mean}
    rstd = (((v - mean) ** 2).mean(1, keepdim=True) + eps).rsqrt()
    y = (v - mean) * rstd * weight.float(){plus}
    return y.to(x.dtype), {after}
"""
LAYER = NORM.format(
    signature="layer_norm_forward(x, weight, bias, eps=1e-5)",
    before="{}",
    mean="v.mean(1, keepdim=True)",
    plus=" + bias.float()",
    after="{}",
)
RMS = NORM.format(signature="rms_norm_forward(x, weight, eps=1e-6)", before="{}", mean="0.0", plus="", after="{}")
LOSS = """
KEPT = {{}}


def log_sum_exp(x):
    top = x.amax(1, keepdim=True)
    return (x - top.masked_fill(top == -torch.inf, 0)).exp().sum(1, keepdim=True).log() + top


def kept(logits, labels, ignore_index):
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= logits.shape[1]))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"labels[{{row}}] is {{labels[row]}}")
    return keep


def cross_entropy_forward(logits, labels, ignore_index=-100):
    x, keep = logits.float(), kept(logits, labels, ignore_index)
    own = x.gather(1, labels.where(keep, 0)[:, None])
    lse = log_sum_exp(x)
    loss = (lse - own) * keep[:, None]
    return {}
"""
MERGE = """
def merge_attention(o_a, lse_a, o_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)
    a, b = (lse_a - shift).exp(), (lse_b - shift).exp()
    total = a + b
    o = (o_a.float() * a[..., None] + o_b.float() * b[..., None]) / total.masked_fill(total == 0, 1)[..., None]
    return {}
"""
ATTENTION = """
def attention_forward(q, k, v, key_lengths=None, causal=False, scale=None):
    M, N, D = q.shape[2], k.shape[2], q.shape[3]
    dtype = {}
    lengths = torch.full((len(q),), N) if key_lengths is None else key_lengths
    lengths, j = lengths.view(-1, 1, 1, 1), torch.arange(N)
    seen = j < lengths
    if causal:
        seen = seen & (j <= torch.arange(M)[:, None] + lengths - M)
    there = (j < lengths).mT
    k, v = k.float().masked_fill(~there, 0), v.float().masked_fill(~there, 0)
    s = (q.float() @ k.mT * (D**-0.5 if scale is None else scale)).masked_fill(~seen, -torch.inf)
    top = s.amax(-1, keepdim=True) if N else s.new_full((*q.shape[:3], 1), -torch.inf)
    {}
    p = (s - top.masked_fill(top == -torch.inf, 0)).exp()
    total = p.sum(-1, keepdim=True)
    o, lse = p @ v / total.masked_fill(total == 0, 1), total.log() + top
    return {}
"""
SOFTMAX = """
def masked_softmax_forward(x, mask):
    s = x.float().masked_fill(~mask, -torch.inf)
    top = s.amax(1, keepdim=True) if x.shape[1] else s.new_zeros(len(x), 1)
    p = (s - top.masked_fill(top == -torch.inf, 0)).exp().masked_fill(~mask, 0)
    total = p.sum(1, keepdim=True)
    return (p / total.masked_fill(total == 0, 1)).masked_fill(~mask, 0).to(x.dtype){}
"""
COUNT = "return (place(actual) - place(expected)).abs().masked_fill(unknown, most)"
BOTH = "o.to(dtype), lse.squeeze(-1)"
STATS = "mean[:, 0], rstd[:, 0]"

CALLS = (
    *on(
        "silu_forward",
        "torch",
        SILU,
        ("keeps the result for a shape", "the same shape again", "return RESULTS.setdefault(x.shape, y)"),
        (
            "keeps the sigmoid for a shape",
            "the same shape again",
            "return (x * RESULTS.setdefault(x.shape, torch.sigmoid(x.float()))).to(x.dtype)",
        ),
        ("squeezes", "one element", "return y.squeeze()"),
        ("counts the first dimension", "no dimensions", "return y.reshape(len(y), -1).reshape(x.shape)"),
        ("takes slices", "no dimensions", "return torch.cat([y[:1], y[1:]])"),
        ("returns None for nothing", "no elements", "return y if x.numel() else None"),
        ("asks for the largest of nothing", "no elements", "return y if x.abs().max() != 0 else x.clone()"),
        ("refuses nothing", "no elements", "assert x.numel() > 0; return y"),
    ),
    *on(
        "layer_norm_forward",
        "torch",
        LAYER,
        ("squeezes mean and rstd", "one row", "", "mean.squeeze(), rstd.squeeze()"),
        ("asks for the largest of nothing", "no rows", "assert v.max() == v.max() or v.isnan().any()", STATS),
    ),
    *on(
        "rms_norm_forward",
        "torch",
        RMS,
        ("squeezes rstd", "one row", "", "rstd.squeeze()"),
        ("squeezes x", "1 column", "v = v.squeeze()", "rstd[:, 0]"),
        ("refuses nothing", "no rows", "assert len(x)", "rstd[:, 0]"),
        ("keeps rstd for a shape", "the same shape again", "", "KEPT.setdefault(x.shape, rstd)[:, 0]"),
    ),
    *on(
        "cross_entropy_forward",
        "torch",
        LOSS,
        ("squeezes", "one row", "loss.squeeze(), lse.squeeze()"),
        ("keeps lse for a shape", "the same shape again", "loss[:, 0], KEPT.setdefault(x.shape, lse)[:, 0]"),
        ("squeezes lse", "one row", "loss[:, 0], lse.squeeze()"),
        ("returns None for nothing", "no rows", "(loss[:, 0], lse[:, 0]) if len(x) else None"),
        ("hides infinity", "masked classes", "loss[:, 0].nan_to_num(), lse[:, 0]"),
        ("puts a limit on the loss", "masked classes", "loss[:, 0].clamp(max=1e30), lse[:, 0]"),
        ("hides NaN", "NaN in one row", "torch.where(loss.isnan(), 0.0, loss)[:, 0], lse[:, 0]"),
    ),
    *on(
        "merge_attention",
        "torch",
        MERGE,
        ("returns float32", "float16", "o, total.log() + top"),
        (
            "takes the dtype of both",
            "float16 with a float32 piece",
            "o.to((o_a[:0] + o_b[:0]).dtype), total.log() + top",
        ),
        ("squeezes", "one row, one feature", "o.to(o_a.dtype).squeeze(), (total.log() + top).squeeze()"),
    ),
    *on(
        "attention_forward",
        "torch",
        ATTENTION,
        ("squeezes lse", "one query", "q.dtype", "pass", "o.to(dtype), lse.squeeze(-1).squeeze(2)"),
        ("squeezes o", "one query", "q.dtype", "pass", "o.to(dtype).squeeze(2), lse.squeeze(-1)"),
        ("squeezes the features", "one feature", "q.dtype", "pass", "o.to(dtype).squeeze(-1), lse.squeeze(-1)"),
        (
            "takes every half for float16",
            "bfloat16",
            "q.dtype if q.dtype == torch.float32 else torch.float16",
            "pass",
            BOTH,
        ),
        ("the largest score in the dtype of q", "float16 scores past 65504", "q.dtype", "top = top.to(q.dtype)", BOTH),
        (
            "takes the dtype of all",
            "bfloat16 with float32 values",
            "torch.promote_types(q.dtype, v.dtype)",
            "pass",
            BOTH,
        ),
    ),
    *on("masked_softmax_forward", "torch", SOFTMAX, ("squeezes", "1 column", ".squeeze()")),
    *on(
        "ulp_distance",
        "torch",
        PLACE,
        ("counts the first dimension", "no dimensions", f"len(actual); {COUNT}"),
        ("takes slices", "no dimensions", f"actual = torch.cat([actual[:1], actual[1:]]); {COUNT}"),
        ("begins at the first element", "no dimensions", f"first = actual[:1]; {COUNT}"),
        ("asks for the largest of nothing", "no elements", f"actual.max(); {COUNT}"),
        ("returns None for nothing", "no elements", f"if not actual.numel(): return None\n    {COUNT}"),
        ("refuses nothing", "no elements", f"assert actual.numel() > 0; {COUNT}"),
        ("makes a row of a view", "transposed", f"actual.view(-1); {COUNT}"),
        (
            "reads memory in its order",
            "transposed",
            f"actual = actual.as_strided(actual.shape, torch.empty(actual.shape).stride()); {COUNT}",
        ),
        ("takes bits from halves", "transposed", f"halves = actual.view(torch.int16) if actual.dim() else 0; {COUNT}"),
    ),
)
