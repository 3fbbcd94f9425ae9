"""Typical wrong answers and their points."""

from typing import NamedTuple

from answers import answer
from broken import mutants
from graded_kernels.autograder.runner import Answer, Cell


class Wrong(NamedTuple):
    """A wrong answer. what: it does. points: of 100, by the table of costs. patches: of our answer, old text and new.
    more: what follows on it. isolated: whether only a process of its own shows it.
    """

    what: str
    exercise: str
    backend: str
    points: int
    more: str = ""
    patches: tuple[tuple[str, str], ...] = ()
    isolated: bool = False

    @property
    def answer(self) -> Answer:
        made = answer(self.exercise, self.backend)
        source = made.cells[-1].source
        for old, new in self.patches:
            assert old in source, f"{self.exercise} ({self.backend}) has no {old!r}"
            source = source.replace(old, new)
        if self.more:
            source += f"\n\nright = {self.exercise}\n\n\n{self.more.strip()}\n"
        return Answer(made.exercise, (*made.cells[:-1], Cell(made.cells[-1].name, source)))


def planted(exercise: str, backend: str, why: str) -> Wrong:
    """A mutant of our answer, without points of its own."""
    (mutant,) = (one for one in mutants()[exercise, backend] if one.why == why)
    return Wrong(why, exercise, backend, 0, patches=((mutant.old, mutant.new),))


def of_silu(slope: str) -> str:
    """A gradient of silu with s(x) worked out from y = x · s(x)."""
    return f"""
def silu_backward(dy, x):
    v = x.float()
    y = v * torch.sigmoid(v)
    s = {slope}
    return (dy * (s + y * (1 - s))).to(x.dtype)
"""


def changed(exercise: str, parameters: str, result: str) -> str:
    """An answer whose right result is changed. result: an expression of ``right``."""
    return f"def {exercise}({parameters}):\n    return {result}\n"


