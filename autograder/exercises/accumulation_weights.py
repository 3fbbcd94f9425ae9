"""The mean over all tokens from means of micro-batches. Cases: transformers#34191, trl#5619, verl#4510 and #5366."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import accumulation_weights as wild
from ..judge import CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, Witness, case, draw
from .cases.rounding import EPS, floors, walk
from .cases.wording import AGAIN, KEEP_NOTHING


def weights(tokens: Tensor) -> Tensor:
    """tokens · R / their sum; zeros where that is 0."""
    return tokens.double() * tokens.shape[0] / tokens.sum().clamp(min=1)


def sum_floor(tokens: Tensor) -> Floors:
    """The total may be a float32 sum of R · A counts, in any order."""
    return floors(EPS * walk(tokens.numel()) * weights(tokens))


def counts(ranks: int, steps: int, *, low: int = 1, high: int = 4096) -> Values:
    """Tokens of each micro-batch."""
    return draw.integers(ranks, steps, low=low, high=high)


ALL = slice(None)
CASES = (
    case(
        "ordinary values",
        "Begin here: one rank and 6 micro-batches of 700 tokens. Write down what each of the 6 sums of losses is "
        "divided by in the mean over all tokens, and what it has been divided by already.",
        tokens=draw.full(1, 6, value=700),
    ),
    case(AGAIN, f"{KEEP_NOTHING} The counts differ here.", tokens=counts(1, 6)),
    case(
        "several ranks",
        "4 ranks of 3 micro-batches. Write down what each of the 12 sums of losses is divided by in the mean over all "
        "tokens, and what it has been divided by already.",
        tokens=counts(4, 3),
    ),
    case(
        "one rank",
        "One rank, 6 micro-batches: their means are added up, and nothing is averaged afterwards.",
        tokens=counts(1, 6),
    ),
    case(
        "one micro-batch a rank",
        "5 ranks with one micro-batch each: the ranks' results are averaged, which divides each of them by 5.",
        tokens=counts(5, 1),
    ),
    case("one of each", "One micro-batch on one rank: its mean is the mean.", tokens=counts(1, 1)),
    case(
        "equal counts",
        "All micro-batches are of one size, and the mean of the means is right: what does it multiply by?",
        tokens=draw.full(3, 5, value=700),
    ),
    case(
        "one long, many short",
        "Micro-batches of 4096 tokens beside others of 1 to 3: a factor belongs to a micro-batch, not to a rank.",
        tokens=counts(2, 8, high=3).put(4096, ALL, 0),
    ),
    case(
        "ranks of unlike sizes",
        "One rank has a hundred times the tokens of another: over which tokens is the total taken?",
        tokens=counts(3, 4).map(lambda tokens: tokens * torch.tensor([[1], [10], [100]])),
    ),
    case(
        "micro-batches without tokens",
        "Some micro-batches have no token: they weigh nothing, and the others share what there is.",
        tokens=counts(3, 4).put(0, [0, 2, 2], [1, 3, 0]),
    ),
    case(
        "a rank without tokens",
        "Rank 2 has no token, and it still takes part in the average over the ranks.",
        tokens=counts(4, 3).put(0, 2),
    ),
    case(
        "one token",
        "One token in all, in a 3 x 4 table: its loss is the mean.",
        tokens=draw.full(3, 4, value=0).put(1, 1, 2),
    ),
    case(
        "no token",
        "No token anywhere: every factor is 0. What is 0 / 0?",
        tokens=counts(3, 4).put(0, ALL),
        convention="no token",
    ),
    case(
        "no micro-batches",
        "Nothing was accumulated: an empty table goes in, an empty one comes out.",
        tokens=counts(3, 0),
    ),
    case("no ranks", "No ranks: an empty table goes in, an empty one comes out.", tokens=counts(0, 4)),
    case(
        "counts near a billion",
        "The total is more than an int32 holds, and so is a count times the ranks.",
        tokens=counts(4, 8, low=900_000_000, high=1_000_000_001),
    ),
    case("2048 micro-batches", "64 ranks of 32 micro-batches: the total of 2048 counts.", tokens=counts(64, 32)),
    case(
        "transposed",
        "The table is transposed: which of its dimensions are the ranks?",
        tokens=counts(5, 7).transposed(),
    ),
    case("every second column", "The stride of the last dimension is 2.", tokens=counts(3, 9).every_second()),
)

MEANS = WildBug(
    who="transformers before 4.46",
    thread="huggingface/transformers#34191",
    function=wild.mean_of_means,
    seen_by="several ranks",
    story="Every micro-batch counted the same. A token of a short one weighs as much as many of a long one.",
)
SQUARED = WildBug(
    who="verl in December 2025",
    thread="volcengine/verl#4510, verl-project/verl#5798",
    function=wild.divided_by_ranks,
    seen_by="several ranks",
    story="The divisor was multiplied by the ranks where it has to be divided by them: too small by their square.",
)
UNSCALED = WildBug(
    who="verl up to 0.7.0, in one mode,",
    thread="verl-project/verl#5366",
    function=wild.not_scaled,
    seen_by="several ranks",
    story="A sum over the tokens of all ranks. Then data parallelism averages the gradients, which divides once more.",
)
WINDOW = WildBug(
    who="trl 0.22.0 to 1.9.0",
    thread="huggingface/trl#5619, #6024",
    function=wild.wrong_window,
    seen_by="several ranks",
    story="Divided by the tokens of all that was generated, while a step accumulates only part of it: half, or twice.",
)
OWN = CommonMistake(
    who="a mean over each rank's own tokens",
    function=wild.own_rank,
    seen_by="ranks of unlike sizes",
    story="Right where all ranks have as many tokens. Otherwise those of a rank with few weigh more.",
)

# What shows the ranks; with one rank it is plain that a micro-batch counts by its tokens.
_SEVERAL_RANKS = (
    "several ranks",
    "one micro-batch a rank",
    "equal counts",
    "one long, many short",
    "ranks of unlike sizes",
    "micro-batches without tokens",
    "a rank without tokens",
    "one token",
    "counts near a billion",
    "2048 micro-batches",
)

accumulation_weights = Exercise(
    name="accumulation_weights",
    summary="R · tokens / Σ tokens: with these factors the means of micro-batches give the mean over all tokens",
    oracle=weights,
    outputs=(Output("weights", torch.float32),),
    cases=CASES,
    tolerance=Tolerance(1, 8, "A product, a quotient and a sum of counts, each rounded in float32.", sum_floor),
    hint="A mean times its number of tokens is a sum. Which number should divide all the sums, and what else does?",
    backends=("torch",),
    wild=(MEANS, SQUARED, UNSCALED, WINDOW, OWN),
    points=2,
    about=_SEVERAL_RANKS,
)

accumulation_witness = Witness(
    name="accumulation_witness",
    summary="(tokens,) on which the mean of means is off by more than 1 %",
    exercise=replace(
        accumulation_weights,
        tolerance=Tolerance(
            8,
            8,
            "A witness should convict at a glance: more than 1 %.",
            lambda tokens: floors(0.01 * weights(tokens).amax() if tokens.numel() else 0.0),
        ),
    ),
    bug=MEANS,
    asked="1 % of the largest right factor",
    hint="When is the mean of means the mean? Make micro-batches for which it is not.",
    complaint=lambda tokens: (
        "tokens is a table (R, A) of counts, with one token at least."
        if tokens.dim() != 2 or not tokens.sum()
        else f"A micro-batch of {int(tokens.min())} tokens: a count is not negative."
        if tokens.min() < 0
        else ""
    ),
    integers=frozenset({"tokens"}),
)
