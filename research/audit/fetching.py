"""Packages by version and hash, each into a folder of its own: what audit.py and suites.py run."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("flash-attn",)  # their wheels are compiled against CUDA, their Triton kernels are in the source
NEEDS = {  # what a package imports beside PyTorch and Triton, pinned in pins.txt, too
    "fla-core": ("einops",),
    "unsloth": (
        *("unsloth_zoo", "transformers", "tokenizers", "huggingface_hub", "httpx2", "httpcore2", "truststore"),
        *("regex", "safetensors", "filelock", "fsspec", "tqdm"),
    ),
}


def pins() -> dict[str, list[str]]:
    """Lines of pins.txt by package, in order."""
    found: dict[str, list[str]] = {}
    for line in (HERE / "pins.txt").read_text(encoding="utf-8").splitlines():
        found.setdefault(line.partition("==")[0], []).append(line)
    return found


def lines_of(names: list[str] | tuple[str, ...]) -> list[str]:
    known = pins()
    return [line for name in names for line in known[name]]


def fetch(line: str, folder: Path) -> str:
    """A line of pins.txt, and what its package needs, into a folder that is to be on the path. "", or why not."""
    name = line.partition("==")[0]
    if " https://" in line:
        return clone(line, folder)
    needs = lines_of(NEEDS.get(name, ()))
    if name not in SOURCES:
        return install([line, *needs], folder)
    with tempfile.TemporaryDirectory() as packed:
        return unpack(line, Path(packed), folder)


def install(lines: list[str], folder: Path) -> str:
    """Packages by version and hash into a folder. "", or why that failed."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as wanted:
        wanted.write("\n".join(lines))
        wanted.flush()
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target"]
        installed = subprocess.run([*pip, str(folder), "-r", wanted.name], capture_output=True, text=True)
    take_precedence(folder)
    return installed.stderr.strip().splitlines()[-1] if installed.returncode else ""


def take_precedence(folder: Path) -> None:
    """A package without ``__init__.py`` gives way to one of its name in the environment, wherever it is on the path."""
    for package in folder.iterdir():
        if package.is_dir() and package.suffix != ".dist-info":
            (package / "__init__.py").touch()


def unpack(line: str, packed: Path, folder: Path) -> str:
    """A source distribution by version and hash: fetched into ``packed``, its files into a folder. "", or why not."""
    wanted = packed / "source.txt"
    wanted.write_text(line, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--require-hashes"]
    command = [*pip, "--no-build-isolation", "--dest", str(packed), "-r", str(wanted)]
    environment = os.environ | {"FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE"}  # asked while its version is read
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    (archive,) = packed.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        (top,) = {name.partition("/")[0] for name in files.getnames()}
        files.extractall(packed, filter="data")
    folder.mkdir(exist_ok=True)
    for part in (packed / top).iterdir():
        part.rename(folder / part.name)
    return ""


def clone(line: str, folder: Path) -> str:
    """What was never released: a commit of a repository, by its hash. "", or why that failed."""
    pinned, address = line.split()
    return checkout(address, pinned.partition("==")[2], ["."], folder)


def checkout(address: str, commit: str, parts: list[str], folder: Path) -> str:
    """Puts some files and folders of a repository, as of a commit, into a folder. "", or why that failed."""
    folder.mkdir(exist_ok=True)
    commands = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", "--filter=blob:none", address, commit),
        ("checkout", "--quiet", "FETCH_HEAD", "--", *parts),
    )
    for command in commands:
        environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
        done = subprocess.run(["git", *command], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["git failed"])[-1]
    return ""