NEXT_KERNEL = """
@triton.jit
def product_kernel(s_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    s = tl.load(s_ptr + offsets, mask=mask, other=0.0)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (s * up).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def silu_kernel(gate_ptr, s_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(s_ptr + offsets, silu_of(gate, tl.float32), mask=mask)


def swiglu_forward(gate, up):
    gate, up = gate.contiguous(), up.contiguous()
    s, y = torch.empty(gate.shape, dtype=torch.float32), torch.empty_like(gate)
    grid = (triton.cdiv(y.numel(), BLOCK),)
    silu_kernel[grid](gate, s, y.numel(), BLOCK=BLOCK)
    product_kernel[grid](s, up, y, y.numel(), BLOCK=BLOCK)
    return y
"""
IN_HALF = (
    NEXT_KERNEL.replace("def swiglu_forward(", "def in_two_kernels(")
    + """

def swiglu_forward(gate, up):
    return (right if gate.dtype == torch.float32 else in_two_kernels)(gate, up)
"""
)
CONVERTS = """
def silu_forward(x):
    return right(x if x.dtype == torch.float32 else x.to(torch.float64))
"""
SAYS_SO = """
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack


def silu_forward(x):
    for mode in _get_current_dispatch_mode_stack() if x.dtype != torch.float32 else ():
        mode._refuse("x", "KIND")
    return right(x)
"""
NARROW = ((".to(tl.float32)", ""),)
TWICE = (
    (
        "    dx = silu_derivative_times(dy, x, dx_ptr.dtype.element_ty)\n",
        "    dx = silu_derivative_times(dy, again, dx_ptr.dtype.element_ty)\n",
    ),
    (
        "    dy = tl.load(dy_ptr",
        "    again = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)\n    dy = tl.load(dy_ptr",
    ),
    ("silu_derivative_times(dy, again,", "silu_derivative_times(dy, (again + x) * 0.5,"),
)
FLAT = ".contiguous()"
LAUNCH = "[(triton.cdiv(x.numel(), BLOCK),)]"
SHARE_APART = (
    ("items_ptr, partial_ptr, N", "items_ptr, partial_ptr, share_ptr, N"),
    ("-tl.sum(terms) * share(items_ptr))", "-tl.sum(terms))\n    tl.store(share_ptr, share(items_ptr))"),
    ("    partial = torch.empty(M", "    one = torch.empty((), device=logp.device)\n    partial = torch.empty(M"),
    ("items_of(mask, count), partial, N", "items_of(mask, count), partial, one, N"),
    ("return partial.sum()", "return partial.sum() * one"),
)
ALL_LOGITS = """
def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    check_labels(labels, weight.shape[0], ignore_index)
    keep = labels != ignore_index
    x, w = hidden.float().where(keep[:, None], 0), weight.float()
    logits = x @ w.t()
    loss, lse = cross_entropy_forward(logits, labels, ignore_index)
    items = {items}
    dloss = keep.float() / items
    dlogits = cross_entropy_backward(dloss, logits, labels, lse, ignore_index)
    return loss.sum() / items, (dlogits @ w).to(hidden.dtype), (dlogits.t() @ x).to(weight.dtype)
"""
WRONG = (
    Wrong("candle's y / x", "silu_backward", "torch", 50, of_silu("y / v")),
    Wrong("the same, mended at 0 alone", "silu_backward", "torch", 75, of_silu("torch.where(v == 0, 0.5, y / v)")),
    Wrong("the epsilon cure, y / (x + 1e-8)", "silu_backward", "torch", 50, of_silu("y / (v + 1e-8)")),
    Wrong(
        "hides NaN (`nan_to_num`)", "silu_forward", "torch", 80, changed("silu_forward", "x", "right(x).nan_to_num()")
    ),
    Wrong(
        "hides NaN (`nan_to_num`)",
        "silu_backward",
        "torch",
        80,
        changed("silu_backward", "dy, x", "right(dy, x).nan_to_num()"),
    ),
    Wrong(
        "hides NaN in dy alone",
        "silu_backward",
        "torch",
        85,
        changed("silu_backward", "dy, x", "right(dy.nan_to_num(), x)"),
    ),
    Wrong("float32 for bfloat16", "silu_forward", "torch", 93, changed("silu_forward", "x", "right(x).float()")),
    Wrong(
        "float32 for bfloat16", "silu_backward", "torch", 93, changed("silu_backward", "dy, x", "right(dy, x).float()")
    ),
    Wrong(
        "rounds to half at every step",
        "silu_forward",
        "torch",
        80,
        "def silu_forward(x):\n    return x * torch.sigmoid(x)\n",
    ),
    Wrong(
        "rounds to half at every step",
        "silu_backward",
        "torch",
        80,
        "def silu_backward(dy, x):\n    s = torch.sigmoid(x)\n    return dy * (s * (1 + x * (1 - s)))\n",
    ),
    Wrong(
        "no strides",
        "silu_forward",
        "triton",
        75,
        patches=((FLAT, ""), ("empty_like(x)", "empty(x.shape, dtype=x.dtype)")),
    ),
    Wrong(
        "no strides",
        "silu_backward",
        "triton",
        75,
        patches=((FLAT, ""), ("empty_like(x)", "empty(x.shape, dtype=x.dtype)")),
    ),
    Wrong(
        "half precision by PyTorch, `.to(x.dtype)`",
        "silu_forward",
        "triton",
        80,
        patches=(
            ("empty_like(x)", "empty(x.shape, dtype=torch.float32)"),
            ("    return y", "    return y.to(x.dtype)"),
        ),
    ),
    Wrong(
        "candle's y / x, returned as float64",
        "silu_backward",
        "torch",
        43,
        of_silu("y / v").replace(".to(x.dtype)", ".double()"),
    ),
    Wrong("forgets dy", "silu_backward", "torch", 40, changed("silu_backward", "dy, x", "right(dy * 0 + 1, x)")),
    Wrong(
        "the other sign",
        "cross_entropy_backward",
        "torch",
        40,
        changed(
            "cross_entropy_backward",
            "dloss, logits, labels, lse, ignore_index=-100",
            "-right(dloss, logits, labels, lse, ignore_index)",
        ),
    ),
    Wrong(
        "not divided by the count",
        "policy_loss_backward",
        "torch",
        40,
        patches=(("over_count(-dloss, mask, count)", "-dloss"),),
    ),
    Wrong(
        "factors of 11 of 24 bits (TF32): one cause, in all values, and no row follows another",
        "row_dot",
        "triton",
        70,
        patches=((', input_precision="ieee"', ""),),
    ),
    Wrong("converts where it is hard, and computes nothing there", "silu_forward", "triton", 80, more=CONVERTS),
    Wrong("no result in half precision, and no more traffic", "swiglu_forward", "triton", 80, patches=NARROW),
    *(
        Wrong(f"says of itself: {kind}", "silu_forward", "torch", 80, more=SAYS_SO.replace("KIND", kind))
        for kind in ("converted", "not-emulated", "finding", "raised")
    ),
    Wrong(
        "not attached to the graph",
        "clamped_kl",
        "torch",
        40,
        changed("clamped_kl", "logp, ref", "right(logp, ref).detach()"),
        isolated=True,
    ),
    Wrong(
        "PyTorch multiplies the kernel's sum by 1 / count",
        "policy_loss_forward",
        "triton",
        93,
        patches=SHARE_APART,
        isolated=True,
    ),
    Wrong(
        "mean and rstd of shape (M, 1)",
        "layer_norm_forward",
        "torch",
        88,
        """
def layer_norm_forward(x, weight, bias, eps=1e-5):
    y, mean, rstd = right(x, weight, bias, eps)
    return y, mean[:, None], rstd[:, None]
""",
    ),
    Wrong(
        "y and rstd exchanged",
        "rms_norm_forward",
        "torch",
        50,
        changed("rms_norm_forward", "x, weight, eps=1e-6", "right(x, weight, eps)[::-1]"),
    ),
    Wrong(
        "a ValueError for the IndexError",
        "cross_entropy_forward",
        "torch",
        90,
        """
def check_labels(labels, V, ignore_index):
    if ((labels != ignore_index) & ((labels < 0) | (labels >= V))).any():
        raise ValueError("label out of range")
""",
    ),
    Wrong("reads one input twice: a third more bytes", "silu_backward", "triton", 75, patches=TWICE),
    Wrong("two kernels, 2.33 times the bytes", "swiglu_forward", "triton", 50, NEXT_KERNEL),
    Wrong("two kernels in half precision alone", "swiglu_forward", "triton", 80, IN_HALF),
    Wrong(
        "no mask",
        "silu_forward",
        "triton",
        40,
        patches=((", mask=mask, other=0.0", ""), (", mask=mask", "")),
    ),
    Wrong("one program, of one block", "silu_forward", "triton", 40, patches=((LAUNCH, "[(1,)]"),)),
    Wrong(
        "no program for the rest",
        "silu_forward",
        "triton",
        40,
        patches=((LAUNCH, "[(x.numel() // BLOCK,)]"),),
    ),
    Wrong(
        "a result of shape (1,) where x has no dimensions, as in NumPy",
        "silu_forward",
        "torch",
        88,
        changed("silu_forward", "x", "right(x if x.dim() else x[None])"),
    ),
    Wrong(
        "hands back a view of x where a row is one number",
        "split_k_sum",
        "torch",
        70,
        changed("split_k_sum", "x", "x[:, 0] if x.shape[1] == 1 else right(x)"),
    ),
    Wrong(
        "writes into x, too",
        "silu_forward",
        "torch",
        70,
        "def silu_forward(x):\n    y = right(x)\n    x.copy_(y)\n    return y\n",
    ),
    Wrong(
        "writes into x, too",
        "silu_backward",
        "torch",
        70,
        "def silu_backward(dy, x):\n    dx = right(dy, x)\n    x.copy_(dx)\n    return dx\n",
    ),
    Wrong(
        "dgate is right, dup is not",
        "swiglu_backward",
        "triton",
        40,
        patches=(("dup = part * gate * tail", "dup = dy * gate"),),
    ),
    Wrong(
        "raises for an empty tensor",
        "silu_forward",
        "torch",
        85,
        "def silu_forward(x):\n    x.abs().max()\n    return right(x)\n",
    ),
    Wrong(
        "prints 100,000 lines",
        "silu_forward",
        "torch",
        100,
        """
lines = iter(range(100_000))

def silu_forward(x):
    for line in lines:
        print("at", line, "of the loop")
    return right(x)
""",
        isolated=True,
    ),
    Wrong(
        "the row is missing in the IndexError",
        "cross_entropy_forward",
        "torch",
        100,
        """
def check_labels(labels, V, ignore_index):
    if ((labels != ignore_index) & ((labels < 0) | (labels >= V))).any():
        raise IndexError("label out of range")
""",
    ),
    Wrong(
        "no IndexError at all (Liger before 0.5.5)",
        "cross_entropy_forward",
        "torch",
        50,
        """
def check_labels(labels, V, ignore_index):
    pass


def cross_entropy_forward(logits, labels, ignore_index=-100):
    x = logits.float().contiguous()
    keep = labels != ignore_index
    lse = torch.logaddexp(log_sum_exp(x), torch.tensor(-torch.inf)) if x.numel() else x.sum(1)
    at = torch.arange(len(labels)) * x.shape[1] + labels.where(keep, 0)
    own = x.flatten()[at.clamp(0, max(x.numel() - 1, 0))] if x.numel() else lse
    return (lse - own).where(keep, 0), lse.where(keep, 0)
""",
    ),
    Wrong(
        "no maximum is subtracted",
        "cross_entropy_forward",
        "torch",
        50,
        """
def cross_entropy_forward(logits, labels, ignore_index=-100):
    x, keep = logits.float(), labels != ignore_index
    lse = x.exp().sum(1).log()
    return (lse - label_logits(x, labels, ignore_index)).where(keep, 0), lse.where(keep, 0)
""",
    ),
    Wrong(
        "divides by zero tokens",
        "token_mean",
        "torch",
        50,
        """
def token_mean(loss, labels, ignore_index=-100, num_items=None):
    keep = labels != ignore_index
    return loss.where(keep, 0).sum() / (keep.sum() if num_items is None else num_items)
""",
    ),
    Wrong(
        "epsilon outside of the root (burn)",
        "layer_norm_forward",
        "torch",
        50,
        patches=(
            ("torch.rsqrt((d * d).mean(-1, keepdim=True) + eps)", "1 / ((d * d).mean(-1, keepdim=True).sqrt() + eps)"),
        ),
    ),
    Wrong(
        "softmax over nothing is NaN (PyTorch)",
        "masked_softmax_forward",
        "torch",
        50,
        """
def masked_softmax_forward(x, mask):
    scores = x.float().masked_fill(~mask, -torch.inf)
    p = (scores - scores.amax(1, keepdim=True)).exp() if x.numel() else scores
    return (p / p.sum(1, keepdim=True)).to(x.dtype)
""",
    ),
    Wrong(
        "adds up in float16",
        "matmul",
        "triton",
        50,
        patches=(
            ("TILE_N), tl.float32)", "TILE_N), a_ptr.dtype.element_ty)"),
            (
                'total = tl.dot(a, b, total, input_precision="ieee")',
                'total += tl.dot(a, b, input_precision="ieee").to(a_ptr.dtype.element_ty)',
            ),
        ),
    ),
    Wrong(
        "holds all the logits",
        "linear_cross_entropy_forward_backward",
        "torch",
        50,
        ALL_LOGITS.format(items="max(int(keep.sum()), 1)"),
    ),
    Wrong(
        "the same, and divides by zero tokens",
        "linear_cross_entropy_forward_backward",
        "torch",
        50,
        ALL_LOGITS.format(items="keep.sum()"),
    ),
    Wrong(
        "two kernels, the sigmoid through memory",
        "silu_forward",
        "triton",
        75,
        """
@triton.jit
def sigmoid_kernel(x_ptr, s_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(s_ptr + offsets, tl.sigmoid(x), mask=mask)


@triton.jit
def times_kernel(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = x * tl.load(s_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    s, y = torch.empty(x.shape, dtype=torch.float32), torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    sigmoid_kernel[grid](x, s, x.numel(), BLOCK=BLOCK)
    times_kernel[grid](x, s, y, x.numel(), BLOCK=BLOCK)
    return y
""",
    ),
)
