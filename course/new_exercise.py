"""A new exercise: ``python -m graded_kernels.course.new_exercise softcap --like elementwise [--chapter 01_silu]``.

It writes a pair, ``softcap_forward`` and its gradient ``softcap_backward``: a stub in PyTorch and one in Triton, the
record with a formula to begin with, their lines in a chapter, and where the library exports and lists `softcap`.
Nothing else that exists changes. The record comes from the templates of ``graded-kernels new``.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

from .. import autograder
from ..autograder.judge.commands.new import FAMILIES, TEMPLATES, function_name, written_of
from ..autograder.words import UsageError
from .build import ROOT
from .pieces import RECORDS
from .regions import BACKENDS

FAMILY = f"{', '.join(FAMILIES[:-1])} or {FAMILIES[-1]}"
STUBS = {"solutions": "solution.py.txt", "kernels": "kernel.py.txt"}
OURS = re.compile(r"^from graded_kernels\.autograder import (.+)\n", re.MULTILINE)
IMPORTS = "IMPORTS\n"  # stands where they go
TORCH = re.compile(r"^from torch import (.+)\n", re.MULTILINE)
LIBRARY, TABLE = "kernels/__init__.py", "book/library.md"
LONG = re.compile(r"^(?=.{121})(def \w+\()(.+)(\) -> .+:)$", re.MULTILINE)  # laid over three lines
IMPORT, EXPORT, ROW = r"^from \..*\n", r'^    "\w+",\n', r"^\| `.*\n"  # in both, lines in alphabetical order
# What works with every function of `kernels.autograd`; the tests try each cell.
USUAL = "| `my_op` | raises | yes | yes | yes | raises | yes | yes | yes | yes |\n"
MEASURES = re.compile(r"^## .*\bcost\b", re.MULTILINE)  # the section before which answers have been written
ANSWERS = [f"{folder}/my_op_{direction}" for folder in BACKENDS for direction in ("forward", "backward")]
SECTION = "".join(["## my_op\n\n", *(f"{{exercise}}`{answer}`\n:step:\n\n" for answer in ANSWERS)])


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Writes the files and the lines, and prints what is left to do. Returns an exit status."""
    about = "Begin an exercise: a function and its gradient."
    parser = argparse.ArgumentParser(prog="make exercise", description=about)
    parser.add_argument("name", metavar="NAME", help="softcap makes softcap_forward and softcap_backward")
    parser.add_argument("--like", default="", help=f"which family of cases it begins with: {FAMILY}")
    parser.add_argument("--chapter", default="", help="the name of its chapter (the last one)")
    options = parser.parse_args(arguments)
    try:
        written = add(options.name, options.like, options.chapter, root)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {options.name}_forward and its gradient {options.name}_backward:", *written, sep="\n  ")
    print("`make build` says what is missing; then `make test`. CONTRIBUTING.md goes through it step by step.")
    return 0


def add(name: str, family: str, chapter: str, root: Path) -> list[str]:
    """Writes all of it; returns the paths, each with what it is. Raises UsageError, and nothing is written then."""
    name = function_name(name)
    bare = name.removesuffix("_forward").removesuffix("_backward")
    if bare != name:
        raise UsageError(f"NAME is that of the pair: NAME={bare} makes {bare}_forward and its gradient {bare}_backward")
    if family not in FAMILIES:
        what = f"there is no family {family!r}; LIKE" if family else "LIKE"
        raise UsageError(f"{what} is {FAMILY}, as in LIKE={FAMILIES[0]}")
    texts = {root / path: text for path, text in files(name, family).items()}
    for path in texts:
        if path.exists():
            raise UsageError(f"{path.relative_to(root)} exists and stays as it is: choose another NAME")
    page = find_chapter(chapter, root)
    texts[page] = with_lines(page.read_text(encoding="utf-8"), name)
    library, table = ((root / file).read_text(encoding="utf-8") for file in (LIBRARY, TABLE))
    library = inserted(library, IMPORT, f"from .{name} import {name}\n")
    texts[root / LIBRARY] = inserted(library, EXPORT, f'    "{name}",\n')
    texts[root / TABLE] = inserted(table, ROW, USUAL.replace("my_op", name))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return [str(path.relative_to(root)) for path in texts]


def find_chapter(name: str, root: Path) -> Path:
    """The chapter called ``name``, or the last. Raises UsageError where there is none."""
    chapters = {path.stem: path for path in sorted((root / "course" / "chapters").glob("*.md"))}
    if name and name not in chapters:
        raise UsageError(f"there is no chapter {name!r}; CHAPTER is one of {', '.join(chapters)}")
    return chapters[name or max(chapters)]


def with_lines(chapter: str, name: str) -> str:
    """The text of a chapter with the lines of the exercise: before it measures, or else at its end."""
    section = SECTION.replace("my_op", name)
    measures = MEASURES.search(chapter)
    if measures is None:
        return f"{chapter.rstrip()}\n\n{section.rstrip()}\n"
    return chapter[: measures.start()] + section + chapter[measures.start() :]


