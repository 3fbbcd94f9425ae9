"""A decaying sum along time. Cases: executorch#21417, cudnn-frontend#1017, TileOPs#1465, fla#1240."""

import torch
from torch import Tensor

from ...kernels.wild import decay_scan as wild
from ..judge import Arguments, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, case, draw
from .cases.halves import in_halves
from .cases.rounding import EPS, floors
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, STEP_BY_STEP

NAN, INF = float("nan"), float("inf")
WINDOW = 128  # rows of the longest chunk whose running sum of decays is allowed for
STEEP, SHIPPED, OFTEN = "decays of -6", "decays of -5", "decays of -100 and of 0"
RESET, LATER = "a decay of -inf", "a decay of -inf in a later row"
POINT = (STEEP, SHIPPED, OFTEN, LATER, "NaN in a later row of x", "NaN in a later decay")


def scan(x: Tensor, log_decay: Tensor) -> Tensor:
    """h_t = e^(log_decay_t) · h_(t-1) + x_t, one row after the other."""
    h, rows = x.new_zeros(1, x.shape[1]), [x[:0]]
    for t, decay in enumerate(log_decay.exp()):
        h = h * decay + x[t : t + 1]
        rows.append(h)
    return torch.cat(rows)


def floor(x: Tensor, log_decay: Tensor) -> Floors:
    """16 ulp of float32 of Σ |e^(...) x|, and 4 for each unit that the decays of the last WINDOW rows add up to."""
    steps = log_decay.nan_to_num(neginf=0).abs()
    within = steps.cumsum(0)
    within[WINDOW:] -= within[:-WINDOW].clone()
    return floors(EPS * (16 + 4 * within[:, None]) * scan(x.abs(), log_decay))


def decays(t: int, low: float, high: float = 0.0) -> Values:
    """t numbers from low to high, evenly spread."""
    return draw.uniform(t).scale(high - low).plus(low)


def sequence(t: int, d: int, low: float = -1.0, high: float = 0.0, dtype: torch.dtype = torch.float32) -> Arguments:
    """t rows of d normal numbers, and decays from low to high."""
    return Arguments.named(x=draw.normal(t, d).scale(3).to(dtype), log_decay=decays(t, low, high))


def steep_and_none(log_decay: Tensor) -> None:
    """Runs of seven decays of -100 and of 0, in turn, beginning with 0."""
    for start in range(0, len(log_decay), 14):
        log_decay[start : start + 7], log_decay[start + 7 : start + 14] = 0.0, -100.0


NO_TRACE = "Row t follows the rows up to t. Is a later row multiplied by 0, or not there? 0 · NaN is NaN."
SMALL = sequence(50, 20)

PRODUCTS = WildBug(
    who="executorch's chunked prefill until July 2026",
    thread="pytorch/executorch#21417; tenstorrent/tt-metal#56550",
    function=wild.scan_of_products,
    seen_by=STEEP,
    story="e^(c_i - c_j) was computed as e^(c_i) · e^(-c_j). Beyond 88.7 the second factor is infinite, and 0 times it "
    "NaN; and where hardware flushes what is below 2^-126, the first is 0 before the second is infinite.",
)
CLAMPED = WildBug(
    who="TileOPs' first cure, caught in review",
    thread="tile-ai/TileOPs#1465",
    function=wild.scan_of_clamped_products,
    seen_by=SHIPPED,
    story="The exponent of the second factor was clamped to 88. Nothing is infinite then, and what decays further gets "
    "another value.",
)
MIDDLE = WildBug(
    who="cudnn-frontend's first Hopper kernel, and flash-linear-attention's fast path,",
    thread="NVIDIA/cudnn-frontend#1017; fla-org/flash-linear-attention#1240",
    function=wild.scan_from_the_middle,
    seen_by=LATER,
    story="The running sums were taken relative to the middle row of a chunk. That cancels in exact arithmetic: in "
    "floats a later decay changes the bits of earlier rows, and a later -inf all of them.",
)
NO_RESET = CommonMistake(
    who="a decay of -inf taken for none",
    function=wild.scan_without_reset,
    seen_by=RESET,
    story="e^(-inf) is 0: the sum starts anew. A difference of two running sums that are -inf is NaN, and replacing it "
    "by 0 keeps what should be gone.",
)
NO_CARRY = CommonMistake(
    who="each chunk from 0",
    function=wild.scan_forgetting_chunks,
    seen_by="300 rows that hardly decay",
    story="The last row of a chunk decays on through the next ones.",
)
LATE = CommonMistake(
    who="x_t decayed in its own step",
    function=wild.scan_decayed_late,
    seen_by="ordinary values",
    story="The decay of step t is that of the rows before it: x_t itself is added whole.",
)

