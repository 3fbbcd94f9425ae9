"""What `make release` built, used by somebody who has nothing else: ``python tests/material/check_release.py dist``.

Wheel and source archive are installed, each into an empty environment with the project's pins, outside of the clone.
There the library computes, the grader passes a right answer, refuses a wrong one, and compares two functions.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """import torch

def silu_forward(x):
    return (x.double() * torch.sigmoid(x.double())).to(x.dtype)
"""
WRONG = RIGHT.replace("torch.sigmoid", "torch.tanh")
LIBRARY = """import torch
from graded_kernels.kernels import silu
x = torch.linspace(-3, 3, 7, requires_grad=True)
silu(x).sum().backward()
print(x.grad)
"""


def main(dist: Path) -> int:
    """Returns an exit status."""
    built = sorted(dist.glob("*.whl")) + sorted(dist.glob("*.tar.gz"))
    if len(built) != 2:
        print(f"{dist} should hold one wheel and one source archive, not {[path.name for path in built]}")
        return 1
    for archive in built:
        print(f"Installing {archive.name} into an empty environment ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try_out(archive, Path(folder))
    print("Both can be released.")
    return 0


def try_out(archive: Path, folder: Path) -> None:
    """Raises CalledProcessError or AssertionError."""
    venv.create(folder / "env", with_pip=True)
    python, command = folder / "env/bin/python", folder / "env/bin/graded-kernels"
    pins = re.sub(r"\[.*?\]", "", (ROOT / "requirements.txt").read_text())  # a constraint has no extras
    (folder / "pins.txt").write_text(pins)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", folder / "pins.txt", archive], check=True)
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(WRONG)
    steps = [
        ([python, "-c", LIBRARY], 0),
        ([command, "list"], 0),
        ([command, "check", "silu_forward", "right.py"], 0),
        ([command, "check", "silu_forward", "wrong.py"], 1),
        ([command, "compare", "right.py:silu_forward", "right.py:silu_forward", "--like", "silu_forward"], 0),
    ]
    for arguments, expected in steps:
        ran = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
        said = " ".join(str(a) for a in arguments[1:4])
        assert ran.returncode == expected, f"{said}: status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        print(f"  {' '.join(said.split())[:60]}: as expected", flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
