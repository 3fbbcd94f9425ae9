"""Names and hints of cases that many functions have."""

AGAIN = "the same shape again"
KEEP_NOTHING = (
    "A shape seen before, with other values: is anything of the first call kept? If not, the first case passed by "
    "luck: work the element above out."
)
STEP_BY_STEP = "Work the element above out in PyTorch, step by step: which step is the first to differ?"
NAN_IN = "One element of {} is NaN. NaN in gives NaN out, in every result that it is a part of, and in no other."
CONVERT = "Convert to float32 first, compute there, and round once at the end."
ONE_BLOCK = "1024 elements, in a kernel one block or a few, and nothing to mask off."
A_REST = (
    "3109 elements, three blocks of 1024 and 37 more: in a kernel, has each block a program, and are the lanes past "
    "the end masked off?"
)
BEYOND = "offsets beyond 2^31"
BEYOND_HINT = (
    "The rows lie 2^30 elements apart in memory. For the third, row * stride is 2^31, more than an int32 holds: in a "
    "kernel make the row an int64 first, as in `tl.program_id(0).to(tl.int64)`."
)
LONGEST = 16_384  # numbers of a row that one program may do, where programs are to share a row
LONG_ROW = "a long row alone"
LONG_ROW_HINT = f"One row of {LONGEST + 1:,}, as in decoding. Is every part of it in the result?"
