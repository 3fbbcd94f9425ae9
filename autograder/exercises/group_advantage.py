"""The advantage of a sample in its group. Cases: NVIDIA-NeMo/RL#1518, #4158 and #4161, trl#5902, OpenRLHF's 1e-9."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...kernels.wild import group_advantage as wild
from ..judge import Category, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, Witness, case, draw
from .cases.rounding import EPS, floors, leaning_walk, walk
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP


def statistics(rewards: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(scored, n, mean, std) of each row: which rewards count, how many, their mean and their deviation with n - 1."""
    scored = ~rewards.isnan()
    n = scored.sum(1, keepdim=True)
    mean = rewards.where(scored, 0.0).sum(1, keepdim=True) / n.clamp(min=1)
    squares = (rewards - mean).square().where(scored, 0.0).sum(1, keepdim=True)
    return scored, n, mean, (squares / (n - 1).clamp(min=1)).sqrt()


def differing(rewards: Tensor) -> Tensor:
    """(P, 1): whether two scored rewards of a row differ."""
    if not rewards.shape[1]:
        return torch.zeros(len(rewards), 1, dtype=torch.bool)
    smallest, largest = rewards.nan_to_num(torch.inf).amin(1), rewards.nan_to_num(-torch.inf).amax(1)
    return (largest > smallest).unsqueeze(1)


def advantages(rewards: Tensor, eps: float = 1e-6) -> Tensor:
    """(r - mean) / (std + eps); 0 for NaN, and where no two scored rewards of the row differ."""
    scored, _, mean, std = statistics(rewards)
    return ((rewards - mean) / (std + eps)).where(scored & differing(rewards), 0.0)


def floor(rewards: Tensor, eps: float = 1e-6) -> Floors:
    """The mean is a sum rounded in any order, lost from every r - mean and from std; and std is half as wrong as the
    sum of squares. Nothing where the result is to be 0.
    """
    scored, n, _, std = statistics(rewards)
    size = rewards.abs().where(scored, 0.0).sum(1, keepdim=True) / n.clamp(min=1)
    lost = EPS * (4 + walk(rewards.shape[1])) * size / (std + eps)
    y = advantages(rewards, eps).abs()
    return floors((lost * (1 + y) + EPS * (8 + leaning_walk(rewards.shape[1])) * y).where(y > 0, 0.0))


LARGE = 300.0  # a standard deviation beside which no eps shows


def rewards(groups: int, samples: int, *, mean: float = 0.4, scale: float = 0.3) -> Values:
    """Rewards around ``mean``."""
    return draw.normal(groups, samples).scale(scale).plus(mean)


def binary(generator: Generator) -> Tensor:
    """0 and 1, from one winner a group to one loser."""
    won = torch.zeros(9, 8)
    for row, winners in enumerate((1, 1, 2, 3, 4, 5, 6, 7, 7)):
        won[row, torch.randperm(8, generator=generator)[:winners]] = 1
    return won


def equal(samples: int) -> Values:
    """Groups all of whose rewards are one number, in each another."""
    numbers = (0.35, 0.1, 0.2, 0.3, 0.4, 0.7, 0.9, 1.1, -1 / 3, 0.0, 1.0, 9999.9)
    return draw.tensor([[number] * samples for number in numbers])


EQUAL_BUT_ONE = draw.tensor([[number] * 8 for number in (0.35, 0.4, 0.3, 0.95, 0.1, 0.7)]).put(
    (0.95, 0.0, 1.0, 0.0, 0.9, 0.2), slice(None), 3
)


def unscored(rewards: Tensor) -> None:
    """One NaN in row 0, most of row 1, every second one in row 2."""
    rewards[0, 3], rewards[1, 2:], rewards[2, ::2] = torch.nan, torch.nan, torch.nan


def unscored_and_equal(rewards: Tensor) -> None:
    """The scored rewards of a row are one number."""
    rewards[:] = torch.tensor([0.35, 0.7, 0.1, 0.9]).unsqueeze(1)
    rewards[0, 0], rewards[1, 5:], rewards[2, ::2], rewards[3, 7] = (torch.nan,) * 4


def few_scored(rewards: Tensor) -> None:
    """None scored in row 0, one in rows 1 and 2, two in row 3."""
    rewards[:3] = torch.nan
    rewards[1, 0], rewards[2, 5] = 0.7, -1.0
    rewards[3, 2:] = torch.nan


def every_kind(rewards: Tensor) -> None:
    """An equal row, one that is scored once and one that is not scored."""
    rewards[0], rewards[1, 1:], rewards[2] = 0.35, torch.nan, torch.nan


EQUAL_HINT = (
    "All rewards of a group are one number, and its advantages exactly 0. Is the mean of equal numbers that number, "
    "after rounding? Do not look at std: compare the rewards."
)

