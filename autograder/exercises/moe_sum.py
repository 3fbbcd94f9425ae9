"""The weighted sum of the experts' rows. Cases: vllm#49087, vllm#46408 and #54083."""

import torch
from torch import Tensor

from ...kernels.wild import moe_sum as wild
from ..judge import Arguments, Category, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, also, case, draw
from .cases.halves import in_halves
from .cases.places import NONE, bad_places, checked, each_once, some_absent
from .cases.rounding import EPS, floors, walk
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, STEP_BY_STEP

NAN = float("nan")


def _taken(rows: Tensor, slots: Tensor) -> Tensor:
    """The row of each place, (T, k, D); of zeros where there is none."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])[slots.where(slots != NONE, len(rows))]


def weighted_sum(rows: Tensor, weights: Tensor, slots: Tensor) -> Tensor:
    """Σ_j weights[t, j] · rows[slots[t, j]], (T, D); a slot of -1 adds nothing. Raises IndexError for a bad slot."""
    there = checked(slots, len(rows), "slot")
    return (weights.masked_fill(~there, 0).unsqueeze(2) * _taken(rows, slots)).sum(1)


def sum_gradients(dy: Tensor, rows: Tensor, weights: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
    """(w · dy at the row of each place and 0 in the other rows, Σ_d dy · row for each place and 0 for a slot of -1)."""
    there = slots != NONE
    drows = torch.zeros_like(rows)
    drows[slots[there]] = (weights.unsqueeze(2) * dy.unsqueeze(1))[there]
    return drows, (dy.unsqueeze(1) * _taken(rows, slots)).sum(2).masked_fill(~there, 0)


def forward_floor(rows: Tensor, weights: Tensor, slots: Tensor) -> Floors:
    """8 ulp of float32 of Σ |w · row|."""
    return floors(8 * EPS * weighted_sum(rows.abs(), weights.abs(), slots))


def backward_floor(dy: Tensor, rows: Tensor, weights: Tensor, slots: Tensor) -> Floors:
    """drows is one product; dweights a sum of D of them, in any order."""
    _, inner = sum_gradients(dy.abs(), rows.abs(), weights, slots)
    products, _ = sum_gradients(dy.abs(), rows, weights.abs(), slots)
    return floors(EPS * products, EPS * (8 + walk(rows.shape[1])) * inner)


def gathered(t: int, k: int, d: int, more: int = 0, dtype: torch.dtype = torch.float32) -> Arguments:
    """t tokens with k rows of d numbers each, and ``more`` rows that none refers to. No weight is near 0."""
    return Arguments.named(
        rows=draw.normal(t * k + more, d).scale(3).to(dtype),
        weights=draw.uniform(t, k).plus(0.25),
        slots=each_once(t, k, t * k + more),
    )


def nan_where_unused(rows: Tensor, slots: Tensor) -> None:
    """Every row that no token refers to is NaN and infinity, in turn."""
    unused = torch.ones(len(rows), dtype=torch.bool)
    unused[slots[slots != NONE]] = False
    rows[unused] = NAN
    rows[unused.nonzero()[1::2, 0]] = torch.inf


def nan_where_absent(weights: Tensor, slots: Tensor) -> None:
    """The weight of every slot of -1 is NaN."""
    weights[slots == NONE] = NAN


def first_row_absent(slots: Tensor) -> None:
    """No token refers to the first row, or to the last."""
    slots[(slots == 0) | (slots == slots.max())] = NONE


def first_and_last(slots: Tensor) -> None:
    """Every second place names none, but those that name the first row or the last."""
    absent = (torch.arange(slots.numel()) % 2 == 0).view(slots.shape)
    slots[absent & (slots != 0) & (slots != slots.max())] = NONE


def opposite(weights: Tensor) -> None:
    """The second weight of each token is nearly the first with the other sign."""
    weights[:, 1] = -weights[:, 0]
    weights[:, 2:] *= 1e-3


ABSENT = draw.same.change(some_absent)
OLD = (
    "-1 is a place whose expert is somewhere else: nobody wrote a row for it, and what its memory holds is old. "
    "Is any row read that no slot names? 0 · NaN is NaN."
)
LARGE = gathered(60, 8, 1024)
CASES = (
    case("ordinary values", f"Begin here: 7 tokens of 4 rows, each row of 128. {STEP_BY_STEP}", gathered(7, 4, 128)),
    case(AGAIN, KEEP_NOTHING, gathered(7, 4, 128)),
    case("100 columns", "Rows of 100, fewer than a block of 128 or 256: is there a block at all?", gathered(5, 3, 100)),
    case(
        "1000 columns",
        "Rows of 1000. Blocks of 256 are three and a rest: is the number of blocks rounded up, and the rest masked?",
        gathered(5, 2, 1000),
    ),
    case("1025 columns", "One column more than 1024. Is it added up, is it written?", gathered(5, 2, 1025)),
    case("1 column", "Rows of one number.", gathered(9, 4, 1)),
    case("1 row a token", "k is 1: nothing is added to anything, and the weight still counts.", gathered(9, 1, 40)),
    case("17 rows a token", "17 rows a token: are all of them in the sum?", gathered(5, 17, 40)),
    case("300 tokens", "300 tokens. Does every one get its sum?", gathered(300, 2, 6)),
    case("8 rows of 1024", "As large as it gets here: 60 tokens, 8 rows each. Is each row read once?", LARGE),
    case(
        "weights of both signs",
        "The first two weights of a token are opposite, the others a thousandth. Is the sum kept in float32?",
        gathered(9, 5, 60).change(opposite),
    ),
    case("places without a row", OLD, gathered(6, 4, 90, 5).but(slots=ABSENT).change(nan_where_unused)),
    case(
        "no slot is 0, none the last",
        f"No token refers to the first row, nor to the last. {OLD}",
        gathered(6, 4, 90).but(slots=draw.same.change(first_row_absent)).change(nan_where_unused),
    ),
    case(
        "places without a row, and no NaN",
        "Every second slot is -1, and the first row and the last have a token. A slot of -1 that is made 0 or the last "
        "one, to have an index, leaves a trace there: that row is added, or its gradient is written anew.",
        gathered(6, 4, 90).but(slots=draw.same.change(first_and_last)),
        category=Category.EDGES,
    ),
    case(
        "weights of NaN without a row",
        f"The weight of a slot of -1 is NaN. {OLD}",
        gathered(6, 4, 90, 5).but(slots=ABSENT).change(nan_where_absent).change(nan_where_unused),
    ),
    case(
        "no row anywhere",
        f"Every slot is -1: zeros. {OLD}",
        gathered(5, 4, 33).but(slots=draw.full(5, 4, value=NONE)).change(nan_where_unused),
    ),
    case(
        "no rows",
        "S is 0, as on a machine none of whose experts was chosen, and every slot is -1: zeros.",
        rows=draw.full(0, 33, value=0.0),
        weights=draw.uniform(5, 4),
        slots=draw.full(5, 4, value=NONE),
    ),
    case("no tokens", "No tokens: nothing comes out, and no row gets a gradient.", gathered(0, 4, 33, 6)),
    case("no places", "k is 0: every token gets zeros.", gathered(5, 0, 33, 6)),
    *in_halves("{}", f"{CONVERT} The weights are float32, and stay so.", gathered(29, 6, 200), "rows"),
    case(
        "NaN in a row",
        "One NaN in a row that a token has: in that column of its own token, and nowhere else.",
        gathered(6, 4, 50),
        rows=draw.same.put(NAN, 5, 17),
    ),
    case(
        "rows transposed",
        "Transposed: the numbers of a row are not neighbours in memory.",
        gathered(9, 4, 53, 2).but(rows=draw.same.transposed()),
    ),
    case(
        "rows with gaps",
        "bfloat16 rows of 127, 160 apart in memory, NaN between them.",
        gathered(9, 3, 127, 2, torch.bfloat16).but(rows=draw.same.with_gaps()),
    ),
    case(
        "rows in every second column",
        "float16, and the stride of the last dimension is 2.",
        gathered(9, 3, 101, 2, torch.float16).but(rows=draw.same.every_second()),
    ),
    case(
        "one row for all, at stride 0",
        "Every row is the same one: rows.stride() is (0, 1). Its gradient is a row for each of them.",
        gathered(9, 3, 70).but(rows=draw.same.one_row()),
    ),
    case(BEYOND, BEYOND_HINT, gathered(1, 3, 70, 1, torch.bfloat16).but(rows=draw.same.far_apart())),
)
BAD = bad_places("slots", gathered(6, 4, 20, 2), 26, gathered(700, 4, 3), 2800)
SMALL = gathered(29, 3, 67, 4)
DY = draw.without_zeros(like="y")
UPSTREAM = (
    case("dy with zeros", "Some of dy is exactly 0, and its gradients with it.", SMALL, dy=draw.gradient(like="y")),
    case(
        "dy of stride 0",
        "What .sum() hands back: one number for the whole shape. dy.stride() is (0, 0).",
        SMALL,
        dy=DY.one_number(),
    ),
    case("dy transposed", "dy is transposed, and nothing else is.", SMALL, dy=DY.transposed()),
    case("dy with gaps", "The rows of dy are 33 longer in memory, NaN between them.", SMALL, dy=DY.with_gaps()),
    case(
        "tiny dy",
        "dy is about 1e-8: what comes out is as small, with as many digits. Is anything compared with a constant?",
        SMALL,
        dy=DY.scale(1e-8),
    ),
    case(
        "NaN in dy",
        "One NaN in dy of token 2: it reaches its column of that token's rows and that token's dweights, but for a "
        "slot of -1, and nothing else.",
        gathered(6, 4, 50, 3).but(slots=ABSENT),
        dy=DY.put(NAN, 2, 17),
    ),
)

WHOLE_BLOCKS = WildBug(
    who="vLLM's kernel for zero experts",
    thread="vllm-project/vllm#49087",
    function=wild.sum_of_whole_blocks,
    seen_by="1000 columns",
    story="Its grid was D // 256. The columns behind the last whole block stayed 0, and below 256 all of them: its "
    "tests took that for a rule.",
)
WORKSPACE = WildBug(
    who="vLLM under expert parallelism",
    thread="vllm-project/vllm#46408, #54083",
    function=wild.sum_of_the_workspace,
    seen_by="places without a row",
    story="-1, an expert on another machine, wrapped to the last index, and a row was added that nobody had written.",
)
TIMES_ZERO = CommonMistake(
    who="the row of an absent place times 0",
    function=wild.sum_times_zero,
    seen_by="no slot is 0, none the last",
    story="0 · NaN is NaN: what was never written must not be read, or be chosen away, not multiplied away.",
)
ROUNDED = CommonMistake(
    who="weights in the dtype of the rows",
    function=wild.sum_of_rounded_weights,
    seen_by="bfloat16",
    story="Weights are float32. In bfloat16 they keep three digits, and the sum has no more.",
)
IN_HALF = CommonMistake(
    who="a sum that is rounded after each expert",
    function=wild.sum_in_half,
    seen_by="bfloat16",
    story="Keep the sum in float32, and round it once.",
)

moe_sum_forward = Exercise(
    name="moe_sum_forward",
    summary="y_t = Σ_j weights[t, j] · rows[slots[t, j]]; a slot of -1 adds nothing, whatever its weight",
    oracle=weighted_sum,
    outputs=(Output("y", "rows"),),
    cases=(*CASES, *BAD),
    tolerance=Tolerance(
        1,
        0.5,
        "The sum is kept in float32, where it may lose 8 ulp of Σ |w · row|, and is rounded once.",
        forward_floor,
    ),
    hint="Which rows does a token have? Read those alone, and add in float32.",
    allowed=frozenset({"_local_scalar_dense"}),
    wild=(WHOLE_BLOCKS, WORKSPACE, TIMES_ZERO, ROUNDED, IN_HALF),
    points=3,
    least_bytes=lambda rows, weights, slots: (
        (int((slots != NONE).sum()) + len(slots)) * rows.shape[1] * rows.element_size() + 12 * slots.numel()
    ),
    traffic=1.2,
    about=("places without a row", "no slot is 0, none the last", "weights of NaN without a row", "no row anywhere"),
)

OLD_ROWS = CommonMistake(
    who="drows that starts as the memory of something else",
    function=wild.backward_of_the_workspace,
    seen_by="places without a row",
    story="No token refers to some rows, and so nothing is written there: their gradient, 0, has to be put there.",
)
WRAPPED = CommonMistake(
    who="-1 as an index",
    function=wild.backward_of_absent_places,
    seen_by="places without a row",
    story="-1 is the last row in Python. It gets the gradient of a place that has no row.",
)
UNWEIGHTED = CommonMistake(
    who="drows without the weight",
    function=wild.backward_without_weights,
    seen_by="ordinary values",
    story="A row is multiplied by its weight on the way to y, and so is dy on the way back.",
)

moe_sum_backward = Exercise(
    name="moe_sum_backward",
    summary="drows[slots[t, j]] = w · dy, 0 in a row without a token; dweights = Σ dy · row, 0 for a slot of -1",
    oracle=sum_gradients,
    outputs=(Output("drows", "rows"), Output("dweights", "weights")),
    cases=(*also(CASES, dy=DY), *UPSTREAM),
    tolerance=Tolerance(
        1,
        4,
        "drows is one product, rounded once; dweights is a float32 sum of D products, in any order.",
        backward_floor,
    ),
    hint="A row has one token at most: who finds it has the whole gradient of the row. And who writes the other rows?",
    refused=frozenset({"autograd"}),
    wild=(OLD_ROWS, WRAPPED, UNWEIGHTED),
    points=3,
    least_bytes=lambda dy, rows, weights, slots: (
        (2 * int((slots != NONE).sum()) + len(slots)) * rows.shape[1] * rows.element_size() + 16 * slots.numel()
    ),
    traffic=1.9,  # rows that no token refers to get their 0 first, and dy may be read for each row
    forward=moe_sum_forward,
    about=("places without a row", "no slot is 0, none the last", "weights of NaN without a row", "no row anywhere"),
)
