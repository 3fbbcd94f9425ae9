"""NVIDIA's compute-sanitizer, its memcheck, each tensor in an allocation of its own: needs a GPU.

What it says of tritonbench was recorded on an H100, with another runner and this command; this module was not run.
"""

import os
import re
import shutil
import subprocess
import sys

import torch

from ..row import HERE, Row
from ..said import Said
from ..subject import Cannot

GIGABYTES = 4096  # of addresses, which CUDA reserves
ON_A_GPU = {"PYTHONPATH": str(HERE.parents[1]), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "TRITON_INTERPRET": "0"}
LAUNCH = "import sys; from research.exam.row import read; from research.exam.subject import subject; \
subject(read()[0][sys.argv[1]]).launch()"


def check(row: Row) -> Said:
    if not torch.cuda.is_available() or not shutil.which("compute-sanitizer"):
        raise Cannot("not run: needs a GPU and compute-sanitizer")
    told = subprocess.run(
        ["compute-sanitizer", "--tool", "memcheck", "--print-limit", "1", sys.executable, "-c", LAUNCH, row.name],
        env=os.environ | ON_A_GPU,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search(r"=+ +Invalid __\w+__ (?:read|write|atomic)", told.stdout):
        place = re.search(r"=+ +at (\w+)\S*.*?(?:in (\S+\.py):(\d+))?$", told.stdout, re.MULTILINE)
        at = f"{place[1]} line {place[3]}" if place and place[3] else place[1] if place else ""
        return Said(row.name, True, "memory", at, "an access outside of an allocation")
    if told.returncode < 0:
        return Said(row.name, True, says=f"the process dies with signal {-told.returncode}")
    if told.returncode:
        last = told.stderr.strip().splitlines() or [f"status {told.returncode}"]
        raise Cannot(f"the program fails: {last[-1][:200]}")
    return Said(row.name)
