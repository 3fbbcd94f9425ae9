"""What `compare` says of 40 problems of KernelBench beside themselves, and of each with planted slips.

    git clone https://github.com/ScalingIntelligence/KernelBench
    python benchmarks/side_by_side/kernelbench.py KernelBench [--part 0/2] [--only softmax]

The candidate is the problem's own file with `Model` named `ModelNew`: it should pass. Then one line of it is replaced,
as slips.toml has it, by one that calls slips.py: it should not.
"""

import argparse
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path

from graded_kernels.autograder import compare
from verdicts import Verdict, verdict_of

warnings.filterwarnings("ignore", "input's size at dim=1")  # of InstanceNorm, for other numbers of channels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="", help="problems whose path has this in it")
    parser.add_argument("--part", default="0/1", help="of the problems: K/N, each N-th from the K-th")
    options = parser.parse_args()
    part, of = map(int, options.part.split("/"))
    recipes = tomllib.loads(Path(__file__).with_name("slips.toml").read_text(encoding="utf-8"))
    chosen = [one for one in recipes["problems"] if options.only.lower() in one[0].lower()][part::of]
    print("| problem | candidate | verdict | families that fail | seconds |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for file, *slips in chosen:
            for slip, old, new in [("its own code", "", ""), *slips]:
                problem = options.checkout / "KernelBench" / file
                solution = Path(folder) / f"{problem.stem}_{slip.replace(' ', '_')}.py"
                solution.write_text(patched(problem.read_text(encoding="utf-8"), old, new), encoding="utf-8")
                print(judged(problem, solution).row(file.removesuffix(".py"), slip), flush=True)


def patched(text: str, old: str, new: str) -> str:
    """The problem as a solution, with ``new`` for ``old`` in `forward`."""
    before, forward, after = text.partition("def forward(")
    if old not in after:
        sys.exit(f"{old!r} is not in the problem: the checkout is of another commit")
    named = (before + forward + (after.replace(old, new) if old else after)).replace("class Model(", "class ModelNew(")
    return "import slips\n" + named.replace("super(Model,", "super(ModelNew,")


def judged(problem: Path, solution: Path) -> Verdict:
    return verdict_of(lambda: compare(str(problem), str(solution), simulated=False, any_method=True))


if __name__ == "__main__":
    main()
