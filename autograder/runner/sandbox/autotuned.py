"""Refuses a launcher that does more with the configuration an autotuner chose than launch a kernel in it.

On a GPU each autotuner takes the quickest of its configurations. Here they are drawn, and an answer that looks at what
was drawn could launch one kernel after the other until a right configuration of one has run, or return the result of
the one that was right. So two records of a call, made with two draws, are compared as data.

Not seen are many autotuned kernels, launched one after the other on one result, that store in a right configuration
alone: the result is right unless all of them draw a wrong one. That each launch stores the same in each configuration
is no rule, as partial sums of larger blocks are fewer.
"""

from collections.abc import Iterator
from typing import Any

from ..call.outcome import Trouble

_DEPENDS = (
    "What it launches depends on the configuration that an autotuner chose. A call has to launch the same kernels on "
    "the same tensors, and to return the same, whichever configuration is chosen: that launch's own constants, its "
    "grid and its `pre_hook` alone may hang on it."
)


def trouble_of(plan: dict[str, Any], other: dict[str, Any]) -> Trouble | None:
    """Returns why two checked plans of one call, recorded with two draws of the configurations, say that the launcher
    looks at the draw; None where they differ in nothing but what belongs to autotuned launches in another
    configuration.
    """
    alike = all(plan[part] == other[part] for part in ("buffers", "outputs", "globals"))
    mine, others = list(_parts(plan)), list(_parts(other))
    alike = alike and len(mine) == len(others) and all(map(_same, mine, others))
    return None if alike else Trouble("refused", _DEPENDS)


def _parts(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a plan in order; those of an autotuned launch as one."""
    place = 0
    for tuned in plan["tuned"]:
        first, end = tuned["steps"]
        yield from plan["steps"][place:first]
        yield tuned | {"steps": plan["steps"][first:end]}
        place = end
    yield from plan["steps"][place:]


def _same(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    if mine == other:
        return True
    if "of" not in mine or mine["of"] != other.get("of") or mine["configuration"] == other["configuration"]:
        return False
    return _launched(mine) == _launched(other)


def _launched(tuned: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The kernels of an autotuned launch with the tensors that each is given."""
    launches = [step for step in tuned["steps"] if "launch" in step]
    return [(step["launch"], {k: v for k, v in step["arguments"].items() if _holds_tensor(v)}) for step in launches]


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, dict) and ("ref" in value or any(map(_holds_tensor, value.get("list", ()))))
