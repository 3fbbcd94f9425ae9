"""The compiler that this process shares, for whoever must not import it before it is asked."""

from .wire.checked import WireJson


def compile_jobs(modules: list[WireJson], jobs: list[WireJson], *, control: bool = False) -> list[tuple[int, WireJson]]:
    """Returns what Triton's compiler makes of these jobs, as `Compiler.run_jobs` has it, in a process of its own."""
    from .compiler import shared_compiler

    return shared_compiler().run_jobs(modules, jobs, control=control)
