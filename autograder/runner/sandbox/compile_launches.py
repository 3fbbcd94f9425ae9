"""The compiler that this process shares, for whoever must not import it before it is asked."""

from typing import Any

from ...gpu import KernelLaunch


def compile_launches(launches: list[KernelLaunch]) -> dict[str, Any]:
    """The report of `gpu.compiler.compile_report` on these launches, made in a process of its own."""
    from .compiler import shared_compiler

    return shared_compiler().report(launches)
