"""``python -m benchmarks.gpu``, or ``make gpu``: measures on the GPU of this machine, and writes benchmarks/gpu.md."""

import argparse
import sys
from pathlib import Path

import torch
from graded_kernels.course.learner import ROOT

from .kept import Kept
from .machine import installed
from .page import page
from .plan import Piece, pieces
from .run import in_child, run

NO_GPU = (
    "make gpu needs a CUDA device, and PyTorch finds none on this machine. `python -m benchmarks.gpu --dry-run` goes "
    "through every piece on a simulated one."
)
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    folder = ROOT / "build" / "gpu-dry-run" if options.dry_run else ROOT / "benchmarks"
    folder = Path(options.into) if options.into else folder
    kept, written = Kept(folder / "gpu.jsonl"), folder / "gpu.md"
    if options.page:
        write(kept, written)
        return 0
    if not options.dry_run and not torch.cuda.is_available():
        print(NO_GPU, file=sys.stderr)
        return 2
    if options.again:
        kept = begun_again(kept)
    if (there := other_machine(kept)) and not options.dry_run:
        print(f"{kept.path} has results of {there}. GPU_ARGS=--again puts it aside and begins anew.", file=sys.stderr)
        return 2
    plan = [piece for piece in pieces() if chosen(piece, options.only)]
    try:
        left = run(plan, kept, 60 * options.minutes, in_child(options.dry_run), say)
    except KeyboardInterrupt:
        write(kept, written)
        say("Interrupted; what ended is kept, and the same command goes on from there.")
        return INTERRUPTED
    write(kept, written)
    if left:
        say(f"{options.minutes:.0f} minutes are over; the same command goes on with the {len(left)} pieces left.")
    return int(bool(left) or any(not kept.done(piece.key) for piece in plan))


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.partition(": ")[2])
    parser.add_argument("--dry-run", action="store_true", help="on a simulated device, into build/gpu-dry-run/")
    parser.add_argument("--minutes", type=float, default=25, help="the time there is (25)")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="these pieces, by the beginning of their keys")
    parser.add_argument("--again", action="store_true", help="put kept results aside and begin anew")
    parser.add_argument("--page", action="store_true", help="write the page from what is kept, and run nothing")
    parser.add_argument("--into", metavar="FOLDER", help="another folder for results and page")
    return parser.parse_args(arguments)


def chosen(piece: Piece, only: list[str] | None) -> bool:
    return only is None or any(piece.key.startswith(beginning) for beginning in only)


def begun_again(kept: Kept) -> Kept:
    """An empty file; the old one stays beside it."""
    if kept.path.exists():
        kept.path.replace(kept.path.with_suffix(".jsonl.old"))
    return Kept(kept.path)


def other_machine(kept: Kept) -> str:
    """With what the kept results were measured, where that is not this machine; "" where it is."""
    machine = kept.found("machine")
    if not machine or not torch.cuda.is_available():
        return ""
    here = torch.cuda.get_device_name(0), torch.__version__, installed("triton")
    there = machine["device"], machine["torch"], machine["triton"]
    return "" if here == there else "{}, PyTorch {} and Triton {}".format(*there)


def write(kept: Kept, written: Path) -> None:
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(page(kept), encoding="utf-8")
    say(f"wrote {written}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
