"""Times that others measured on GPUs: ``recorded_times.of("rms_norm", "liger")``, in ``recorded_times.csv``.

They are medians of `triton.testing.do_bench`, published by Liger-Kernel (linkedin/Liger-Kernel, file
benchmark/data/all_benchmark_data.csv, copyright 2024 LinkedIn Corporation, BSD-2-Clause), the forward rows of two
operations. Nothing of them was measured here.
"""

import csv
from pathlib import Path

TIMES = Path(__file__).parent / "recorded_times.csv"


def of(operation: str, written_by: str) -> dict[int, float]:
    """Seconds of a call by the number of columns. written_by: ``"liger"``, or ``"huggingface"``, PyTorch's operations
    one by one. Raises LookupError where nothing was recorded.
    """
    with TIMES.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["operation"], row["written_by"]) == (operation, written_by)]
    if not rows:
        raise LookupError(f"{TIMES.name} has no times of {operation} by {written_by}")
    return {int(row["columns"]): float(row["milliseconds"]) / 1e3 for row in rows}
