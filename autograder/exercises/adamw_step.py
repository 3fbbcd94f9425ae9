"""One step of AdamW, in place. Cases: pytorch/ao#4915, optax#1754, bitsandbytes#2010, OLMo-core#309."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import adamw as wild
from ..judge import (
    AGAIN,
    EPS,
    HALVES,
    KEEP_NOTHING,
    STEP_BY_STEP,
    Case,
    CommonMistake,
    Exercise,
    Floors,
    Inputs,
    Tolerance,
    View,
    WildBug,
    as_it_is,
    every_second,
    gradient,
    normal,
    transposed,
)
from ..runner import Args, dtype_name
from .bias_correction import lost

NAN, INF = float("nan"), float("inf")
UNDERFLOW = 1.2e-38  # a square below is 0 on some machines
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
Numbers = float | int


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


def state(generator: Generator, *shape: int, scale: float = 1.0, fresh: bool = False) -> tuple[Tensor, Tensor]:
    """m and v as steps with gradients of this size leave them; zeros before the first step."""
    if fresh:
        return torch.zeros(shape), torch.zeros(shape)
    v = scale * scale * (0.1 + 0.3 * torch.rand(shape, generator=generator))
    return normal(generator, shape, scale=0.3 * scale), v


def _drawn(
    *shape: int,
    step: int = 10,
    dtype: torch.dtype = F32,
    grad_dtype: torch.dtype | None = None,
    scale: float = 1.0,
    weights: float = 1.0,
    fresh: bool = False,
    view: View = as_it_is,
    numbers: tuple[Numbers, ...] = (),
) -> Inputs:
    """Weights, gradients with some zeros, and a state. scale, weights: the size of gradients and of weights. numbers:
    those behind the step.
    """

    def inputs(generator: Generator) -> Args:
        param = normal(generator, shape, dtype, weights)
        grad = (gradient(generator, shape) * scale).to(grad_dtype or dtype)
        return param, view(grad), *state(generator, *shape, scale=scale, fresh=fresh), step, *numbers

    return inputs


def _same_gradients(value: float, *, dtype: torch.dtype) -> Inputs:
    """First step; each gradient is ±value, or 0."""

    def inputs(generator: Generator) -> Args:
        signs = torch.randint(-1, 2, (300,), generator=generator)
        param = normal(generator, (300,)) * torch.tensor([1.0, 1e-3]).repeat(150)  # of which the small ones show more
        return param.to(dtype), (signs * value).to(dtype), *state(generator, 300, fresh=True), 1

    return inputs


def _large(generator: Generator) -> Args:
    """bfloat16 weights from ±1000 on, of which a step of 0.1 is far less than half an ulp, and their decay more."""
    signs = torch.randint(0, 2, (500,), generator=generator) * 2.0 - 1
    param = signs * (1000 + 3000 * torch.rand(500, generator=generator))
    grad = gradient(generator, (500,), BF16)
    return param.bfloat16(), grad, *state(generator, 500), 10, 0.1, 0.9, 0.999, 1e-8, 0.1


def _near_half_an_ulp(lr: float, dtype: torch.dtype) -> Inputs:
    """Weights of ±[0.5, 1), whose neighbours are ``ulp`` apart, and a first step of lr times an ulp."""
    bits = 7 if dtype == BF16 else 10

    def inputs(generator: Generator) -> Args:
        place = torch.randint(2**bits, 2 ** (bits + 1), (400,), generator=generator) / 2.0 ** (bits + 1)
        signs = torch.randint(0, 2, (2, 400), generator=generator) * 2.0 - 1
        zeros = state(generator, 400, fresh=True)
        rate = lr * 2.0 ** -(bits + 1)
        return (signs[0] * place).to(dtype), signs[1].to(dtype), *zeros, 1, rate, 0.9, 0.999, 1e-8, 0.0

    return inputs


def _special(generator: Generator) -> Args:
    """Infinity, NaN and -0 among the gradients, a NaN among the weights."""
    grad = torch.tensor([1.0, INF, -INF, NAN, 0.0, -0.0, -2.0, 0.5])
    param = torch.tensor([1.0, -1.0, 2.0, 3.0, -0.0, 0.0, NAN, 4.0])
    return param, grad, *state(generator, 8), 7


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
    return Case(f"{name}, {where} half an ulp", _near_half_an_ulp(lr, dtype), HALF.format(name, where))


CASES = (
    Case("ordinary values", _drawn(1000), "Begin here: 1000 float32 weights at step 10. " + STEP_BY_STEP),
    Case(AGAIN, _drawn(1000), KEEP_NOTHING),
    Case(
        "the first step",
        _drawn(300, step=1, fresh=True),
        "m and v are 0, and step is 1: m̂ is the gradient itself, and the update is its sign, nearly.",
    ),
    *(
        Case(f"step {step:,}", _drawn(500, step=step), COUNTED.format(f"{step:,}"))
        for step in (255, 256, 257, 2500, 100_000)
    ),
    Case(
        "zero gradients, float16",
        lambda generator: (
            normal(generator, (300,), F16),
            torch.zeros(300, dtype=F16),
            *state(generator, 300, fresh=True),
            1,
        ),
        "Gradients of 0 before anything was learned: the update is 0 / (0 + 1e-8), and 1e-8 is 0 in float16.",
    ),
    Case(
        "gradients of 1e-4, float16",
        _same_gradients(1e-4, dtype=F16),
        "The square of 1e-4 is 1e-8, which float16 does not have. v is float32: is the square taken there?",
    ),
    Case(
        "gradients of 300, float16",
        _same_gradients(300.0, dtype=F16),
        "The square of 300 is 90,000, and the largest float16 is 65,504. Square in float32.",
    ),
    Case(
        "gradients near epsilon",
        _drawn(500, step=4, scale=1e-8),
        "√v̂ is about as large as eps. It is added to the root of the *corrected* v, outside of the root.",
    ),
    Case(
        "other numbers",
        _drawn(500, step=3, numbers=(0.02, 0.8, 0.95, 1e-3, 0.1)),
        "Each of lr, beta1, beta2, eps and weight_decay is another number than its default.",
    ),
    Case(
        "a large learning rate",
        _drawn(500, numbers=(0.5,)),
        "lr is 0.5, and what follows it is left out: betas of 0.9 and 0.999, eps 1e-8, weight_decay 0.01.",
    ),
    Case(
        "a large epsilon",
        _drawn(500, step=3, numbers=(0.01, 0.9, 0.999, 0.1, 0.0)),
        "eps is 0.1. Where a correction is moved out of the root, eps has to be multiplied by it, too.",
    ),
    Case(
        "a strong decay",
        _drawn(500, numbers=(0.1, 0.9, 0.999, 1e-8, 0.5)),
        "lr · weight_decay is 0.05: it multiplies the weight that came in, not the one that was updated.",
    ),
    Case(
        "decay of large weights, bfloat16",
        _large,
        "Weights of thousands: decay takes away a hundredth of them, in float32, before the only rounding.",
    ),
    Case(
        "no decay, no momentum",
        _drawn(300, numbers=(1e-3, 0.0, 0.99, 1e-8, 0.0)),
        "beta1 and weight_decay are 0: m is the gradient.",
    ),
    *(
        _rounded(where, lr, dtype)
        for dtype in HALVES
        for where, lr in (("exactly", 0.5), ("a little less than", 0.5 - 2**-12), ("a little more than", 0.5 + 2**-12))
    ),
    *(
        Case(
            f"{dtype_name(dtype)} weights and gradients",
            _drawn(2000, dtype=dtype, weights=0.03, numbers=(0.03,)),
            "m and v are float32. Convert before anything is multiplied, and round the weights once: where they are as "
            "large as the step, a second rounding is many ulp of what is left.",
        )
        for dtype in HALVES
    ),
    Case(
        "bfloat16 weights, float32 gradients",
        _drawn(700, dtype=BF16, grad_dtype=F32),
        "Weights and gradients of two dtypes: each is converted for itself.",
    ),
    Case(
        "float32 weights, bfloat16 gradients",
        _drawn(700, grad_dtype=BF16),
        "Weights and gradients of two dtypes: each is converted for itself.",
    ),
    Case(
        "infinity and NaN",
        _special,
        "inf / inf is NaN, here as in PyTorch: an infinite gradient makes its own weight NaN, and no other.",
    ),
    Case("one element", _drawn(1), "One element: in a kernel, one lane of a block; the others are masked off."),
    Case("no dimensions", _drawn(), "param.shape may be (): count elements with numel()."),
    Case("no elements", _drawn(0, 3), "There is nothing to write: launch no program."),
    Case("one past a block", _drawn(1025), "1025 elements: one more than a block of 1024."),
    Case("three dimensions", _drawn(5, 29, 113, dtype=BF16), "16,385 elements, several blocks."),
    Case("grad transposed", _drawn(113, 45, view=transposed), "grad is transposed; param, m and v are contiguous."),
    Case(
        "grad of stride 0",
        _drawn(37, 53, view=lambda grad: grad[:1].expand(grad.shape)),
        "What .sum() hands back: grad.stride() is (0, 1).",
    ),
    Case(
        "grad every second column",
        _drawn(11, 101, dtype=F16, view=every_second),
        "The stride of grad's last dimension is 2.",
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

adamw_step = Exercise(
    name="adamw_step",
    summary="m, v = means of g and g²; w = w (1 - lr λ) - lr m̂ / (√v̂ + ε), all three in place",
    oracle=adamw,
    outputs=(),
    writes=("param", "m", "v"),
    cases=CASES,
    tolerance=Tolerance(1, 8, "A dozen roundings of float32, 1 - β in float32 among them, and one at the end.", floor),
    hint="m and v first, in float32, then the update from the new ones. The counter is an integer.",
    wild=(COUNTER, NEVER_COUNTED, IN_HALF, AFTERWARDS, SCALED, CUT_OFF, COUPLED),
    points=6,
    least_bytes=lambda param, grad, m, v, *numbers: (
        2 * param.numel() * param.element_size() + grad.numel() * grad.element_size() + 16 * param.numel()
    ),
    traffic=1.05,
    unbiased=True,
    about=("step 257", "step 2,500", "step 100,000", "zero gradients, float16", "gradients of 1e-4, float16"),
)