CASES = (
    # Here eps shows at every seed, and where rewards are LARGE at none.
    case(
        "ordinary values",
        "Begin here: 7 groups of 100 rewards. " + STEP_BY_STEP,
        rewards=rewards(7, 100, mean=0.04, scale=0.03),
    ),
    case(AGAIN, KEEP_NOTHING, rewards=rewards(7, 100, mean=0.04, scale=0.03)),
    case("right or wrong", "Rewards of 0 and 1, from one winner among 8 to one loser.", rewards=draw.by(binary)),
    case(
        "one of 8 differs",
        "Seven rewards of a group are equal and one differs: ±2.47 for that one, ∓0.35 for the others. Each "
        "counts in its own group's mean and std.",
        rewards=EQUAL_BUT_ONE,
    ),
    case("8 equal rewards", EQUAL_HINT, rewards=equal(8)),
    case("7 equal rewards", EQUAL_HINT, rewards=equal(7)),
    case("1000 equal rewards", EQUAL_HINT, rewards=equal(1000)),
    case(
        "nothing but zeros",
        "All rewards are 0, and so are all advantages: another tensor, not the one that came in.",
        rewards=draw.full(5, 8, value=0.0),
        category=Category.EDGES,
    ),
    case(
        "some unscored",
        "A NaN is a sample without a score. It gets 0, and the others are compared with each other: their own "
        "mean, their own number in n - 1.",
        rewards=rewards(6, 8, scale=LARGE).change(unscored),
    ),
    case("some unscored, the others equal", EQUAL_HINT, rewards=rewards(4, 8).change(unscored_and_equal)),
    case(
        "few scored",
        "No reward is scored in row 0, one in rows 1 and 2: there is nothing to compare it with, and the row is 0. "
        "n - 1 is 0 or less there.",
        rewards=rewards(5, 6, scale=LARGE).change(few_scored),
    ),
    case(
        "one sample a group", "One sample has nothing to be compared with: its advantage is 0.", rewards=rewards(6, 1)
    ),
    case(
        "2 samples a group",
        "Two samples: the one is above the mean by as much as the other is below.",
        rewards=rewards(40, 2, scale=100 * LARGE),
    ),
    case(
        "a large mean",
        "Rewards near 1000 that differ by a tenth. Do you subtract two large numbers that are nearly equal?",
        rewards=rewards(5, 16, mean=1000.0, scale=0.1),
    ),
    case(
        "rewards of a millionth",
        "std is as small as eps, which is 1e-6 and is added to std, outside the root.",
        rewards=rewards(6, 8, mean=0.0, scale=2e-6),
    ),
    case("eps = 0.1", "eps is 0.1 here. Is it used, and is it added to std?", rewards=rewards(5, 8), eps=0.1),
    case(
        "eps = 0",
        "eps is 0. A group of equal rewards is 0, and so is one with a single score. What is 0 / 0?",
        rewards=rewards(6, 8).change(every_kind),
        eps=0.0,
    ),
    case(
        "rewards of thousands",
        "Rewards up to 10,000, whose squares are 1e8.",
        rewards=rewards(5, 8, mean=-500.0, scale=4000.0),
    ),
    case(
        "3 samples a group",
        "Groups of 3 in a block of 4: what does the fourth lane add to the sums?",
        rewards=rewards(50, 3, scale=100 * LARGE),
    ),
    case(
        "17 samples a group",
        "Groups of 17 in a block of 32: the other 15 lanes are neither in the sums nor in the number.",
        rewards=rewards(9, 17, mean=-2.0, scale=LARGE),
    ),
    case(
        "1000 samples a group",
        "1000 samples leave 24 lanes of a block of 1024 empty.",
        rewards=rewards(4, 1000, mean=3.0),
    ),
    case(
        "4097 samples a group",
        "One sample more than 4096. Is it read, counted, written?",
        rewards=rewards(3, 4097, mean=3.0),
    ),
    case("many groups", "400 groups. Does every one find a program?", rewards=rewards(400, 64)),
    case("no groups", "No groups go in, no groups come out.", rewards=rewards(0, 8)),
    case(
        "transposed",
        "Transposed: the rewards of a group are not neighbours in memory.",
        rewards=rewards(37, 23, scale=LARGE).transposed(),
    ),
    case(
        "groups with gaps",
        "Groups of 27, 60 apart in memory, NaN between them.",
        rewards=rewards(9, 27, scale=LARGE).with_gaps(),
    ),
    case(
        "every second column",
        "The stride of the last dimension is 2.",
        rewards=rewards(9, 21, scale=LARGE).every_second(),
    ),
    case(BEYOND, BEYOND_HINT, rewards=rewards(3, 12, scale=LARGE).far_apart()),
)

