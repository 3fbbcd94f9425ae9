"""A piece of the plan: one exercise timed at each size and dtype, ours and its peers'."""

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Case, Exercise
from graded_kernels.autograder.judge.comparing.closeness import compare, expect
from graded_kernels.autograder.runner import Tree

from .operations import OPERATIONS, Operation, Size
from .peers import Peer, peers
from .timing import COPIED, copy_bandwidth, matmul_flops, milliseconds

SMALL = 48  # the largest dimension on a simulated device, and where results are compared


def speed(name: str, simulated: bool) -> dict:
    """``rows``: author, size, dtype, quartiles in ms and the worst share of the tolerance, or why not. ``copy``: bytes
    a second; ``matmul``: operations a second, by dtype, where arithmetic is the limit.
    """
    operation, (authors, missing) = OPERATIONS[name], peers(name)
    torch.manual_seed(0)
    found: dict = {"copy": copy_bandwidth(1 << 20 if simulated else COPIED), "missing": missing, "rows": []}
    if operation.flops:
        found["matmul"] = {text(dtype): matmul_flops(dtype, SMALL if simulated else 8192) for dtype in operation.dtypes}
    for dtype in operation.dtypes:
        within = {author: tolerance_taken(operation, dtype, peer) for author, peer in authors.items()}
        for size in operation.sizes:
            rows = timed(operation, dtype, small(size) if simulated else size, authors)
            found["rows"] += [row | {"size": size, "dtype": text(dtype)} | within[row["author"]] for row in rows]
    return found


def timed(operation: Operation, dtype: torch.dtype, size: Size, authors: dict[str, Peer]) -> list[dict]:
    """A row for each author, on the same arguments."""
    try:
        args = operation.arguments(dtype, *size)
    except Exception as error:  # they do not fit into memory, or our own forward pass failed
        return [{"author": author, "failed": words(error)} for author in authors]
    work = {"bytes": operation.useful_bytes(args), "flops": operation.flops(*size) if operation.flops else 0}
    rows = []
    for author, peer in authors.items():
        try:
            rows.append({"author": author, "ms": milliseconds(peer(args))} | work)
        except Exception as error:
            rows.append({"author": author, "failed": words(error)})
    return rows


def tolerance_taken(operation: Operation, dtype: torch.dtype, peer: Peer) -> dict:
    """The largest share of the exercise's tolerance that an element of the first of three sizes, made small, takes."""
    record = EXERCISES[operation.name]
    assert isinstance(record, Exercise)
    try:
        args = operation.arguments(dtype, *small(operation.sizes[0]))
        there = Tree(Tree(args).map(torch.clone)).map(torch.Tensor.cpu)
        returned = peer(args)()
        written = [record.named(args)[name] for name in record.contract.written(args)]
        outputs = Tree((*(Tree.of(returned).args if record.outputs else ()), *written)).map(torch.Tensor.cpu)
    except Exception as error:
        return {"taken": None, "wrong": words(error)}
    expected = expect(record, Case("as timed", lambda generator: there, ""), there)
    named = record.named(there)
    compared = [compare(expected, index, output, named) for index, output in enumerate(outputs)]
    complaint = next((one.complaint for one in compared if one.complaint), "")
    return {"taken": max(one.used for one in compared), "wrong": complaint}


def small(size: Size) -> Size:
    return tuple(min(length, SMALL) for length in size)


def text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def words(error: BaseException) -> str:
    """The error in a line."""
    said = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {said}".removesuffix(": ")[:200]
