"""The kernels that are timed: for each exercise its sizes, arguments, and what its time is compared with."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Exercise

Size = tuple[int, ...]
Args = tuple
DTYPES = (torch.bfloat16, torch.float32)
ROWS = ((1024, 4096), (4096, 8192), (16384, 8192))  # in bfloat16 8 MiB, which an L2 cache holds, 64 and 256 MiB
LOGITS = ((1024, 32000), (4096, 32000), (4096, 128256))
GROUPS = ((1024, 64), (65536, 64), (1048576, 64))
HEADS = ((4, 16, 1024, 64), (4, 16, 2048, 128), (2, 16, 8192, 128))  # batch, heads, queries and keys, features
SQUARES = ((1024, 1024, 1024), (4096, 4096, 4096), (8192, 8192, 8192))
LAYERS = ((1024, 1024, 32000), (4096, 1024, 32000), (4096, 4096, 32000))  # tokens, width, classes


@dataclass(frozen=True)
class Operation:
    """An exercise as it is timed. arguments: of a dtype and a size. flops: of a size, where arithmetic is the limit;
    elsewhere the time is compared with a copy of ``useful_bytes``. moved: these, where the record does not say.
    """

    name: str
    sizes: tuple[Size, ...]
    arguments: Callable[..., Args]
    flops: Callable[..., int] | None = None
    moved: Callable[..., int] | None = None
    dtypes: tuple[torch.dtype, ...] = DTYPES

    def useful_bytes(self, args: Args) -> int:
        """What has to be read and written once; 0 where arithmetic is the limit."""
        return 0 if self.flops else int((self.moved or EXERCISES[self.name].least_bytes)(*args))


def normal(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def scalar(value: float) -> torch.Tensor:
    return torch.tensor(value, device="cuda")


def same(count: int) -> Callable[..., Args]:
    """Arguments that are ``count`` tensors of the size."""
    return lambda dtype, *size: tuple(normal(dtype, *size) for _ in range(count))


def norm(count: int) -> Callable[..., Args]:
    """x and ``count`` vectors of its columns."""
    return lambda dtype, m, n: (normal(dtype, m, n), *(normal(dtype, n) for _ in range(count)))


def layer_norm_backward(dtype: torch.dtype, m: int, n: int) -> Args:
    x = normal(dtype, m, n)
    wide = x.float()
    return normal(dtype, m, n), x, normal(dtype, n), wide.mean(1), (wide.var(1, correction=0) + 1e-5).rsqrt()


def rms_norm_backward(dtype: torch.dtype, m: int, n: int) -> Args:
    x = normal(dtype, m, n)
    return normal(dtype, m, n), x, normal(dtype, n), (x.float().square().mean(1) + 1e-6).rsqrt()


def labels(m: int, classes: int) -> torch.Tensor:
    return torch.randint(classes, (m,), device="cuda")


def state_of_adamw(dtype: torch.dtype, m: int, n: int) -> Args:
    """param and grad, the two moments in float32, and the number of a step."""
    return *same(2)(dtype, m, n), normal(torch.float32, m, n), normal(torch.float32, m, n).square(), 100


def random_bits(dtype: torch.dtype, m: int, n: int) -> Args:
    return normal(dtype, m, n), torch.randint(1 << 16, (m, n), device="cuda", dtype=torch.int32)


def positions(dtype: torch.dtype, b: int, h: int, m: int, d: int) -> Args:
    """x, the position of each token, and the frequencies of a base of 10,000."""
    inv_freq = 10_000.0 ** (-torch.arange(0, d, 2, device="cuda") / d)
    return normal(dtype, b, h, m, d), torch.arange(m, device="cuda").expand(b, m), inv_freq


def cross_entropy_backward(dtype: torch.dtype, m: int, v: int) -> Args:
    logits = normal(dtype, m, v)
    return normal(torch.float32, m), logits, labels(m, v), logits.float().logsumexp(1)


def entropy_backward(dtype: torch.dtype, m: int, v: int) -> Args:
    logits = normal(dtype, m, v)
    log_p = logits.float().log_softmax(1)
    return normal(torch.float32, m), logits, -(log_p.exp() * log_p).sum(1), logits.float().logsumexp(1)


def mask(m: int, n: int) -> torch.Tensor:
    return torch.rand(m, n, device="cuda") > 0.1


def policy(dtype: torch.dtype, m: int, n: int) -> Args:
    logp = -normal(dtype, m, n).abs()
    return logp, logp + 0.1 * normal(dtype, m, n), normal(dtype, m), mask(m, n)


def attention_backward(dtype: torch.dtype, *size: int) -> Args:
    """o and lse come from our own forward pass."""
    from graded_kernels.kernels.attention import attention_forward

    q, k, v, do = (normal(dtype, *size) for _ in range(4))
    return do, q, k, v, *attention_forward(q, k, v)


def pieces_of_attention(dtype: torch.dtype, *size: int) -> Args:
    return tuple(part for _ in range(2) for part in (normal(dtype, *size), normal(torch.float32, *size[:-1])))


def products(count: int) -> Callable[..., int]:
    """Operations of ``count`` matrix products of queries and keys."""
    return lambda b, h, m, d: 2 * count * b * h * m * m * d


def gradient_bytes(vectors: int, saved: int) -> Callable[..., int]:
    """dy and x read, dx written; ``vectors`` of the columns, ``saved`` numbers a row."""
    return lambda dy, x, *_: (3 * x.numel() + vectors * x.shape[1]) * x.element_size() + 4 * saved * len(x)


def softmax(dtype: torch.dtype, m: int, n: int) -> Args:
    return (normal(torch.float32, m, n).softmax(1).to(dtype),)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("axpy", ROWS, lambda dtype, *size: (2.5, *same(2)(dtype, *size))),
        Operation("row_sum", ROWS, same(1)),
        Operation("silu_forward", ROWS, same(1)),
        Operation("silu_backward", ROWS, same(2)),
        Operation("swiglu_forward", ROWS, same(2)),
        Operation("swiglu_backward", ROWS, same(3)),
        Operation("gelu_forward", ROWS, same(1)),
        Operation("gelu_backward", ROWS, same(2)),
        Operation("softcap_forward", ROWS, same(1)),
        Operation("softcap_backward", ROWS, same(2)),
        Operation("layer_norm_forward", ROWS, norm(2)),
        Operation("layer_norm_backward", ROWS, layer_norm_backward, moved=gradient_bytes(3, 2)),
        Operation("rms_norm_forward", ROWS, norm(1)),
        Operation("rms_norm_backward", ROWS, rms_norm_backward, moved=gradient_bytes(2, 1)),
        Operation("add_rms_norm", ROWS, lambda dtype, *size: (*same(2)(dtype, *size), normal(dtype, size[1]))),
        Operation("masked_softmax_forward", ROWS, lambda dtype, *size: (normal(dtype, *size), mask(*size))),
        Operation(
            "masked_softmax_backward", ROWS, lambda dtype, *size: (*same(1)(dtype, *size), *softmax(dtype, *size))
        ),
        Operation("cross_entropy_forward", LOGITS, lambda dtype, m, v: (normal(dtype, m, v), labels(m, v))),
        Operation("cross_entropy_backward", LOGITS, cross_entropy_backward),
        Operation("entropy_forward", LOGITS, same(1)),
        Operation("entropy_backward", LOGITS, entropy_backward),
        Operation("kl_forward", ROWS, same(2)),
        Operation("kl_backward", ROWS, same(3)),
        Operation(
            "gumbel_argmax", LOGITS, lambda dtype, *size: (normal(dtype, *size), torch.rand(*size, device="cuda"))
        ),
        Operation("gemma_norm", ROWS, norm(1)),
        Operation("adamw_step", ROWS, state_of_adamw),
        Operation("global_norm", ROWS, lambda dtype, m, n: ([normal(dtype, m // 8, n) for _ in range(8)],)),
        Operation("stochastic_round", ROWS, random_bits, dtypes=(torch.float32,)),
        Operation("rotary_forward", HEADS, positions),
        Operation("rotary_backward", HEADS, positions),
        Operation("group_advantage", GROUPS, same(1)),
        Operation("policy_loss_forward", ROWS, policy),
        Operation("policy_loss_backward", ROWS, lambda dtype, *size: (scalar(0.7), *policy(dtype, *size))),
        Operation("merge_attention", HEADS, pieces_of_attention),
        Operation("attention_forward", HEADS, same(3), flops=products(2)),
        Operation("attention_backward", HEADS, attention_backward, flops=products(5)),
        Operation(
            "matmul",
            SQUARES,
            lambda dtype, m, n, k: (normal(dtype, m, k), normal(dtype, k, n)),
            flops=lambda m, n, k: 2 * m * n * k,
        ),
        Operation(
            "linear_cross_entropy_forward_backward",
            LAYERS,
            lambda dtype, m, d, v: (normal(dtype, m, d), normal(dtype, v, d) / d**0.5, labels(m, v)),
            flops=lambda m, d, v: 6 * m * d * v,
        ),
    )
}


def untimed() -> list[str]:
    """The exercises in Triton without a row above."""
    answered = [e.name for e in EXERCISES.values() if isinstance(e, Exercise) and "triton" in e.backends]
    return [name for name in answered if name not in OPERATIONS]
