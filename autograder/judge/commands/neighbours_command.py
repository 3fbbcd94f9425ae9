"""``graded-kernels neighbours``: whether a row's result depends on the rows beside it, or the past on the future."""

import argparse
import json

from ...words import Commands, Exit, UsageError, keep_stdout


def add_to(commands: Commands) -> None:
    """Adds the command."""
    asked = commands.add_parser(
        "neighbours",
        help="does a row's result depend on the rows beside it? exit 0: it does not, 1: it does, 2: wrong usage",
        description="Calls a function on a batch and on other batches of the same rows, and compares each row bit by "
        "bit; with --causal, on sequences with the same past. It is called in this process: use it on code that you "
        "trust.",
    )
    form = "FILE.py:NAME or package.module:NAME"
    asked.add_argument("function", help=f"{form}, a function, a module or an autograd.Function")
    asked.add_argument(
        "--arguments",
        metavar="FILE.py:NAME",
        required=True,
        help="the example: arguments with a batch of two or more rows, or a function of nothing or of a seed",
    )
    asked.add_argument(
        "--batch",
        metavar="NAME",
        action="append",
        required=True,
        help="an argument whose dimension 0 is the batch, by name or by place from 0; once for each",
    )
    asked.add_argument(
        "--causal",
        type=int,
        metavar="DIM",
        help="also ask whether what comes behind a position changes its result: the dimension of time, from 0, of the "
        "arguments that --batch names; where it is 0, rows are positions and not asked about",
    )
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="of the example (0)")
    asked.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    asked.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Asks, and shows what was found. Raises UsageError."""
    stdout = keep_stdout()
    from ...runner import CompareError  # after the command line was understood: it takes seconds
    from ..batches.batch_invariance import neighbours

    try:
        comparison = neighbours(
            options.function, options.arguments, options.batch, causal=options.causal, seed=options.seed
        )
    except CompareError as error:
        raise UsageError(str(error)) from None
    text = json.dumps(comparison.to_dict(), indent=2, allow_nan=False) if options.json else str(comparison)
    print(text, file=stdout, flush=True)
    return Exit.NOT_PASSED if comparison else Exit.PASSED
