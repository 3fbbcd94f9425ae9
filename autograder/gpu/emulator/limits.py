"""Where a GPU may differ from the emulator and still be right: shown with the result, never held against an answer.

The sentences follow "On a GPU:".
"""

CANNOT_SHOW: tuple[tuple[str, str], ...] = (
    (
        "exp",
        "`tl.exp`, also inside `tl.sigmoid` and `tl.softmax`, is `ex2.approx(x * log2(e))`: its error grows with |x|, "
        "to tens of ulp near overflow.",
    ),
    (
        "exp2",
        "`tl.exp2` is `ex2.approx.ftz`: up to 2 ulp off, and subnormal arguments and results become zero.",
    ),
    (
        "sqrt",
        "`tl.sqrt` is `sqrt.approx.ftz`: up to 1 ulp off, and 0 for a subnormal; `tl.sqrt_rn` is exact.",
    ),
    (
        "rsqrt",
        "`tl.rsqrt` is `rsqrt.approx.ftz`: up to 2 ulp off, and infinite for a subnormal.",
    ),
    (
        "/",
        "float32 `/`, also inside `tl.sigmoid` and `tl.softmax`, is `div.full`: up to 2 ulp off; `tl.div_rn` is exact.",
    ),
    (
        "dot",
        '`tl.dot` on float32 multiplies in TF32, 11 of 24 bits, unless you pass `input_precision="ieee"`; so it does '
        "here. GPUs without TF32 multiply all 24.",
    ),
    (
        "atomic",
        "Atomics of several programs happen in any order.",
    ),
    (
        "atomic sum",
        "Sums of floats by atomics differ in their last bits from run to run, which is right within the tolerance.",
    ),
    (
        "barrier",
        "A program's threads do not wait for each other: what some lanes have stored, other lanes can load once all "
        "have passed `tl.debug_barrier()`, and no earlier.",
    ),
    (
        "fast",
        "Approximate functions (`fast_*`, `.approx` in inline assembly) are off by as much as CUDA's manuals say, or "
        "less; here each element is off by that much.",
    ),
    (
        "float8",
        "AMD's float8 formats are rounded to nearest even; here they are as Triton's interpreter rounds them.",
    ),
    (
        "fusion",
        "The compiler fuses a multiply and an add where it can, which rounds once instead of twice.",
    ),
    (
        "logical",
        "`and` and `or` between blocks are deprecated, and the compiler warns of them. Write `&` and `|`, with "
        "parentheses around comparisons.",
    ),
    (
        "offsets",
        "An offset is computed in 32 bits, as in `tl.program_id(0) * BLOCK`, and wraps around in a tensor of more than "
        "2^31 elements, which no case has; `tl.program_id(0).to(tl.int64) * BLOCK` does not.",
    ),
    (
        "speed",
        "The emulator counts bytes; it does not measure time, registers or shared memory.",
    ),
)
