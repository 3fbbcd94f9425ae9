"""``python tests/material/emulator_matrix.py [VERSION ...]``: the emulator's tests on each Triton it knows, as a table.

Each version is installed into a temporary folder, put before everything else on the path, and thrown away.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

VERSIONS = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
TESTS = Path(__file__).parents[1]


def run(version: str) -> tuple[str, bool]:
    """pytest's last line under one version of Triton, and whether every test passed."""
    with tempfile.TemporaryDirectory(prefix=f"triton-{version}-") as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        installed = subprocess.run([*install, f"triton=={version}"], capture_output=True, text=True)
        if installed.returncode:
            return f"not run: {installed.stderr.strip().splitlines()[-1]}", False
        files = [str(path) for path in sorted((TESTS / "gpu").glob("test_emulator*.py"))]
        child = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
            capture_output=True,
            text=True,
            cwd=TESTS.parent,
            env={**os.environ, "PYTHONPATH": folder, "TRITON_INTERPRET": "1"},
        )
        lines = child.stdout.strip().splitlines()
        for line in lines:
            if line.startswith(("FAILED", "ERROR")):
                print(line, file=sys.stderr, flush=True)
        return lines[-1], child.returncode == 0


def main(versions: tuple[str, ...]) -> int:
    print("| Triton | the emulator's tests |\n|---|---|")
    passed = True
    for version in versions:
        line, ok = run(version)
        passed = passed and ok
        print(f"| {version} | {line} |", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or VERSIONS))
