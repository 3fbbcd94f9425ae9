"""A simulated GPU for Triton: what a launch does on a device, what its compiler says. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_api

if TYPE_CHECKING:
    from .aten import ATEN
    from .compiler import CannotCompile, KernelLaunch, Target, compile_report, launch_of, machine_code_report, worker
    from .compiler.bindings import RefusedKernel
    from .compiler.extract import ADVICE, extract
    from .compiler.from_text import bound
    from .compiler.imported_kernels import imported_kernels
    from .compiler.surroundings import Surroundings
    from .cuda import shimmed
    from .cuda.lazy_dynamo import lazily
    from .cuda.placement import place
    from .emulator import CANNOT_SHOW, LANE_VALUES, Emulator, EmulatorError, Finding, Replay
    from .emulator.findings import Place
    from .emulator.fresh_memory import FreshMemory
    from .interpret import NotRun, choose_interpreter, ensure_runnable, mode, simulation
    from .rules import RULES

__getattr__ = lazy_api(__name__, __file__)
