"""The mean over all tokens from means of micro-batches. Cases: transformers#34191, trl#5619, verl#4510 and #5366."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...kernels.wild import accumulation_weights as wild
from ..run.contract import Args
from .cases.common import AGAIN, EPS, KEEP_NOTHING, View, as_it_is, every_second, transposed, walk
from .cases.rows import floors
from .record import Case, CommonMistake, Exercise, Floors, Inputs, Output, Tolerance, WildBug, Witness


def weights(tokens: Tensor) -> Tensor:
    """tokens · R / their sum; zeros where that is 0."""
    return tokens.double() * tokens.shape[0] / tokens.sum().clamp(min=1)


def sum_floor(tokens: Tensor) -> Floors:
    """The total may be a float32 sum of R · A counts, in any order."""
    return floors(EPS * walk(tokens.numel()) * weights(tokens))


def _drawn(
    ranks: int, steps: int, *, most: int = 4096, least: int = 1, without: View = as_it_is, view: View = as_it_is
) -> Inputs:
    """Counts from ``least`` to ``most``; ``without`` takes some of them away, ``view`` lays them out in memory."""
    return lambda generator: (view(without(torch.randint(least, most + 1, (ranks, steps), generator=generator))),)


def _zeros(*where: tuple[int | slice, int | slice]) -> View:
    """Returns what sets the counts at these places to 0."""

    def change(tokens: Tensor) -> Tensor:
        for row, column in where:
            tokens[row, column] = 0
        return tokens

    return change


def _one_token(generator: Generator) -> Args:
    tokens = torch.zeros(3, 4, dtype=torch.int64)
    tokens[1, 2] = 1
    return (tokens,)


ALL = slice(None)
CASES = tuple(
    Case(name, inputs, hint)
    for name, inputs, hint in (
        (
            "ordinary values",
            _drawn(4, 3),
            "Begin here: 4 ranks of 3 micro-batches. Write down what each of the 12 sums of losses is divided by in "
            "the mean over all tokens, and what it has been divided by already.",
        ),
        (AGAIN, _drawn(4, 3), KEEP_NOTHING),
        (
            "one rank",
            _drawn(1, 6),
            "One rank, 6 micro-batches: their means are added up, and nothing is averaged afterwards.",
        ),
        (
            "one micro-batch a rank",
            _drawn(5, 1),
            "5 ranks with one micro-batch each: the ranks' results are averaged, which divides each of them by 5.",
        ),
        ("one of each", _drawn(1, 1), "One micro-batch on one rank: its mean is the mean."),
        (
            "equal counts",
            lambda generator: (torch.full((3, 5), 700),),
            "All micro-batches are of one size, and the mean of the means is right: what does it multiply by?",
        ),
        (
            "one long, many short",
            _drawn(2, 8, most=3, without=lambda tokens: tokens.index_fill_(1, torch.tensor([0]), 4096)),
            "Micro-batches of 4096 tokens beside others of 1 to 3: a factor belongs to a micro-batch, not to a rank.",
        ),
        (
            "ranks of unlike sizes",
            _drawn(3, 4, without=lambda tokens: tokens * torch.tensor([[1], [10], [100]])),
            "One rank has a hundred times the tokens of another: over which tokens is the total taken?",
        ),
        (
            "micro-batches without tokens",
            _drawn(3, 4, without=_zeros((0, 1), (2, 3), (2, 0))),
            "Some micro-batches have no token: they weigh nothing, and the others share what there is.",
        ),
        (
            "a rank without tokens",
            _drawn(4, 3, without=_zeros((2, ALL))),
            "Rank 2 has no token, and it still takes part in the average over the ranks.",
        ),
        ("one token", _one_token, "One token in all, in a 3 x 4 table: its loss is the mean."),
        (
            "no token",
            _drawn(3, 4, without=torch.zeros_like),
            "No token anywhere: every factor is 0. What is 0 / 0?",
        ),
        ("no micro-batches", _drawn(3, 0), "Nothing was accumulated: an empty table goes in, an empty one comes out."),
        ("no ranks", _drawn(0, 4), "No ranks: an empty table goes in, an empty one comes out."),
        (
            "counts near a billion",
            _drawn(4, 8, least=900_000_000, most=1_000_000_001),
            "The total is more than an int32 holds, and so is a count times the ranks.",
        ),
        ("2048 micro-batches", _drawn(64, 32), "64 ranks of 32 micro-batches: the total of 2048 counts."),
        (
            "transposed",
            _drawn(5, 7, view=transposed),
            "The table is transposed: which of its dimensions are the ranks?",
        ),
        ("every second column", _drawn(3, 9, view=every_second), "The stride of the last dimension is 2."),
    )
)
CASES = tuple(replace(case, convention="no token") if case.name == "no token" else case for case in CASES)

MEANS = WildBug(
    who="transformers before 4.46",
    thread="huggingface/transformers#34191",
    function=wild.mean_of_means,
    seen_by="ordinary values",
    story="Every micro-batch counted the same. A token of a short one weighs as much as many of a long one.",
)
SQUARED = WildBug(
    who="verl in December 2025",
    thread="volcengine/verl#4510, verl-project/verl#5798",
    function=wild.divided_by_ranks,
    seen_by="ordinary values",
    story="The divisor was multiplied by the ranks where it has to be divided by them: too small by their square.",
)
UNSCALED = WildBug(
    who="verl up to 0.7.0, in one mode,",
    thread="verl-project/verl#5366",
    function=wild.not_scaled,
    seen_by="ordinary values",
    story="A sum over the tokens of all ranks. Then data parallelism averages the gradients, which divides once more.",
)
WINDOW = WildBug(
    who="trl 0.22.0 to 1.9.0",
    thread="huggingface/trl#5619, #6024",
    function=wild.wrong_window,
    seen_by="ordinary values",
    story="Divided by the tokens of all that was generated, while a step accumulates only part of it: half, or twice.",
)
OWN = CommonMistake(
    who="a mean over each rank's own tokens",
    function=wild.own_rank,
    seen_by="ranks of unlike sizes",
    story="Right where all ranks have as many tokens. Otherwise those of a rank with few weigh more.",
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
    about=("ranks of unlike sizes", "a rank without tokens", "one micro-batch a rank", "no token"),
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
            lambda tokens: floors(0.01 * weights(tokens)),
        ),
    ),
    bug=MEANS,
    hint="When is the mean of means the mean? Make your micro-batches otherwise.",
    complaint=lambda tokens: (
        "tokens is a table (R, A) of counts, with one token at least."
        if tokens.dim() != 2 or not tokens.sum()
        else f"A micro-batch of {int(tokens.min())} tokens: a count is not negative."
        if tokens.min() < 0
        else ""
    ),
    integers=frozenset({"tokens"}),
)
