"""Where a GPU may differ from the emulator and still be right: shown with the result, never held against an answer."""

CANNOT_SHOW: tuple[tuple[str, str], ...] = (
    (
        "exp",
        "`tl.exp` on a GPU is `ex2.approx(x * log2(e))`: its error grows with |x|, to tens of ulp near overflow.",
    ),
    (
        "exp2",
        "`tl.exp2` on a GPU is `ex2.approx.ftz`: up to 2 ulp off, and subnormal arguments and results become zero.",
    ),
    (
        "sqrt",
        "`tl.sqrt` on a GPU is `sqrt.approx.ftz`: up to 1 ulp off, and 0 for a subnormal; `tl.sqrt_rn` is exact.",
    ),
    (
        "rsqrt",
        "`tl.rsqrt` on a GPU is `rsqrt.approx.ftz`: up to 2 ulp off, and infinite for a subnormal.",
    ),
    (
        "/",
        "float32 `/` on a GPU is `div.full`: up to 2 ulp off; `tl.div_rn` is exact.",
    ),
    (
        "dot",
        '`tl.dot` on float32 rounds its inputs to TF32, 10 bits, on a GPU unless you pass `input_precision="ieee"`.',
    ),
    (
        "atomic",
        "Atomics of several programs happen in any order on a GPU: float sums differ in the last bits from run to run.",
    ),
    (
        "fast",
        "Approximate functions (`fast_*`, inline assembly) are rounded correctly here and are not on a GPU.",
    ),
    (
        "float8",
        "float8 conversions are those of Triton's interpreter, which does not round to nearest even.",
    ),
    (
        "fusion",
        "A GPU compiler fuses a multiply and an add where it can, which rounds once instead of twice.",
    ),
    (
        "speed",
        "The emulator counts bytes; it does not measure time, registers or shared memory.",
    ),
)
