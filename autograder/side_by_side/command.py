"""``graded-kernels compare``: a function and its reference, named as files and functions, or in KernelBench's form."""

import argparse
import contextlib
import json
from typing import Any, NoReturn

from ..commands.answers import keep_stdout
from ..commands.usage import NOT_PASSED, PASSED, Commands, UsageError, qualities


def add_to(commands: Commands) -> None:
    """Adds the command."""
    compare = commands.add_parser(
        "compare",
        help="judge a function by its reference in PyTorch; exit 0: passed, 1: not passed, 2: wrong usage",
        description="Calls both on families of inputs made from example arguments; the reference in float64 is right. "
        "The candidate is called in this process: use it on code that you trust.",
    )
    form = "FILE.py:NAME or package.module:NAME, a function, a module or an autograd.Function"
    compare.add_argument("reference", help=f"{form}; or a file in KernelBench's form (Model, get_inputs)")
    compare.add_argument("candidate", help="the same; in KernelBench's form a file with ModelNew")
    compare.add_argument(
        "--arguments", metavar="FILE.py:NAME", help="the example: arguments, or a function of nothing, a seed, or both"
    )
    compare.add_argument("--like", metavar="EXERCISE", help="the example is what this exercise is called with: silu")
    compare.add_argument(
        "--without", action="append", default=[], metavar="NAME", help="leave out families whose name begins so: NaN"
    )
    compare.add_argument("--forward-only", action="store_true", help="do not compare gradients")
    compare.add_argument("--only", action="extend", type=qualities, help="what decides: correct, portable or both")
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    compare.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    compare.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Compares, and shows the report. Raises UsageError."""
    stdout = keep_stdout()
    import torch  # after the command line was understood: it takes seconds

    from ..report import terminal
    from ..report.progress import wants_color
    from ..sanitize.cuda import shimmed
    from .comparison import compare
    from .errors import CompareError

    simulated = not torch.cuda.is_available()
    with shimmed(_refuse) if simulated else contextlib.nullcontext():
        try:
            reference, candidate, arguments = _named(options)
            report = compare(
                reference,
                candidate,
                arguments,
                like=options.like,
                seed=options.seed,
                without=options.without,
                gradients=False if options.forward_only else None,
                simulated=simulated,
                **({"require": options.only} if options.only else {}),
            )
        except CompareError as error:
            raise UsageError(str(error)) from None
    if options.json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False), file=stdout, flush=True)
    else:
        print(terminal.render(report, color=wants_color(stdout)), file=stdout, flush=True)
    return PASSED if report.passed else NOT_PASSED


def _refuse(why: str) -> NoReturn:
    raise NotImplementedError(why)


def _named(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """(reference, candidate, arguments) as the command line names them. Raises UsageError."""
    from ..sanitize.function import found
    from .kernelbench import pair

    if ":" not in options.reference and ":" not in options.candidate:
        if options.arguments or options.like:
            raise UsageError(
                "in KernelBench's form the arguments are those of get_inputs: leave out --arguments and --like"
            )
        return pair(options.reference, options.candidate, options.seed)
    reference, candidate = found(options.reference), found(options.candidate)
    if not options.arguments:
        return reference, candidate, None
    return reference, candidate, _value(options.arguments)


def _value(text: str) -> Any:
    """The function or the tuple of arguments that ``text`` names. Raises UsageError."""
    from ..sanitize.function import named

    return named(text)
