"""The results of the public cases, as anybody who has the project can compute them: for attacks that look them up."""

import base64
import functools
import hashlib

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.judge import arguments
from graded_kernels.autograder.runner.call.tree import Tree

PUBLIC_SEED = 0


@functools.cache
def table(exercise: str, cases: tuple[str, ...]) -> str:
    """A dictionary's text: a hash of the arguments' bytes -> the first output's bytes in base64."""
    found = {}
    for args, result in _results(exercise, cases):
        data = b"".join(str(a.dtype).encode() + _bytes(a) for a in args)
        found[hashlib.sha256(data).hexdigest()] = base64.b64encode(_bytes(result)).decode()
    return repr(found)


@functools.cache
def rows(exercise: str, cases: tuple[str, ...]) -> str:
    """Lines of a kernel that choose element i of the output by the first element of the input."""
    lines = []
    for (x,), result in _results(exercise, cases):
        for i, value in enumerate(result.tolist()):
            lines.append(f"    r = tl.where((first == {x.flatten()[0].item()!r}) & (i == {i}), {value!r}, r)")
    return "\n".join(lines).strip()


def _results(exercise: str, cases: tuple[str, ...]):
    record = EXERCISES[exercise]
    for number, case in enumerate(case for case in record.cases if case.name in cases):
        args = arguments(case, number, PUBLIC_SEED)
        (value, *_), (dtype, *_) = Tree.of(record.oracle(*record.widened(args))).args, record.dtypes(args)
        yield args, value.to(dtype)


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
