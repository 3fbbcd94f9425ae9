"""``graded-kernels compare``: a function and its reference, named as files and functions, or in KernelBench's form."""

import argparse
import json
import signal

from ...words import Commands, Exit, Quality, UsageError, keep_stdout


def add_to(commands: Commands) -> None:
    """Adds the command."""
    compare = commands.add_parser(
        "compare",
        help="judge a function by its reference in PyTorch; exit 0: passed, 1: not passed, 2: wrong usage",
        description="Calls both on families of inputs made from example arguments; the reference in float64 is right. "
        "Without --isolated the candidate is called in this process: then use it on code that you trust.",
    )
    form = "FILE.py:NAME or package.module:NAME, a function, a module or an autograd.Function"
    compare.add_argument("reference", nargs="?", help=f"{form}; or a file in KernelBench's form (Model, get_inputs)")
    compare.add_argument("candidate", nargs="?", help="the same; in KernelBench's form a file with ModelNew")
    compare.add_argument(
        "--arguments", metavar="FILE.py:NAME", help="the example: arguments, or a function of nothing, a seed, or both"
    )
    compare.add_argument("--like", metavar="EXERCISE", help="the example is what this exercise is called with: silu")
    compare.add_argument(
        "--without", action="append", default=[], metavar="NAME", help="leave out families whose name begins so: NaN"
    )
    compare.add_argument("--forward-only", action="store_true", help="do not compare gradients")
    compare.add_argument("--only", action="extend", type=Quality.read, help="what decides: correct, portable or both")
    compare.add_argument(
        "--any-method", action="store_true", help="a candidate may call the reference's operators: its values decide"
    )
    kinds = "how a candidate may compute: kernels, partly, operators, with commas between (all three)"
    compare.add_argument("--computes", type=lambda text: text.split(","), metavar="KINDS", help=kinds)
    compare.add_argument(
        "--neighbours",
        action="append",
        default=[],
        metavar="NAME",
        help="also ask, in this process, whether a row's result depends on the rows beside it: an argument of the "
        "example whose dimension 0 is the batch, by name or place; once for each",
    )
    compare.add_argument(
        "--causal",
        type=int,
        metavar="DIM",
        help="with --neighbours: also ask whether what comes behind a position changes its result; the dimension of "
        "time, from 0, of these arguments",
    )
    compare.add_argument("--isolated", action="store_true", help="run the candidate's file in the sandbox alone")
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    compare.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    many = compare.add_argument_group("many at once")
    many.add_argument("--table", metavar="JOBS.jsonl", help="a job a line; prints a verdict a line, as each is made")
    many.add_argument("--output", metavar="FILE", help="write the verdicts there; those that it has are not made again")
    many.add_argument("--jobs", type=processes, metavar="N", help="processes on this machine (as many as cores)")
    many.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask cluster, tls://host:8786")
    many.add_argument(
        "--seconds", type=float, default=300.0, metavar="N", help="processor time that a job may take (300)"
    )
    compare.set_defaults(run=main)


def processes(text: str) -> int:
    """Reads a number of processes. Raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def main(options: argparse.Namespace) -> int:
    """Compares, and shows the report. Raises UsageError."""
    if options.table:
        return _many(options)
    if not options.candidate:
        raise UsageError("name a reference and a candidate, or a table of them with --table")
    stdout = keep_stdout()
    from ...words import Terminal, no_garbage

    with no_garbage():  # after the command line was understood: it takes seconds
        from ...runner import CompareError
        from ..report import terminal
        from ..side_by_side.values_and_rows import compare

    try:
        report = compare(
            options.reference,
            options.candidate,
            options.arguments,
            like=options.like,
            seed=options.seed,
            without=options.without,
            gradients=False if options.forward_only else None,
            any_method=options.any_method,
            neighbours=options.neighbours,
            causal=options.causal,
            isolated=options.isolated,
            **({"require": options.only} if options.only else {}),
            **({"computes": options.computes} if options.computes else {}),
        )
    except CompareError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False), file=stdout, flush=True)
    else:
        print(terminal.render(report, color=Terminal.wants_color(stdout)), file=stdout, flush=True)
    return Exit.PASSED if report.passed else Exit.NOT_PASSED


def _many(options: argparse.Namespace) -> int:
    alone = {
        "reference": options.reference,
        "--arguments": options.arguments,
        "--like": options.like,
        "--without": options.without,
        "--forward-only": options.forward_only,
        "--only": options.only,
        "--any-method": options.any_method,
        "--computes": options.computes,
        "--neighbours": options.neighbours,
        "--causal": options.causal is not None,
        "--seed": options.seed,
        "--json": options.json,
    }
    if names := [name for name, value in alone.items() if value]:
        raise UsageError(f"with --table the lines of the table say what is compared and how: leave out {names[0]}")
    from .table_command import main as compare_table

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout`, or a cluster's scheduler: as Ctrl-C
    return compare_table(options)
