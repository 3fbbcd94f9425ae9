"""Names of modules, functions and files in docstrings, help texts and Markdown exist, also after a rename."""

import ast
import functools
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("autograder", "benchmarks", "course", "examples", "kernels", "pytest_plugin", "solutions")
FOREIGN = {*sys.stdlib_module_names, "tl", "torch", "triton"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
ENTRY_POINTS = {"commands", "exercises"}  # groups of entry points, which are named like modules
FULL = re.compile(r"graded_kernels\.((?:\w+\.)*\w+)")
QUOTED = re.compile(r"`((?:\w+\.)+(?!py\b|toml\b|txt\b)\w+)(?:\([^`]*\))?`")
PATH = re.compile(rf"(?<![\w/.])((?:{'|'.join(FOLDERS)}|book|tests)/(?:[\w-]+/)*(?!my_op|NN_)[\w-]+\.(?:py|md))\b")

LATER = {"benchmarks/gpu.md", "course/teacher_config.py"}  # written by the first run on a GPU, and by a teacher


@functools.cache
def definitions() -> dict[str, set[str]]:
    """Every module by its dotted path, and every class below it, with what is defined anywhere in it."""
    found: dict[str, set[str]] = {}
    for path in (path for folder in (*FOLDERS, "tests") for path in (ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module, tree = ".".join(parts[:-1] if parts[-1] == "__init__" else parts), ast.parse(path.read_text("utf-8"))
        nodes = [*ast.walk(tree)]
        found[module] = {*filter(None, map(defined, nodes))}
        for one in (node for node in nodes if isinstance(node, ast.ClassDef)):
            found[f"{module}.{one.name}"] = {*filter(None, map(defined, ast.walk(one)))}
    return found


def defined(node: ast.AST) -> str:
    """What a node of a syntax tree defines, imports or assigns."""
    kind = type(node)  # of a million nodes: `isinstance` with several kinds takes four times as long
    if kind is ast.ClassDef or kind is ast.FunctionDef:
        return node.name
    if kind is ast.Name:
        return node.id if type(node.ctx) is ast.Store else ""
    if kind is ast.Attribute:
        return node.attr if type(node.ctx) is ast.Store else ""
    return (node.asname or node.name).split(".")[0] if kind is ast.alias else ""


def exists(name: str) -> bool:
    """Whether some module or class ends in the first parts of a dotted name, and has the part that follows them."""
    parts = name.split(".")
    return any(
        f".{known}".endswith(f".{'.'.join(parts[:end])}") and (end == len(parts) or parts[end] in definitions()[known])
        for end in range(len(parts), 0, -1)
        for known in ending_in(parts[end - 1])
    )


@functools.cache
def ending_in(word: str) -> list[str]:
    """The modules and classes whose last part is this word."""
    return [known for known in definitions() if known.rpartition(".")[2] == word]


def stale(text: str, python: bool) -> set[str]:
    """The names in a file that lead nowhere. A name that begins with a class of another library is not looked up."""
    found = {name for name in FULL.findall(text) if name.split(".")[0] not in ENTRY_POINTS and not exists(name)}
    found |= {name for name in PATH.findall(text) if name not in LATER and not (ROOT / name).exists()}
    trees = ast.walk(ast.parse(text)) if python else ()
    documented = (tree for tree in trees if type(tree) in DOCUMENTED)
    for name in (name for tree in documented for name in quoted(ast.get_docstring(tree) or "")):
        first = name.split(".")[0]
        if first not in FOREIGN and (exists(first) or not first[0].isupper()) and not exists(name):
            found.add(name)
    return found


def quoted(docstring: str) -> list[str]:
    """The dotted names in single backticks; double ones hold values and code."""
    return QUOTED.findall(re.sub("``.*?``", "", docstring, flags=re.DOTALL))


@pytest.mark.parametrize("folder", ["", "book", *FOLDERS])
def test_names_in_texts_exist(folder):
    paths = [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")] if folder else ROOT.glob("*.md")
    found = [(path, name) for path in paths for name in stale(path.read_text("utf-8"), path.suffix == ".py")]
    assert not found, "\n".join(f"{path.relative_to(ROOT)}: {name}" for path, name in sorted(found))


def test_a_stale_name_is_seen():
    text = '"""As `runner.walk`, `tl.load`, `Emulator.hints` and autograder/runner/call/runner.py do."""\n'
    assert stale(text, python=True) == {"runner.walk"}
    assert stale("`python -m graded_kernels.nowhere`, [text](course/nowhere.md)", python=False) == {
        "nowhere",
        "course/nowhere.md",
    }


def test_the_name_of_a_test_is_at_most_70_characters_long():
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    found = [name for text in texts for name in re.findall(r"^ *(?:async )?def (test_\w+)", text, re.MULTILINE)]
    assert found and [name for name in found if len(name) > 70] == []
