"""Ten subjects of the last hundred commits, drawn by a seed: how is what each is about found, from ARCHITECTURE.md on?

    python tests/material/subjects.py [--seed N] [--from REVISION] [--files]

Whoever does not know the code counts the files that they open before the first one that the commit changed; --files
prints those. The median should be at most 4: else ARCHITECTURE.md, tests/README.md or a name is to be mended.
"""

import argparse
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMITS, DRAWN = 100, 10


def git(*words: str) -> list[str]:
    """The lines that git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", dest="revision", default="HEAD", help="the newest of the commits")
    parser.add_argument("--files", action="store_true", help="with the files that each changed")
    options = parser.parse_args()
    commits = git("log", f"--max-count={COMMITS}", "--format=%h %s", options.revision)
    for line in random.Random(options.seed).sample(commits, min(DRAWN, len(commits))):
        print(line)
        if options.files:
            print(*git("show", "--name-only", "--format=", line.split()[0]), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
