"""The few PTX instructions people put into ``tl.inline_asm_elementwise``."""

import re
from collections.abc import Callable

import numpy as np
from triton.runtime.interpreter import TensorHandle

from . import libdevice
from .findings import EmulatorError, Finding, here

_ONE = re.compile(r"^\s*([a-z0-9.]+)\s+\$0\s*,\s*\$1\s*;?\s*$")

_KNOWN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh.approx.f32": np.tanh,
    "ex2.approx.f32": np.exp2,
    "ex2.approx.ftz.f32": np.exp2,
    "lg2.approx.f32": np.log2,
    "lg2.approx.ftz.f32": np.log2,
    "rcp.approx.f32": np.reciprocal,
    "rcp.approx.ftz.f32": np.reciprocal,
    "rcp.rn.f32": np.reciprocal,
    "sqrt.approx.f32": np.sqrt,
    "sqrt.rn.f32": np.sqrt,
    "rsqrt.approx.f32": libdevice.rsqrt,
    "rsqrt.approx.ftz.f32": libdevice.rsqrt,
    "sin.approx.f32": np.sin,
    "cos.approx.f32": np.cos,
}


class Call:
    """What the builder's ``create_inline_asm`` returns: results by number."""

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
    match = _ONE.match(text)
    if match and match.group(1) in _KNOWN:
        return _KNOWN[match.group(1)]
    place = here()
    known = ", ".join(sorted(_KNOWN))
    message = (
        f"The emulator cannot run this inline assembly, at {place}. It knows one instruction of the form `op $0, $1;` "
        f"with op one of {known}. Use a `tl` or `libdevice` function instead."
    )
    raise EmulatorError(Finding("not-emulated", message, line=place.line, source=place.source, file=place.file))
