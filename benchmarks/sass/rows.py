"""The calls that are counted: our kernels at the sizes that people have, and Liger-Kernel's of the same operations.

Arguments are as the kernels take them; forward of cross-entropy is called without the check of labels, which would look
at a result that nothing has computed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

Size = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One call. elements, products: as `count` takes them, of what the operation is about."""

    operation: str
    whose: str
    function: str
    arguments: Callable[[torch.dtype], tuple]
    elements: int = 0
    products: int = 0
    dtypes: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)


def tensors(*shapes: Size, float32: tuple[Size, ...] = (), more: tuple = ()) -> Callable[[torch.dtype], tuple]:
    """Tensors of the dtype, then such of float32, then what else there is."""
    return lambda dtype: (
        *(torch.randn(*shape).to(dtype) for shape in shapes),
        *(torch.randn(*shape) for shape in float32),
        *more,
    )


MATRIX = (64, 4096)
LIGER = "Liger-Kernel"


def elementwise() -> Iterator[Row]:
    for name, count_of in (("silu", 1), ("swiglu", 2), ("gelu", 1), ("softcap", 1), ("kl", 2)):
        for direction, tensors_of in (("forward", count_of), ("backward", count_of + 1)):
            yield Row(f"{name} {direction}", "ours", f"{name}.{name}_{direction}", tensors(*[MATRIX] * tensors_of))
    for direction, tensors_of in (("forward", 1), ("backward", 2)):
        arguments = tensors(*[MATRIX] * tensors_of, more=("tanh",))
        yield Row(f"gelu, tanh, {direction}", "ours", f"gelu.gelu_{direction}", arguments)
    for heads in (8, 32):
        angles = torch.arange(256)[None], torch.randn(64)
        arguments = tensors((1, heads, 256, 128), more=angles)
        yield Row(f"rotary, {heads} heads of 128", "ours", "rotary.rotary_forward", arguments)


def rows_of_numbers() -> Iterator[Row]:
    for n in (4096, 8192, 32768):
        x, columns, per_row, elements = (64, n), (n,), (64,), 64 * n
        where = f"{n:,}"
        for norm, vectors, saved in (("layer_norm", 2, 2), ("rms_norm", 1, 1)):
            forward, backward = f"{norm}.{norm}_forward", f"{norm}_backward.{norm}_backward"
            yield Row(f"{norm} forward, {where}", "ours", forward, tensors(x, *[columns] * vectors), elements)
            arguments = tensors(x, x, columns, float32=(per_row,) * saved)
            yield Row(f"{norm} backward, {where}", "ours", backward, arguments, elements)
        mask = torch.ones(64, n, dtype=torch.bool)
        forward = "masked_softmax.masked_softmax_forward"
        yield Row(f"masked_softmax forward, {where}", "ours", forward, tensors(x, more=(mask,)), elements)
        backward = "masked_softmax.masked_softmax_backward"
        yield Row(f"masked_softmax backward, {where}", "ours", backward, tensors(x, x), elements)


def losses() -> Iterator[Row]:
    for v in (131072, 50257):
        x, rows, labels, elements = (4, v), (4,), torch.zeros(4, dtype=torch.int64), 4 * v
        forward = tensors(x, more=(labels, -100))
        yield Row(f"cross_entropy forward, {v:,}", "ours", "cross_entropy.losses", forward, elements)
        backward = tensors(rows, x, more=(labels, torch.randn(*rows)))
        name = "cross_entropy.cross_entropy_backward"
        yield Row(f"cross_entropy backward, {v:,}", "ours", name, backward, elements)
        yield Row(f"entropy forward, {v:,}", "ours", "entropy.entropy_forward", tensors(x), elements)
    x, rows, elements = (64, 4096), (64,), 64 * 4096
    tokens = (torch.ones(*x, dtype=torch.bool), 1.0)
    forward = tensors(x, x, rows, more=tokens)
    yield Row("policy_loss forward, 4,096", "ours", "policy_loss.policy_loss_forward", forward, elements)
    backward = tensors((1,), x, x, rows, more=tokens)
    yield Row("policy_loss backward, 4,096", "ours", "policy_loss.policy_loss_backward", backward, elements)


def products() -> Iterator[Row]:
    half = (torch.bfloat16,)
    for d in (64, 128):
        for causal in (False, True):
            scores = 4 * 4096**2 // (2 if causal else 1)
            name = f"attention forward, D {d}" + ", causal" * causal
            arguments = tensors(*[(1, 4, 4096, d)] * 3, more=(None, causal))
            function = "attention.attention_forward"
            yield Row(name, "ours", function, arguments, scores, 4 * d * scores, half)
            shape, rows = (1, 4, 4096, d), (1, 4, 4096)
            arguments = tensors(*[shape] * 5, float32=(rows,), more=(None, causal))
            function, name = "attention_backward.attention_backward", name.replace("forward", "backward")
            yield Row(name, "ours", function, arguments, scores, 0, half)
    sizes = (4096, 4096)
    yield Row("matmul, 4,096", "ours", "matmul.matmul", tensors(sizes, sizes), 4096**2, 2 * 4096**3, half)
    yield from fused_head(512, 32768, 4096)


