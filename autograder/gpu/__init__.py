"""A simulated GPU for Triton: what a launch does on a device, what its compiler says. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_face

if TYPE_CHECKING:
    from .aten import ALLOCATE, MEMORY, PERMITTED, POINTWISE, REARRANGE, base, is_permitted
    from .compiler import (
        SEAM,
        CannotCompile,
        KernelLaunch,
        Target,
        compile_report,
        device_libraries,
        is_new,
        worker,
    )
    from .compiler.ahead_of_time import NUMBERS
    from .compiler.bindings import Import, Names, Refused, bindings
    from .compiler.extract import ADVICE, extract
    from .compiler.from_text import bound
    from .compiler.kernel_launch import Json, is_value
    from .compiler.launches import own_texts, plain_launches
    from .compiler.recording import surroundings
    from .cuda import shimmed
    from .cuda.lazy_dynamo import lazily
    from .cuda.placement import place
    from .emulator import CANNOT_SHOW, KINDS, LANE_VALUES, OF_MEMORY, Emulator, EmulatorError, Finding, Replay, advice
    from .emulator.findings import Place
    from .emulator.fresh_memory import FreshMemory
    from .interpret import ensure_runnable, mode

__getattr__ = lazy_face(__name__, __file__)