def inserted(text: str, pattern: str, line: str) -> str:
    """The text with one line more among those that match the pattern, which are in alphabetical order."""
    matches = [*re.finditer(pattern, text, re.MULTILINE)]
    place = next((match.start() for match in matches if match[0] > line), matches[-1].end())
    return text[:place] + line + text[place:]


def files(name: str, family: str) -> dict[str, str]:
    """The texts of the record and of both stubs, by path."""
    record = record_text(family)
    texts = {f"{RECORDS}/{name}.py": record}
    texts |= {f"{folder}/{name}.py": stub_text(template, record, family) for folder, template in STUBS.items()}
    camel = name.title().replace("_", "")
    texts = {path: text.replace("my_op", name).replace("MyOp", camel) for path, text in texts.items()}
    return {path: LONG.sub(r"\1\n    \2\n\3", text) for path, text in texts.items()}


def record_text(family: str) -> str:
    """The record of ``my_op_forward``, as ``graded-kernels new`` writes it, and of its gradient."""
    forward = written_of("my_op", family)["my_op_record.py"]
    forward = forward.replace("my_op = ", "my_op_forward = ").replace('name="my_op"', 'name="my_op_forward"')
    text = f"{forward}\n\n{(TEMPLATES / family / 'backward.py.txt').read_text(encoding='utf-8')}"
    ours, torchs = ({name for line in pattern.findall(text) for name in line.split(", ")} for pattern in (OURS, TORCH))
    imports = f"from torch import {', '.join(sorted(torchs))}\n\n{relative_imports(ours)}"
    text = TORCH.sub("", TORCH.sub(IMPORTS, OURS.sub("", text), count=1)).replace(IMPORTS, imports)
    return re.sub(r"\n{4,}", "\n\n\n", text)


def relative_imports(names: set[str]) -> str:
    """The imports of what `autograder` offers, for a module among the records: families of cases stand on the shelf
    beside it, all else is the judge's.
    """
    shelf, modules = f"{autograder.__name__}.exercises.", dict[str, list[str]]()
    for name in sorted(names, key=lambda name: (name.islower(), name)):
        offered = getattr(autograder, name)  # `draw` is a module
        home = getattr(offered, "__module__", getattr(offered, "__name__", ""))
        modules.setdefault(f".{home.removeprefix(shelf)}" if home.startswith(shelf) else "..judge", []).append(name)
    return "".join(f"from {module} import {', '.join(modules[module])}\n" for module in sorted(modules))


def stub_text(template: str, record: str, family: str) -> str:
    """Both stubs of one backend: signatures and sums as in the record, shapes as ``graded-kernels new`` says them."""
    functions = functions_of(record)
    formula, derivative = functions["formula"], functions["derivative"]
    forward, backward = formula.args, derivative.args
    summaries = re.findall(r'summary="(.*)"', record)
    stub = functions_of(written_of("my_op", family)["my_op.py"])["my_op"]
    tensors = [argument.arg for argument in forward.args[: len(forward.args) - len(forward.defaults)]]
    values = {
        "FORWARD_SUMMARY": summaries[0],
        "BACKWARD_SUMMARY": summaries[1],
        "FORWARD_RETURNS": annotation(formula.returns),
        "BACKWARD_RETURNS": annotation(derivative.returns),
        "FORWARD": signature(forward, record),
        "BACKWARD": signature(backward, record),
        "SHAPES": ast.get_docstring(stub) or "",
        "TENSORS": ", ".join(tensors),
        "NAMED": ", ".join(f"{name}={name}" for name in tensors),
        "FIRST": tensors[0],
        "GRADIENT": backward.args[0].arg,
        "ARGUMENTS": ", ".join(argument.arg for argument in forward.args),
    }
    text = (Path(__file__).parent / "templates" / template).read_text(encoding="utf-8")
    return re.sub("|".join(values), lambda match: values[match[0]], text)


def functions_of(text: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module by name."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def signature(arguments: ast.arguments, text: str) -> str:
    """Parameters, types and defaults, as they are written in ``text``."""
    names = [f"{argument.arg}: {annotation(argument.annotation)}" for argument in arguments.args]
    defaults = [f" = {ast.get_source_segment(text, default)}" for default in arguments.defaults]
    return ", ".join(map("".join, zip(names, [""] * (len(names) - len(defaults)) + defaults, strict=True)))


def annotation(type_of: ast.expr | None) -> str:
    """A type as answers write it, with ``torch.Tensor`` for ``Tensor``; a tensor where none is written."""
    return "torch.Tensor" if type_of is None else re.sub(r"\bTensor\b", "torch.Tensor", ast.unparse(type_of))


if __name__ == "__main__":
    sys.exit(main())
