"""NVIDIA's compute-sanitizer, its memcheck: needs a GPU. What it said of TritonBench on an H100 was recorded."""

from ..recorded import recorded
from ..row import Row
from ..said import Said


def check(row: Row) -> Said:
    return recorded("compute_sanitizer", row)
