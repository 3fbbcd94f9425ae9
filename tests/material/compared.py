"""Functions to compare, and what a comparison's report has of its cases."""

import torch


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def softmax(x):
    return torch.softmax(x, -1)


def careful(x):
    e = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def overflowing(x):
    e = x.float().exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


# What is left out where it takes most of the time and shows nothing more: special values and dtypes, and sizes, too.
SIZES_ALONE = ("NaN", "infinity", "-infinity", "float16", "bfloat16")
FEW = ("dimension", *SIZES_ALONE)
# The example, other numbers, odd sizes and zeros, and each layout: where values decide nothing.
NO_VALUES = (*FEW, "tiny", "subnormal", "large", "very large", "far", "other signs", "rows of", "one outlier")


def failing(report):
    return {case.name for case in report.cases if case.status in ("fail", "error")}


def not_run(report):
    return {case.name: case.message for case in report.cases if case.status == "not-run"}
