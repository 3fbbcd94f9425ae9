"""Mistakes that learners make, in answers of their own kind: plainer than ours, of which the mutants are patches."""

from dataclasses import dataclass

from answers import SETUP
from graded_kernels.autograder.run.answer import Answer, Cell


@dataclass(frozen=True)
class Mistake:
    """A whole answer that is wrong in the way ``why`` says."""

    exercise: str
    backend: str
    why: str
    source: str

    @property
    def answer(self) -> Answer:
        return Answer(self.exercise, (Cell(self.exercise, self.source),), SETUP)


def _torch(exercise: str, why: str, source: str) -> Mistake:
    return Mistake(exercise, "torch", why, source)


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
KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    {}


def row_sum(x):
    M, N = x.shape
    {}
    return y
"""

MISTAKES = (
    _torch("silu_forward", "by the formula, in the dtype of x", SILU.format("return x / (1 + torch.exp(-x))")),
    _torch("silu_forward", "sigmoid by e^x", SILU.format("e = x.float().exp(); return (x * e / (1 + e)).to(x.dtype)")),
    _torch("silu_forward", "x is changed", SILU.format("return x.mul_(torch.sigmoid(x))")),
    _torch(
        "silu_backward",
        "without x",
        SLOPE.format("s = torch.sigmoid(x.float()); return (dy * s * (1 - s)).to(x.dtype)"),
    ),
    _torch(
        "silu_backward",
        "divides back",
        SLOPE.format("v = x.float(); y = v * torch.sigmoid(v); s = y / v; return (dy * (s + y * (1 - s))).to(x.dtype)"),
    ),
    _torch("gelu_forward", "sigmoid form", GELU.format("return (x32 * torch.sigmoid(1.702 * x32)).to(x.dtype)")),
    _torch(
        "gelu_forward",
        "knows one form only",
        GELU.format("return (x32 * 0.5 * (1 + torch.erf(x32 / math.sqrt(2)))).to(x.dtype)"),
    ),
    _torch(
        "layer_norm_forward",
        "in one pass",
        NORM.format("(v * v).mean(1, keepdim=True) - mean * mean", "(var + eps).rsqrt()"),
    ),
    _torch(
        "layer_norm_forward",
        "eps outside",
        NORM.format("((v - mean) ** 2).mean(1, keepdim=True)", "1 / (var.sqrt() + eps)"),
    ),
    _torch("layer_norm_forward", "unbiased", NORM.format("v.var(1, keepdim=True)", "(var + eps).rsqrt()")),
    _torch("layer_norm_forward", "no eps", NORM.format("((v - mean) ** 2).mean(1, keepdim=True)", "var.rsqrt()")),
    _torch("cross_entropy_forward", "no maximum", LOSS.format("lse = x.exp().sum(1).log()", "(lse - own) * keep")),
    _torch(
        "cross_entropy_forward",
        "log of p",
        LOSS.format(
            "top = x.amax(1, keepdim=True)\n    e = (x - top).exp()\n    total = e.sum(1)\n"
            "    p = (own - top[:, 0]).exp() / total\n    lse = total.log() + top[:, 0]",
            "torch.where(keep, -p.log(), 0)",
        ),
    ),
    _torch(
        "cross_entropy_forward",
        "ignored rows not zeroed",
        LOSS.format("top = x.amax(1, keepdim=True)\n    lse = (x - top).exp().sum(1).log() + top[:, 0]", "lse - own"),
    ),
    _torch("token_mean", "loss.sum() / n, ignored rows in the sum", TOKENS.format("return loss.sum() / keep.sum()")),
    _torch(
        "token_mean",
        "0 / 0",
        TOKENS.format("return loss[keep].sum() / (keep.sum() if num_items is None else num_items)"),
    ),
    _torch("token_mean", "returns 0.0", TOKENS.format("return loss[keep].mean() if keep.any() else torch.tensor(0.0)")),
    _torch("masked_softmax_forward", "-inf and no care", SOFTMAX.format("float('-inf')", "p / p.sum(1, keepdim=True)")),
    _torch("masked_softmax_forward", "finite -inf", SOFTMAX.format("-1e4", "p / p.sum(1, keepdim=True)")),
    Mistake(
        "row_sum",
        "triton",
        "adds in the dtype of x",
        KERNEL.format(
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)\n    tl.store(y_ptr + row, tl.sum(x))",
            "y = torch.empty(M, dtype=x.dtype)\n    if M:\n"
            "        kernel[(M,)](x.contiguous(), y, M, N, BLOCK=triton.next_power_of_2(max(N, 1)))",
        ),
    ),
    Mistake(
        "row_sum",
        "triton",
        "a block of 1024 and no loop",
        KERNEL.format(
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)\n"
            "    tl.store(y_ptr + row, tl.sum(x).to(y_ptr.dtype.element_ty))",
            "y = torch.empty(M, dtype=x.dtype)\n    if M:\n        kernel[(M,)](x.contiguous(), y, M, N, BLOCK=1024)",
        ),
    ),
    Mistake(
        "row_sum",
        "triton",
        "no other=",
        KERNEL.format(
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N).to(tl.float32)\n"
            "    tl.store(y_ptr + row, tl.sum(x).to(y_ptr.dtype.element_ty))",
            "y = torch.empty(M, dtype=x.dtype)\n    if M:\n"
            "        kernel[(M,)](x.contiguous(), y, M, N, BLOCK=triton.next_power_of_2(max(N, 1)))",
        ),
    ),
)
