"""A verdict as a line of JSON has it, and what is read of one again."""

from typing import Any

from .table_job import ComparisonJob

TEXT = 2_000  # characters of each of its texts


def about(job: ComparisonJob) -> dict[str, Any]:
    """Returns how every verdict begins."""
    return {"id": job.id, "key": job.key}


def without_report(status: str, message: str, score: float | None = None) -> dict[str, Any]:
    """The middle of a verdict where nothing was compared."""
    nothing = dict.fromkeys(("correct", "portable", "efficient"))
    return {"status": status, "passed": False} | nothing | {"computes": "", "score": score, "message": message[:TEXT]}


def is_final(data: Any) -> bool:
    """Returns whether this is a verdict that another run would not change. Raises ValueError where it is no verdict."""
    if not isinstance(data, dict) or not {"id", "key", "status", "final"} <= data.keys():
        raise ValueError("this is not a verdict")
    return bool(data["final"])