UNGUARDED = WildBug(
    who="NeMo-RL's main in November 2025",
    thread="NVIDIA-NeMo/RL#1518",
    function=wild.leave_one_out,
    seen_by="right or wrong",
    story="Each sample was compared with the others alone. One winner among losers: their std is 0, and 1 / 1e-6 is a "
    "million.",
)
GUARDED = WildBug(
    who="NeMo-RL 0.4.0 to 0.7.0",
    thread="NVIDIA-NeMo/RL#4158, #4161",
    function=wild.leave_one_out_guarded,
    seen_by="one of 8 differs",
    story="The guard std > 0 asks √(E[r²] - E[r]²), which of equal rewards is 0 only where their squares do not round.",
)
TINY_EPSILON = WildBug(
    who="OpenRLHF 0.6.0 to 0.11.0",
    thread="OpenRLHF's experience_maker.py, group_norm",
    function=wild.tiny_epsilon,
    seen_by="7 equal rewards",
    story="The mean of eight equal rewards is one rounding off, std is 0, and 3e-8 / 1e-9 is an advantage of 30.",
)
AS_ZERO = WildBug(
    who="trl before 1.6.0",
    thread="huggingface/trl#5775, #5902",
    function=wild.unscored_as_zero,
    seen_by="some unscored",
    story="A completion that nothing scored got a reward of 0. Among negative rewards that is the best one.",
)
BIASED = CommonMistake(
    who="a standard deviation with n",
    function=wild.biased_std,
    seen_by="ordinary values",
    story="np.std divides by n, torch.std by n - 1. In groups of 8 that is 7 %.",
)
AS_IT_IS = CommonMistake(
    who="a group of one whose advantage is its reward",
    function=wild.group_of_one_as_it_is,
    seen_by="one sample a group",
    story="Mean 0 and std 1 where there is one sample: every reward above 0 is then better than average.",
)

group_advantage = Exercise(
    name="group_advantage",
    summary="(r - mean) / (std + eps) in each row, of the rewards that are not NaN; exactly 0 where no two differ",
    oracle=advantages,
    outputs=(Output("advantage", torch.float32),),
    cases=CASES,
    tolerance=Tolerance(
        1,
        8,
        "The mean is a float32 sum in any order, subtracted from every reward; std is half as wrong as the sum of "
        "squares.",
        floor,
    ),
    hint="Which rewards count, and how many? Two of them have to differ before anything is divided.",
    wild=(UNGUARDED, GUARDED, TINY_EPSILON, AS_ZERO, BIASED, AS_IT_IS),
    points=4,
    least_bytes=lambda rewards, eps=1e-6: rewards.numel() * (rewards.element_size() + 4),
    traffic=1.05,
    about=(
        *("8 equal rewards", "7 equal rewards", "1000 equal rewards", "some unscored"),
        *("some unscored, the others equal", "few scored", "one sample a group"),
    ),
)


def leave_one_out(rewards: Tensor, eps: float = 1e-6) -> Tensor:
    """(r - mean) / (std + eps) of the others' mean and std, with n - 1; r - mean where the others are equal."""
    n = rewards.shape[1] - 1
    d = rewards - rewards.amin(1, keepdim=True)
    mean = (d.sum(1, keepdim=True) - d) / n
    variance = ((d * d).sum(1, keepdim=True) - d * d) / n - mean * mean
    std = (variance * n / max(n - 1, 1)).clamp(min=0).sqrt()
    low, high = rewards.sort(1).values[:, :2], rewards.sort(1).values[:, -2:]
    smallest = torch.where(rewards == low[:, :1], low[:, 1:], low[:, :1])
    largest = torch.where(rewards == high[:, 1:], high[:, :1], high[:, 1:])
    return torch.where(largest > smallest, (d - mean) / (std + eps), d - mean)


def witness_floor(rewards: Tensor, eps: float = 1e-6) -> Floors:
    """An advantage above 100, where the leave-one-out formula gives less without rounding."""
    return floors((100 - leave_one_out(rewards, eps).abs()).clamp(min=0))


advantage_witness = Witness(
    name="advantage_witness",
    summary="(rewards,) on which the leave-one-out advantage behind the guard std > 0 exceeds 100",
    exercise=replace(
        group_advantage,
        oracle=leave_one_out,
        tolerance=Tolerance(
            1,
            0,
            "Where the others nearly agree the formula itself gives a large advantage; a witness shows one above "
            "100 that is due to rounding.",
            witness_floor,
        ),
    ),
    bug=GUARDED,
    asked="what lifts an advantage to 100",
    hint="All but one are equal, and their squares have to round. Which numbers have a square that is no float32?",
    complaint=lambda rewards, eps=1e-6: (
        "rewards is a matrix (P, G), finite, with two samples a group at least."
        if rewards.dim() != 2 or not len(rewards) or rewards.shape[1] < 2 or not rewards.isfinite().all()
        else f"Without any rounding an advantage is {largest:.4g} here. Give rewards for which it is 100 at most."
        if (largest := float(leave_one_out(rewards.double(), eps).abs().max())) > 100
        else ""
    ),
)
