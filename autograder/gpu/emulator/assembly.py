"""The few PTX instructions people put into ``tl.inline_asm_elementwise``."""

import re
from collections.abc import Callable

import numpy as np
from triton.runtime.interpreter import TensorHandle

from . import approximate
from .findings import EmulatorError, Finding, current_place

_ONE = re.compile(r"^\s*([a-z0-9.]+)\s+\$0\s*,\s*\$1\s*;?\s*$")

_KNOWN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rcp.rn.f32": np.reciprocal,
    "sqrt.rn.f32": np.sqrt,
    **{f"{name}.approx.f32": function for name, function in approximate.PTX.items()},
    **{f"{name}.approx.ftz.f32": approximate.PTX[name] for name in approximate.FLUSHING},
}


def exponents(values: np.ndarray) -> np.ndarray:
    """float32 to the exponent of the next power of two, as `ue8m0` holds it: 255 for infinity, NaN and what is above
    2^127; 0, which is 2^-127, for what is below. The sign is dropped.
    """
    bits = values.astype(np.float32).view(np.uint32)
    exponents, fractions = bits >> 23 & 255, bits & 0x7FFFFF
    above = np.where(exponents == 0, fractions > 0x400000, fractions != 0)
    return np.where(exponents == 255, 255, exponents + above).astype(np.uint16)


_PAIR = re.compile(r"^\s*cvt\.rp\.ue8m0x2\.f32\s+\$0\s*,\s*0\.0\s*,\s*\$1\s*;?\s*$")  # the upper byte is that of 0


class AssemblyResult:
    """Holds what the builder's ``create_inline_asm`` returns: results by number."""

    def __init__(self, result: TensorHandle):
        self._result = result

    def get_result(self, index: int) -> TensorHandle:
        """The one result."""
        return self._result


def function(text: str) -> Callable[[np.ndarray], np.ndarray]:
    """The numpy function of a one-instruction assembly string.

    Raises:
        EmulatorError: any other assembly.
    """
    if _PAIR.match(text):
        return exponents
    match = _ONE.match(text)
    if match and match.group(1) in _KNOWN:
        return _KNOWN[match.group(1)]
    place = current_place()
    known = ", ".join(sorted(_KNOWN))
    message = (
        f"The emulator cannot run this inline assembly, at {place}. It knows one instruction of the form `op $0, $1;` "
        f"with op one of {known}; and `cvt.rp.ue8m0x2.f32 $0, 0.0, $1;`. Use a `tl` or `libdevice` function instead."
    )
    raise EmulatorError(Finding("not-emulated", message, line=place.line, source=place.source, file=place.file))
