"""The same case in float16 and in bfloat16."""

from typing import Any

import torch

from ...judge import HALVES, Arguments, Case, case, draw
from ...runner import dtype_name


def in_halves(name: str, hint: str, given: Arguments, *names: str, **more: Any) -> tuple[Case, ...]:
    """A case for each, to which the arguments of ``names`` are rounded. name, hint: with the dtype in place of ``{}``.
    more: as `case` has it.
    """

    def rounded(dtype: torch.dtype) -> Case:
        called, explanation = (text.replace("{}", dtype_name(dtype)) for text in (name, hint))
        return case(called, explanation, given.each(draw.same.to(dtype), *names), **more)

    return tuple(map(rounded, HALVES))