decay_scan = Exercise(
    name="decay_scan",
    summary="h_t = e^(log_decay_t) · h_(t-1) + x_t for x (T, D); decays from -100 to 0 or -inf; no row sees later ones",
    oracle=scan,
    outputs=(Output("h", "x"),),
    cases=(
        case("ordinary values", f"Begin here: 5 rows of 4, mild decays. {STEP_BY_STEP}", sequence(5, 4)),
        case(AGAIN, KEEP_NOTHING, sequence(5, 4)),
        case("100 rows", "Chunks of 32 are three and a rest. Is the rest masked?", sequence(100, 7)),
        case("130 columns", "More columns than a block has. Does every one get its sum?", sequence(20, 130)),
        case("1 column", "Rows of one number.", sequence(70, 1)),
        case("1 row", "One row: h is x.", sequence(1, 40)),
        case(
            "300 rows that hardly decay",
            "Decays from -0.01 to 0: what was in the first chunk is still there in the last. Is it carried on?",
            sequence(300, 5, -0.01),
        ),
        case("no decay", "Every decay is 0: running sums.", SMALL, log_decay=draw.full(50, value=0.0)),
        case(
            "decays of -3",
            "Within 64 rows they add up to -192. What is e^192 in float32?",
            sequence(130, 6, -3.0, -2.9),
        ),
        case(
            SHIPPED,
            "A setting that models ship. Which exponents does your answer take e to the power of: is any above 0?",
            sequence(130, 6, -5.0, -4.9),
        ),
        case(
            STEEP,
            "After 15 steps nothing is left of a row, and each row is still its own x. Is it, or is it inf · 0?",
            sequence(130, 6, -7.0, -6.0),
        ),
        case(
            OFTEN,
            "Seven rows that do not decay, seven that forget everything, in turn. Is a difference of two large running "
            "sums the exact difference?",
            sequence(90, 6).change(steep_and_none),
        ),
        case(
            "decays from -100 to 0",
            "Anything from -100 to 0 in one chunk: e to the power of something above 0, anywhere?",
            sequence(130, 6, -100.0),
        ),
        case(
            RESET,
            "e^(-inf) is 0: h starts anew. What is a difference of two running sums that are both -inf?",
            SMALL,
            log_decay=draw.same.put(-INF, [0, 10, 11, 40]),
        ),
        case("every decay -inf", "h is x.", SMALL, log_decay=draw.full(50, value=-INF)),
        case(
            LATER,
            f"Row 20 starts anew. The rows before it do not know of it. {NO_TRACE}",
            sequence(64, 6),
            log_decay=draw.same.put(-INF, 20),
        ),
        case(
            "NaN in a later row of x",
            f"NaN in column 3 of row 30: column 3 is NaN from there on, and nothing else. {NO_TRACE}",
            SMALL,
            x=draw.same.put(NAN, 30, 3),
        ),
        case(
            "infinity in a later row of x",
            f"An infinity in row 30: its column is infinite from there on. {NO_TRACE}",
            sequence(50, 20, -0.1),
            x=draw.same.put(INF, 30, 3),
        ),
        case(
            "NaN in a later decay",
            f"The decay of row 30 is NaN: all rows from there on are, and no other. {NO_TRACE}",
            SMALL,
            log_decay=draw.same.put(NAN, 30),
        ),
        case("no rows", "T is 0: an empty result of shape (0, D).", sequence(0, 33)),
        case("x transposed", "The numbers of a row are not neighbours in memory.", SMALL, x=draw.same.transposed()),
        case("x in every second column", "The stride of the last dimension is 2.", SMALL, x=draw.same.every_second()),
        case("x with gaps", "Rows of x lie apart in memory, NaN between them.", SMALL, x=draw.same.with_gaps()),
        case("x at stride 0", "All rows are the first one.", SMALL, x=draw.same.one_row()),
        case(BEYOND, BEYOND_HINT, sequence(3, 20), x=draw.same.far_apart()),
        *in_halves("{}", CONVERT, sequence(100, 20), "x"),
        case(
            "300 rows in bfloat16",
            "Decays from -0.01 to 0 in bfloat16: is the sum itself kept in float32, from chunk to chunk as well?",
            sequence(300, 5, -0.01, 0.0, torch.bfloat16),
        ),
    ),
    tolerance=Tolerance(
        1,
        1,
        "The sum is kept in float32, where it may lose 16 ulp of Σ |e^(...) x|, and is rounded once. Decays may be "
        "added up first within a chunk: their running sum is rounded at its own size, and e to the power of a "
        "difference of two is off by as much.",
        floor,
    ),
    hint="One row after the other is right. In chunks: which exponents can you form that are never above 0?",
    wild=(PRODUCTS, CLAMPED, MIDDLE, NO_RESET, NO_CARRY, LATE),
    points=4,
    least_bytes=lambda x, log_decay: 2 * x.numel() * x.element_size() + 4 * len(x),
    traffic=1.3,
    about=POINT,
)
