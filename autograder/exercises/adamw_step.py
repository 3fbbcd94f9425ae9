"""One step of AdamW, in place. Cases: pytorch/ao#4915, optax#1754, bitsandbytes#2010, OLMo-core#309."""

import torch
from torch import Tensor

from ...kernels.wild import adamw as wild
from ..judge import HALVES, Arguments, Case, CommonMistake, Exercise, Floors, Tolerance, WildBug, case, draw
from ..runner import dtype_name
from .bias_correction import lost
from .cases.rounding import EPS
from .cases.wording import A_REST, AGAIN, KEEP_NOTHING, NAN_IN, ONE_BLOCK, STEP_BY_STEP

UNDERFLOW = 1.2e-38  # a square below is 0 on some machines
F16, BF16 = torch.float16, torch.bfloat16


def moments(grad: Tensor, m: Tensor, v: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    """The running means of the gradient and of its square."""
    return beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad


def adamw(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """param (1 - lr λ) - lr m̂ / (√v̂ + ε), and the new m and v, from the state as it is given."""
    m, v = moments(grad, m, v, beta1, beta2)
    update = m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps)
    return param * (1 - lr * weight_decay) - lr * update, m, v


def floor(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> Floors:
    """In float32 β and 1 - β are rounded, by up to half an EPS of 1; so are the products, and a sum may cancel. The
    update has what m lost, half of what v lost as a share of it, and what the two corrections lose.
    """
    new_m, new_v = moments(grad, m, v, beta1, beta2)
    in_m = EPS * (2 * m.abs() + grad.abs())
    in_v = EPS * (2 * v + grad * grad) + UNDERFLOW
    root = (new_v / (1 - beta2**step)).sqrt()
    share = in_v / (2 * new_v).clamp(min=UNDERFLOW) * root / (root + eps)
    t = torch.tensor(float(step), dtype=torch.float64)
    share = share.clamp(max=1) + lost(beta1, t) + lost(beta2, t) / 2 + 8 * EPS
    update = (new_m.abs() * share + in_m) / (1 - beta1**step) / (root + eps)
    return 2 * EPS * param.abs() + abs(lr) * update, in_m, in_v


def update(*sizes: int, step: int = 10, scale: float = 1.0, weights: float = 1.0, fresh: bool = False) -> Arguments:
    """Weights, gradients with some zeros, and m and v as steps with gradients of this size leave them; zeros before the
    first step. scale, weights: the size of gradients and of weights.
    """
    drawn = Arguments.named(param=draw.normal(*sizes).scale(weights), grad=draw.gradient(*sizes).scale(scale))
    return state(drawn, *sizes, step=step, scale=scale, fresh=fresh)


def state(given: Arguments, *sizes: int, step: int, scale: float = 1.0, fresh: bool = False) -> Arguments:
    """The same with m, v and step."""
    if fresh:
        return given.but(m=draw.full(*sizes, value=0.0), v=draw.full(*sizes, value=0.0), step=step)
    v = draw.uniform(*sizes).map(lambda x: scale * scale * (0.1 + 0.3 * x))
    return given.but(v=v, m=draw.normal(*sizes).scale(0.3 * scale), step=step)


def same_gradients(value: float) -> Arguments:
    """First step; each gradient is ±value, or 0. Of the weights the small ones show more."""
    grad = draw.integers(300, low=-1, high=1).scale(value)
    param = draw.normal(300).map(lambda x: x * torch.tensor([1.0, 1e-3]).repeat(150))
    return state(Arguments.named(grad=grad, param=param), 300, step=1, fresh=True)


def large_weights() -> Arguments:
    """Weights from ±1000 on, of which in bfloat16 a step of 0.1 is far less than half an ulp, and their decay more."""
    param = draw.signs(500).times(draw.uniform(500).scale(3000).plus(1000))
    return Arguments.named(param=param, grad=draw.gradient(500))


def numbers(given: Arguments, *, lr: float, **other: float) -> Arguments:
    """With this learning rate and Adam's own numbers, without a decay, but for ``other``."""
    return given.but(lr=lr, **{"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0} | other)


def near_half_an_ulp(lr: float, dtype: torch.dtype) -> Arguments:
    """Weights of ±[0.5, 1), whose neighbours are an ulp apart, and a first step of lr times an ulp."""
    ulps = 2 ** (7 if dtype == BF16 else 10)  # from 0.5 to 1
    size = draw.integers(400, low=ulps, high=2 * ulps - 1).map(lambda x: x / (2.0 * ulps))
    drawn = Arguments.named(param=size.times(draw.signs(400)), grad=draw.signs(400)).each(draw.same.to(dtype), *BOTH)
    return numbers(state(drawn, 400, step=1, fresh=True), lr=lr / (2.0 * ulps))


BOTH = ("param", "grad")
FAR_FROM_EPS = draw.gradient(300).map(lambda g: g + g.sign())
TO_F16, TO_BF16 = draw.same.to(F16), draw.same.to(BF16)
COUNTED = (
    "Step {}: in bfloat16 a counter ends at 256, and in float16 at 2048. A Python number counts on. Which dtype has "
    "the step where the power is taken?"
)
HALF = (
    "Weights in {}, and a first step of {} half a step between two of them. The sum is taken in float32 and rounded "
    "once: either neighbour is a right result of one element, and the mean of all must not lean to one side."
)


def _rounded(where: str, lr: float, dtype: torch.dtype) -> Case:
    name = dtype_name(dtype)
    return case(f"{name}, {where} half an ulp", HALF.format(name, where), near_half_an_ulp(lr, dtype))


CASES = (
    case("ordinary values", "Begin here: 4096 float32 weights at step 10. " + STEP_BY_STEP, update(4096)),
    case(AGAIN, KEEP_NOTHING, update(4096)),
    case("one block", ONE_BLOCK, update(1024)),
    case("three blocks and a rest", A_REST, update(3109)),
    case(
        "the first step",
        "m and v are 0, and step is 1: m̂ is the gradient itself, and the update is its sign, nearly. eps is added to "
        "√v̂, outside of the root.",
        update(300, step=1, fresh=True).but(grad=FAR_FROM_EPS),
    ),
    *(
        case(f"step {step:,}", COUNTED.format(f"{step:,}"), update(500, step=step))
        for step in (255, 256, 257, 2500, 100_000)
    ),
    case(
        "zero gradients, float16",
        "Gradients of 0 before anything was learned: the update is 0 / (0 + 1e-8), and 1e-8 is 0 in float16.",
        update(300, step=1, fresh=True),
        param=TO_F16,
        grad=draw.full(300, value=0.0).to(F16),
    ),
    case(
        "gradients of 1e-4, float16",
        "The square of 1e-4 is 1e-8, which float16 does not have. v is float32: is the square taken there?",
        same_gradients(1e-4).each(TO_F16, *BOTH),
    ),
    case(
        "gradients of 300, float16",
        "The square of 300 is 90,000, and the largest float16 is 65,504. Square in float32.",
        same_gradients(300.0).each(TO_F16, *BOTH),
    ),
    case(
        "gradients near epsilon",
        "√v̂ is about as large as eps. It is added to the root of the *corrected* v, outside of the root.",
        update(500, step=4, scale=1e-8),
    ),
    case(
        "other numbers",
        "Each of lr, beta1, beta2, eps and weight_decay is another number than its default.",
        numbers(update(4096, step=3), lr=0.02, beta1=0.8, beta2=0.95, eps=1e-3, weight_decay=0.1),
    ),
    case(
        "a large learning rate",
        "lr is 0.5, and what follows it is left out: betas of 0.9 and 0.999, eps 1e-8, weight_decay 0.01.",
        update(4096),
        lr=0.5,
    ),
    case(
        "a large epsilon",
        "eps is 0.1. Where a correction is moved out of the root, eps has to be multiplied by it, too.",
        numbers(update(500, step=3), lr=0.01, eps=0.1),
    ),
    case(
        "a strong decay",
        "lr · weight_decay is 0.05: it multiplies the weight that came in, not the one that was updated.",
        numbers(update(500), lr=0.1, weight_decay=0.5),
    ),
    case(
        "decay of large weights, bfloat16",
        "Weights of thousands: decay takes away a hundredth of them, in float32, before the only rounding.",
        numbers(state(large_weights().each(TO_BF16, *BOTH), 500, step=10), lr=0.1, weight_decay=0.1),
    ),
    case(
        "no decay, no momentum",
        "beta1 and weight_decay are 0: m is the gradient.",
        numbers(update(300), lr=1e-3, beta1=0.0, beta2=0.99),
    ),
    *(
        _rounded(where, lr, dtype)
        for dtype in HALVES
        for where, lr in (("exactly", 0.5), ("a little less than", 0.5 - 2**-12), ("a little more than", 0.5 + 2**-12))
    ),
    *(
        case(
            f"{dtype_name(dtype)} weights and gradients",
            "m and v are float32. Convert before anything is multiplied, and round the weights once: where they are as "
            "large as the step, a second rounding is many ulp of what is left.",
            update(2000, weights=0.03).each(draw.same.to(dtype), *BOTH),
            lr=0.03,
        )
        for dtype in HALVES
    ),
    *(
        case(
            name, "Weights and gradients of two dtypes: each is converted for itself.", update(700).each(TO_BF16, which)
        )
        for name, which in (
            ("bfloat16 weights, float32 gradients", "param"),
            ("float32 weights, bfloat16 gradients", "grad"),
        )
    ),
    case(
        "infinity and NaN",
        "inf / inf is NaN, here as in PyTorch: an infinite gradient makes its own weight NaN, and no other.",
        state(
            Arguments.named(
                param=draw.tensor([1.0, -1.0, 2.0, 3.0, -0.0, 0.0, torch.nan, 4.0]),
                grad=draw.tensor([1.0, torch.inf, -torch.inf, torch.nan, 0.0, -0.0, -2.0, 0.5]),
            ),
            8,
            step=7,
        ),
    ),
    *(
        case(
            f"NaN in {moment}",
            NAN_IN.format(moment),
            update(300),
            m=draw.same.put(torch.nan, 200) if moment == "m" else draw.same,
            v=draw.same.put(torch.nan, 200) if moment == "v" else draw.same,
        )
        for moment in ("m", "v")
    ),
    case("one element", "One element: in a kernel, one lane of a block; the others are masked off.", update(1)),
    case("no dimensions", "param.shape may be (): count elements with numel().", update()),
    case("no elements", "There is nothing to write: launch no program.", update(0, 3)),
    case("three dimensions", "16,385 elements, several blocks.", update(5, 29, 113).each(TO_BF16, *BOTH)),
    case(
        "grad transposed",
        "grad is transposed; param, m and v are contiguous.",
        update(113, 45),
        grad=draw.same.transposed(),
    ),
    case(
        "grad of stride 0", "What .sum() hands back: grad.stride() is (0, 1).", update(37, 53), grad=draw.same.one_row()
    ),
    case(
        "grad every second column",
        "The stride of grad's last dimension is 2.",
        update(11, 101).each(TO_F16, *BOTH),
        grad=draw.same.every_second(),
    ),
)

COUNTER = WildBug(
    who="torchao 0.4.0 to 0.18.0, with bfloat16 as the default dtype,",
    thread="pytorch/ao#4915",
    function=wild.adamw_step_counter,
    seen_by="step 100,000",
    story="The counter is a tensor of the default dtype. In bfloat16 256 + 1 is 256: later steps are too short.",
)
NEVER_COUNTED = WildBug(
    who="OLMo-core 1.8.0 to 2.1.0 (SkipStepAdamW)",
    thread="allenai/OLMo-core#309, #317",
    function=wild.adamw_step_first,
    seen_by="ordinary values",
    story="The step was never incremented: each one was corrected as if it were the first.",
)
IN_HALF = WildBug(
    who="optax 0.1.0 to 0.2.8",
    thread="google-deepmind/optax#1754",
    function=wild.adamw_step_half,
    seen_by="zero gradients, float16",
    story="Everything is computed in the dtype of the gradients. In float16 1e-8 is 0, and a zero gradient is 0 / 0.",
)
AFTERWARDS = WildBug(
    who="bitsandbytes 0.32.1 to 0.50.1 on CUDA",
    thread="bitsandbytes-foundation/bitsandbytes#2010",
    function=wild.adamw_step_decay_after,
    seen_by="a strong decay",
    story="The update is decayed together with the weight. The same library's other backends decay before it.",
)
SCALED = CommonMistake(
    who="both corrections put into the learning rate",
    function=wild.adamw_step_scaled_rate,
    seen_by="a large epsilon",
    story="That leaves eps uncorrected, and it scales the weight decay, too.",
)
CUT_OFF = CommonMistake(
    who="betas cut off to bfloat16",
    function=wild.adamw_step_bfloat16_betas,
    seen_by="ordinary values",
    story="0.999 becomes 0.996: v is a mean over 256 steps in place of 1000. So does 0.9999.",
)
COUPLED = CommonMistake(
    who="weight decay added to the gradient, as in Adam,",
    function=wild.adamw_step_coupled,
    seen_by="a strong decay",
    story="It then goes through m and v as well, and is divided by √v̂. AdamW was made to undo that.",
)
IN_THE_ROOT = CommonMistake(
    who="epsilon inside of the root, as in a norm,",
    function=wild.adamw_step_eps_in_the_root,
    seen_by="gradients near epsilon",
    story="√v̂ + ε and √(v̂ + ε) are far apart where v̂ is small: 1e-8 under the root is 1e-4 beside it.",
)
ROUNDED = CommonMistake(
    who="a step rounded to bfloat16",
    function=wild.adamw_step_rounded_counter,
    seen_by="step 257",
    story="From 256 on bfloat16 holds every second integer, from 512 on every fourth; a counter in it stands still.",
)
adamw_step = Exercise(
    name="adamw_step",
    summary="m, v = means of g and g²; w = w (1 - lr λ) - lr m̂ / (√v̂ + ε), all three in place",
    oracle=adamw,
    outputs=(),
    writes=("param", "m", "v"),
    cases=CASES,
    tolerance=Tolerance(1, 8, "A dozen roundings of float32, 1 - β in float32 among them, and one at the end.", floor),
    hint="m and v first, in float32, then the update from the new ones. The counter is an integer.",
    wild=(COUNTER, NEVER_COUNTED, IN_HALF, AFTERWARDS, SCALED, CUT_OFF, COUPLED, IN_THE_ROOT, ROUNDED),
    points=6,
    least_bytes=lambda param, grad, m, v, *numbers: (
        2 * param.numel() * param.element_size() + grad.numel() * grad.element_size() + 16 * param.numel()
    ),
    traffic=1.05,
    unbiased=True,
    about=("step 257", "step 2,500", "step 100,000", "zero gradients, float16", "gradients of 1e-4, float16"),
)
