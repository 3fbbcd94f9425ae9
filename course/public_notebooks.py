"""The learner's chapters for a place without a clone: ``python -m graded_kernels.course.public_notebooks --to FOLDER``.

Each notebook is released as a learner gets it, without answers, and begins with a badge that opens it in Colab and a
cell that installs the course. A workflow pushes the folder to the branch `BRANCH`, from which Colab opens it.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from .learner import ROOT, release, sources

BRANCH = "notebooks"
REPOSITORY = os.environ.get("GITHUB_REPOSITORY", "")  # owner/name on the code host; the one setting of addresses
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"


def install_cell(repository: str = REPOSITORY) -> str:
    """The code of the first cell. repository: owner/name on GitHub; a clone beside the notebook where it is ""."""
    address = f"git+https://github.com/{repository}" if repository else "./graded-kernels  # a clone"
    return (
        "# Run this first: it installs the course where a service such as Colab runs this notebook.\n"
        f"%pip install --quiet {address}"
    )


def heading(name: str, repository: str) -> str:
    """The Markdown above a chapter. name: of its notebook, without its ending."""
    page = f"https://colab.research.google.com/github/{repository}/blob/{BRANCH}/{name}.ipynb"
    badge = f"[![Open in Colab]({BADGE})]({page})"
    advice = (
        "The next cell installs the course. A CPU runtime is what it is made for; in VS Code pick the kernel of the "
        "environment in which you installed it. In Colab, *File > Save a copy in Drive* first: else what you write "
        "ends with the runtime."
    )
    return f"{badge}\n\n{advice}" if repository else advice


def public(name: str, notebook: dict[str, Any], repository: str, without_ai: bool) -> dict[str, Any]:
    """A released notebook with its two cells in front. without_ai: whether Colab's AI stays off in it."""
    front = [
        {"cell_type": "markdown", "id": "where-it-runs", "metadata": {}, "source": heading(name, repository)},
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "install",
            "metadata": {},
            "outputs": [],
            "source": install_cell(repository),
        },
    ]
    colab = {"generative_ai_disabled": True} if without_ai else {}
    metadata = notebook["metadata"] | ({"colab": colab} if colab else {})
    return notebook | {"cells": [*front, *notebook["cells"]], "metadata": metadata}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Writes every chapter into a folder, and prints which. Returns an exit status."""
    parser = argparse.ArgumentParser(
        prog="make notebooks", description="The learner's chapters, each with an install cell and a badge."
    )
    parser.add_argument("--to", type=Path, default=root / "build" / "notebooks", metavar="FOLDER")
    parser.add_argument("--repository", default=REPOSITORY, metavar="OWNER/NAME", help="where the branch is (GitHub)")
    parser.add_argument("--without-ai", action="store_true", help="keep Colab's own AI off: for a class")
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    for source in sources(root):
        notebook = public(source.stem, json.loads(release(source)), options.repository, options.without_ai)
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        (options.to / source.name).write_text(text, encoding="utf-8")
    print(f"wrote {len(sources(root))} notebooks to {options.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
