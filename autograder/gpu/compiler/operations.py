"""Says what a kernel does, sizes aside, as Triton's front end writes it."""

import re

_OPERATION = re.compile(r'^\s*(?:%[^=]+ = )?"?([a-z_]+\.[a-z_0-9.]+)"?\b(.*)$', re.M)
_TYPE = re.compile(r"\b(?:bf|f|i|ui)\d+(?:[A-Z]\w*)?\b")  # of an element, behind the shape of a block: f16, i64, f8E5M2
_PLACE = re.compile(r"\bloc\(.*")
_SHAPE = re.compile(r"(?<=[<x])\d+x")


def operations(module: str) -> list[str]:
    """Returns each operation once, with the types of its elements and with the text it holds, as inline assembly does:
    ``arith.addf f32``. module: MLIR's text.
    """
    lines = set()
    for name, rest in _OPERATION.findall(module):
        rest = _PLACE.sub("", rest)
        types = sorted(set(_TYPE.findall(_SHAPE.sub("", rest.rpartition(" : ")[2]))))
        lines.add(" ".join([name, *types, *re.findall(r'"[^"]*"', rest)]))
    return sorted(lines)