def fused_head(m: int, v: int, d: int) -> Iterator[Row]:
    """The gradients of the last layer and its loss, of m rows of logits in float32."""
    dlogits, hidden, weight = torch.empty(m, v), torch.empty(m, d), torch.empty(v, d)
    both, name = (torch.bfloat16, torch.float16), "linear_cross_entropy.add_product"

    def dhidden(dtype: torch.dtype) -> tuple:
        return dlogits, weight.to(dtype), hidden.to(dtype)

    def dweight(dtype: torch.dtype) -> tuple:
        return dlogits.t(), hidden.to(dtype), weight, weight, None, True

    yield Row(f"fused head, dhidden, {v:,} classes", "ours", name, dhidden, m * v, 2 * m * v * d, both)
    yield Row(f"fused head, dweight, {v:,} classes", "ours", name, dweight, m * v, 2 * m * v * d, both)


def scans() -> Iterator[Row]:
    x, log_decay = (4096, 4096), -torch.rand(4096)
    forward = tensors(x, more=(log_decay,))
    yield Row("decay_scan forward, 4,096 steps", "ours", "decay_scan.decay_scan", forward)
    backward = tensors(x, x, more=(log_decay,))
    name = "decay_scan_function.gradients_in_triton"
    yield Row("decay_scan backward, 4,096 steps", "ours", name, backward)


def experts() -> Iterator[Row]:
    """8 of 256 experts a token, and rows of 4,096 numbers."""
    tokens, chosen = (4096, 256), torch.arange(4096 * 8).view(4096, 8) % 256
    name = "expert_weights.expert_weights"
    forward, backward = tensors(tokens, more=(chosen,)), tensors((4096, 8), tokens, more=(chosen, torch.randn(4096, 8)))
    yield Row("expert_weights forward, 8 of 256", "ours", f"{name}_forward", forward, chosen.numel())
    yield Row("expert_weights backward, 8 of 256", "ours", f"{name}_backward", backward, chosen.numel())
    rows, weights, slots = (64 * 8, 4096), torch.randn(64, 8), torch.arange(64 * 8).view(64, 8)
    name, more = "moe_sum.moe_sum", (weights, slots)
    yield Row("moe_sum forward, 8 rows of 4,096", "ours", f"{name}_forward", tensors(rows, more=more))
    yield Row("moe_sum backward, 8 rows of 4,096", "ours", f"{name}_backward", tensors(MATRIX, rows, more=more))


def scales() -> Iterator[Row]:
    yield Row("quantize_blocks, 128", "ours", "quantize_blocks.quantize_blocks", tensors(MATRIX))
    yield Row("quantize_mx", "ours", "quantize_mx.quantize_mx", tensors(MATRIX))
    a, b = (torch.zeros(4096, 4096, dtype=torch.int8) for _ in "ab")
    a_scale, b_scale = torch.ones(4096, 32), torch.ones(32, 4096)
    for name, columns in (("", b), (", b transposed", b.t())):
        arguments = tensors(more=(a, a_scale, columns, b_scale))
        operation, function = f"scaled_matmul, 4,096, groups of 128{name}", "scaled_matmul.scaled_matmul"
        yield Row(operation, "ours", function, arguments, 4096**2, dtypes=(torch.int8,))


def peers() -> Iterator[Row]:
    """Liger-Kernel's, of the same operations and sizes. Its rotary embedding reads cosines and sines from memory, and
    turns q and k at once; its loss writes the gradient, too.
    """
    ops = "liger_kernel.ops"
    yield Row("swiglu forward", LIGER, f"{ops}.swiglu:swiglu_forward", tensors(MATRIX, MATRIX))
    yield Row("swiglu backward", LIGER, f"{ops}.swiglu:swiglu_backward", tensors(MATRIX, MATRIX, MATRIX))
    for heads in (8, 32):
        x, angles = (1, heads, 256, 128), (1, 256, 128)
        elements = 2 * heads * 256 * 128
        yield Row(
            f"rotary, {heads} heads of 128", LIGER, f"{ops}.rope:rope_forward", tensors(x, x, angles, angles), elements
        )
    for n in (8192, 32768):
        where, elements = f"{n:,}", 64 * n
        vectors = tensors((64, n), (n,), (n,), more=(1e-5,))
        yield Row(f"layer_norm forward, {where}", LIGER, f"{ops}.layer_norm:layer_norm_forward", vectors, elements)
        arguments = tensors((64, n), (n,), more=(1e-6, 0.0, "llama", None))
        yield Row(f"rms_norm forward, {where}", LIGER, f"{ops}.rms_norm:rms_norm_forward", arguments, elements)
    labels = torch.zeros(4, dtype=torch.int64)
    for v in (131072, 50257):
        arguments = tensors((4, v), more=(labels, None, -100, 0.0, 0.0, "mean", None, False))
        name = f"{ops}.cross_entropy:cross_entropy_forward"
        yield Row(f"cross_entropy forward, {v:,}", LIGER, name, arguments, 4 * v)


def all_rows() -> list[Row]:
    found = [*elementwise(), *rows_of_numbers(), *losses(), *scans(), *products(), *experts(), *scales(), *peers()]
    return sorted(found, key=lambda row: [one.operation for one in found].index(row.operation))
