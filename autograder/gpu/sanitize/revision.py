"""Files at a revision in git. Imports no PyTorch."""

import ast
import functools
import os
import subprocess
import textwrap
from pathlib import Path


class RevisionError(Exception):
    """There is no such revision; the message names the remedy."""


def check(revision: str) -> None:
    """Raises RevisionError where the current folder is in no repository, or it has no such revision."""
    if toplevel(Path.cwd()) is None:
        raise RevisionError(f"since {revision}: the current folder is in no git repository; start from one")
    if _git(Path.cwd(), "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}") is None:
        raise RevisionError(
            f"since {revision}: there is no such revision here; name a commit, a branch or a tag, and in CI fetch it "
            "first (a shallow clone holds one commit)"
        )


@functools.cache
def toplevel(folder: Path) -> Path | None:
    """The root of the repository that a folder is in, None where it is in none."""
    output = _git(folder, "rev-parse", "--show-toplevel")
    return Path(output.strip()) if output else None


@functools.cache
def text_at(file: Path, revision: str) -> str | None:
    """A file's text at a revision, None where it did not exist."""
    return _git(file.parent, "show", f"{revision}:./{file.name}")


def ignored(file: Path) -> bool:
    """Returns whether git is told to leave a file alone."""
    return _git(file.parent, "check-ignore", file.name) is not None


@functools.cache
def functions_of(text: str) -> frozenset[str]:
    """The texts of all functions in a file's text, their decorators included."""
    lines = text.splitlines(keepends=True)
    try:
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return frozenset()
    firsts = [min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) for node in functions]
    pairs = zip(firsts, functions, strict=True)
    return frozenset(plain("".join(lines[first - 1 : node.end_lineno])) for first, node in pairs)


def plain(text: str) -> str:
    """A function's text without the indentation that all its lines share, and without spaces at their ends."""
    return textwrap.dedent("\n".join(line.rstrip() for line in text.strip("\n").splitlines()))


def _git(folder: Path, *arguments: str) -> str | None:
    # Without the variables by which git tells its hooks where they are: kernels may lie elsewhere.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True, env=ours)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode("utf-8", "replace")
