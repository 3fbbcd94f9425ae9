"""NVIDIA's compute-sanitizer, its memcheck: needs a GPU. What it said of TritonBench on an H100 was recorded."""

import json

from ..row import HERE, Row
from ..said import Said
from ..subject import Cannot

RECORDED = HERE.parent / "checkers" / "tritonbench.json"  # made by tritonbench.py there, which can run it again


def check(row: Row) -> Said:
    if row.family != "tritonbench":
        raise Cannot("not run: needs a GPU")
    name = row.name.partition("/")[2]
    for one in json.loads(RECORDED.read_text(encoding="utf-8")):
        if one["checker"] == "compute-sanitizer" and one["file"] == name:
            if one["ending"] not in ("found", "clean"):
                raise Cannot(f"{one['ending']}: {one['why']}")
            found = one["ending"] == "found"
            return Said(row.name, found, "memory" if found else "", one["at"], seconds=one["cpu"], date=one["date"])
    raise Cannot("not run: needs a GPU")
