"""PyTorch's `gradcheck`: a gradient compared with differences of its function, in float64, on one ordinary input."""

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import Tree
from torch.autograd.gradcheck import GradcheckError

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject


def refuses(row: Row) -> str:
    return "no gradient of a function that stands by itself" if row.how != "exercise" else ""


def check(row: Row) -> Said:
    one = subject(row)
    record = one.exercise
    if record is None or record.forward is None:
        raise Cannot("no gradient of a function that stands by itself")
    if row.backend == "triton":
        raise Cannot("its kernels compute in float32, and gradcheck needs float64")
    forward = EXERCISES[record.forward.name]
    wide = dict(zip(record.parameters, record.widened(one.example(0)), strict=False))
    saved = [output.name for output in forward.outputs]
    given = {name: value for name, value in wide.items() if name in forward.parameters}
    inputs = [name for name in (output.name.removeprefix("d") for output in record.outputs) if name in given]

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.given = given | dict(zip(inputs, tensors, strict=True))
            results = Tree.of(forward.oracle(**ctx.given)).leaves
            ctx.saved = dict(zip(saved, results, strict=True))
            ctx.mark_non_differentiable(*results[1:])
            return tuple(results)

        @staticmethod
        def backward(ctx, upstream, *rest):
            known = wide | ctx.saved | ctx.given
            arguments = [upstream, *(known[name] for name in record.parameters[1:] if name in known)]
            return tuple(Tree.of(one.function(*arguments)).leaves)

    tensors = [given[name].clone() for name in inputs]
    for tensor in tensors:
        tensor.requires_grad_()
    torch.manual_seed(0)
    try:
        torch.autograd.gradcheck(Function.apply, tensors, fast_mode=True)
    except GradcheckError as error:
        return Said(row.name, True, "gradient", "", " ".join(str(error).split())[:300])
    except (TypeError, ValueError, RuntimeError) as error:
        raise Cannot(f"it cannot be put to gradcheck: {' '.join(str(error).split())[:200]}") from None
    return Said(row.name)
