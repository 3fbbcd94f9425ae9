"""Takes the values out of what those who are graded see of an instructor's case."""

from dataclasses import replace

import torch

from ..comparing.trial import describe
from ..records.record import Exercise
from .case_verdict import Judged

REDACTED = {
    "fail": "The result is wrong on this input, which is your instructor's and not shown.",
    "error": "The answer gives no result on this input, which is your instructor's and not shown.",
}
OURS = ("timeout", "memory")  # troubles whose sentences the answer has no part in


def redacted(exercise: Exercise, judged: Judged) -> Judged:
    """The judgement with only what may be shown of a hidden case: its name, the kind of its input and its hint;
    whether it passed, not how.

    Texts that the answer had a part in, values, errors and traffic go no further: an answer may put into them what it
    was given.
    """
    result, trouble = judged.result, judged.trouble
    message = REDACTED.get(result.status, "")
    if trouble and trouble.kind in OURS:
        message = trouble.message
    elif trouble:
        trouble = replace(trouble, message=message, details="", error="", code="", at="", place="")
    kinds = describe(exercise, judged.args, lambda tensor: "not contiguous", kind_of, values=False)
    shown = replace(result, message=message, inputs=kinds, details="", code="", place="", form="", near=None)
    shown = replace(shown, worst_ulp=None, margin=None, hidden=True)
    return Judged(replace(shown, failure=None, curve=None), trouble=trouble)


def is_float(value: object) -> bool:
    """Returns whether it is a tensor of floating-point numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def kind_of(value: object) -> str:
    """The kind of an argument in words."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, torch.Tensor):
        return f"a tensor of {'floats' if is_float(value) else 'whole numbers'}"
    return "a text" if isinstance(value, str) else "a number"
