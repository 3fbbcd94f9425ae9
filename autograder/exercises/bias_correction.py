"""Says what Adam's bias corrections do to the learning rate at each step. Cases: pytorch/ao#4915, OLMo-core#309,
mlx#1640.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import adamw as wild
from ..judge import CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, Witness, case, draw
from .cases.rounding import EPS
from .cases.wording import AGAIN, KEEP_NOTHING


def corrections(steps: Tensor, beta1: float = 0.9, beta2: float = 0.999) -> Tensor:
    """√(1 - β₂^t) / (1 - β₁^t) in float64."""
    t = steps.double()
    return (1 - beta2**t).sqrt() / (1 - beta1**t)


def lost(beta: float, t: Tensor) -> Tensor:
    """Returns what 1 - β^t may lose in float32, as a share of it: β is rounded, so is its power, and 1 cancels most of
    it.
    """
    power = beta**t
    return EPS * (t * beta ** (t - 1) + 2 * power) / (1 - power)


def floor(steps: Tensor, beta1: float = 0.9, beta2: float = 0.999) -> Floors:
    """Both corrections in float32, the one of β₂ below a root."""
    t = steps.double()
    return (corrections(steps, beta1, beta2) * (lost(beta1, t) + lost(beta2, t) / 2),)


def steps(*sizes: int, low: int = 1, high: int = 256) -> Values:
    """Steps from ``low`` to ``high``."""
    return draw.integers(*sizes, low=low, high=high)


SATURATES = (
    "In bfloat16 the number after 256 is 258, and 256 + 1 is rounded back to 256. Which dtype does the step have when "
    "the power is taken?"
)
COUNTER = WildBug(
    who="torchao 0.4.0 to 0.18.0, with bfloat16 as the default dtype,",
    thread="pytorch/ao#4915",
    function=wild.bias_correction_counter,
    seen_by="steps 250 to 2500",
    story="The counter is a tensor of the default dtype. In bfloat16 256 + 1 is 256, and it stands still.",
)
NEVER_COUNTED = WildBug(
    who="OLMo-core 1.8.0 to 2.1.0 (SkipStepAdamW)",
    thread="allenai/OLMo-core#309, #317",
    function=wild.bias_correction_first,
    seen_by="ordinary values",
    story="The step was never incremented: each one was corrected as if it were the first.",
)
BETAS = CommonMistake(
    who="betas cut off to bfloat16",
    function=wild.bias_correction_bfloat16_betas,
    seen_by="ordinary values",
    story="0.999 becomes 0.996, a mean over 256 steps in place of 1000. So does 0.9999.",
)
NONE = WildBug(
    who="mlx up to 0.21.0, and by default to 0.32.1,",
    thread="ml-explore/mlx#1640",
    function=wild.bias_correction_none,
    seen_by="the first steps",
    story="No correction at all: the first step is √(1 - β₂) / (1 - β₁) = 0.316 times what a factor of 1 assumes.",
)
ROOT = CommonMistake(
    who="a correction of v without the root",
    function=wild.bias_correction_no_root,
    seen_by="the first steps",
    story="v is a mean of squares. What divides the gradient is its root, and so is what corrects it.",
)

bias_correction = Exercise(
    name="bias_correction",
    summary="√(1 - β₂^t) / (1 - β₁^t) for each step t",
    oracle=corrections,
    outputs=(Output("factor", torch.float32),),
    cases=(
        case(
            "ordinary values",
            "Begin here: 300 steps from 100 to 256. Work one out by hand: β₁^t, β₂^t, two differences from 1, a root.",
            steps=steps(300, low=100),
        ),
        case(AGAIN, KEEP_NOTHING, steps=steps(300, low=100)),
        case("the first steps", "At step 1 the factor is √0.001 / 0.1.", steps=draw.tensor([1, 2, 3, 4, 5, 10])),
        case("steps 250 to 2500", SATURATES, steps=draw.tensor(range(250, 2501))),
        case(
            "large steps",
            "Long runs: both powers are 0, and the factor is 1. In float16 65,520 is infinite.",
            steps=draw.tensor([2047, 2048, 2049, 65_504, 65_520, 100_000, 16_777_217, 2**31 + 1]),
        ),
        case(
            "other betas",
            "beta1 is 0.8 and beta2 0.95 here: are they used?",
            steps=steps(200),
            beta1=0.8,
            beta2=0.95,
        ),
        case(
            "no momentum",
            "beta1 is 0: 1 - 0^t is 1 at each step.",
            steps=draw.tensor(range(1, 257)),
            beta1=0.0,
            beta2=0.99,
        ),
        case("one step", "One step.", steps=steps(1, low=100)),
        case("no dimensions", "steps.shape may be ().", steps=steps(low=100)),
        case("no steps", "No step goes in, no factor comes out.", steps=steps(0)),
        case("transposed", "A transposed matrix: any strides will do.", steps=steps(17, 23).transposed()),
        case("every second column", "The stride of the last dimension is 2.", steps=steps(5, 31).every_second()),
    ),
    tolerance=Tolerance(1, 8, "1 - β^t in float32: β and its power are rounded, and the difference cancels.", floor),
    hint="Convert the steps before the power is taken, to a dtype that holds each of them.",
    backends=("torch",),
    wild=(COUNTER, NEVER_COUNTED, BETAS, NONE, ROOT),
    points=2,
    about=("steps 250 to 2500", "large steps", "the first steps"),
)

counter_witness = Witness(
    name="counter_witness",
    summary="(steps,) at which a counter in bfloat16 makes the step less than half as long",
    exercise=replace(
        bias_correction,
        tolerance=Tolerance(
            0, 0, "A factor of two.", lambda steps, beta1=0.9, beta2=0.999: (corrections(steps, beta1, beta2) / 2,)
        ),
    ),
    bug=COUNTER,
    asked="half of the right factor",
    hint="The counter ends at 256, so its factor does. The right one goes on to 1: when is it twice as large?",
    complaint=lambda steps, beta1=0.9, beta2=0.999: (
        "A step is 1 or above, and there is one at least."
        if not steps.numel() or steps.min() < 1
        else "Leave the betas at 0.9 and 0.999."
        if (beta1, beta2) != (0.9, 0.999)
        else ""
    ),
    integers=frozenset({"steps"}),
)
