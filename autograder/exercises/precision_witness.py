"""Parts of a block that may round too early. Cases: transformers#25681, Liger-Kernel#1462, FlagGems#309."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import early_rounding as wild
from ...kernels.wild import rotary as wild_rotary
from .cases.suspect import first, suspect

ROWS = 8  # of the embedding
LONGEST = 4096  # gradients, one by one


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Pair (i, i + D/2) of each row of x (T, D) turned by its position · 10000^(-2i/D) radians; in x's dtype.
    positions: (T,) int64, 0 to 2^20.
    """
    angle = positions.unsqueeze(1) * _inv_freq(x.shape[1])
    left, right = x.chunk(2, 1)
    return torch.cat((left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()), 1)


def scaled_norm(x: Tensor, weight: Tensor) -> Tensor:
    """x / sqrt(mean(x²) + 1e-6) · (1 + weight) for each row of x (M, N); in x's dtype. weight: (N,), of any dtype."""
    return x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt() * (1 + weight)


def embedding_gradient(dy: Tensor, tokens: Tensor) -> Tensor:
    """The gradient (8, D) of a table of 8 embeddings: row v is the sum of the rows of dy (T, D) whose token is v; in
    dy's dtype. tokens: (T,) int64, 0 to 7; T at most 4096.
    """
    return torch.zeros(ROWS, dy.shape[1], dtype=dy.dtype).index_add(0, tokens, dy)


def _inv_freq(width: int) -> Tensor:
    return 10_000.0 ** -(torch.arange(0, width, 2).double() / width)


def _half_positions(x: Tensor, positions: Tensor) -> Tensor:
    turn: Callable[..., Tensor] = wild_rotary.rotary_half_positions
    return turn(x[None, None], positions[None], _inv_freq(x.shape[1]).float())[0, 0]


def _no_rotary(x: Tensor, positions: Tensor) -> str:
    return first(
        (x.dim() == 2 and x.numel() > 0 and x.shape[1] % 2 == 0, "x is a matrix (T, D) with an even D."),
        (positions.shape == x.shape[:1], "positions are (T,): one for each row of x."),
        (bool(((positions >= 0) & (positions <= 2**20)).all()), "positions lie between 0 and 2^20."),
    )


def _no_norm(x: Tensor, weight: Tensor) -> str:
    return first(
        (x.dim() == 2 and x.numel() > 0, "x is a matrix (M, N)."),
        (weight.shape == x.shape[1:], "weight is (N,): one for each column of x."),
        (bool((x.abs() <= 1e4).all() and (weight.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    )


def _no_gradient(dy: Tensor, tokens: Tensor) -> str:
    return first(
        (dy.dim() == 2 and dy.numel() > 0 and len(dy) <= LONGEST, f"dy is a matrix (T, D), T at most {LONGEST}."),
        (tokens.shape == dy.shape[:1], "tokens are (T,): one for each row of dy."),
        (bool(((tokens >= 0) & (tokens < ROWS)).all()), f"tokens lie between 0 and {ROWS - 1}."),
        (bool((dy.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    )


def _length(x: Tensor) -> Tensor:
    """The length of the pair that each element belongs to."""
    return torch.hypot(*x.chunk(2, 1)).repeat(1, 2)


SUSPECTS = (
    suspect(
        rotary,
        "x",
        _half_positions,
        thread="huggingface/transformers#25681",
        story="transformers 4.31.0 made the positions of a long sequence in the dtype of the model. bfloat16 has no "
        "number between 256 and 258.",
        apart=lambda x, positions: 0.2 * _length(x),
        asked="a fifth of a pair's length",
        complaint=_no_rotary,
        hint="Which numbers does it compute besides x, and in which dtype can they be held? Begin with the largest.",
        integers=("positions",),
    ),
    suspect(
        scaled_norm,
        "x",
        wild.scaled_norm_in_the_weights_dtype,
        thread="linkedin/Liger-Kernel#1462",
        story="Liger-Kernel 0.8.3 and 0.8.4 added the 1 in the dtype of the weight: in bfloat16 .00390625 + 1 is 1.",
        apart=lambda x, weight: 0.002 * scaled_norm(x, weight).abs(),
        asked="0.2 % of the right value",
        complaint=_no_norm,
        hint="1 + weight has a dtype of its own. In which dtype of the result is its rounding seen, and where not?",
    ),
    suspect(
        embedding_gradient,
        "dy",
        wild.embedding_gradient_added_in_half,
        thread="FlagOpen/FlagGems#309",
        story="FlagGems added each row to the gradient in its dtype, one by one. In bfloat16 256 + 1 is 256.",
        apart=lambda dy, tokens: 0.1 * embedding_gradient(dy.abs(), tokens),
        asked="a tenth of the sum of |dy|",
        complaint=_no_gradient,
        hint="A sum of many terms. From where on does adding one more change nothing?",
        integers=("tokens",),
    ),
)

precision_witness = replace(
    SUSPECTS[0],
    name="precision_witness",
    summary="for each of rotary, scaled_norm and embedding_gradient arguments that show the planted bug",
    others=SUSPECTS[1:],
)
