"""Calls code, in this process or in a sandbox, and knows nothing that is right. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_face

if TYPE_CHECKING:
    from .call.answer import Answer, AnswerError, Cell, imports_course
    from .call.answer_cell import answer_of
    from .call.callee import Callee, CompareError, NotAttached, made_of
    from .call.contract import (
        TENSORS,
        Args,
        Contract,
        Form,
        any_empty,
        as_tuple,
        map_tensors,
        named_tensors,
        parts_of,
        tensors_of,
    )
    from .call.dtypes import dtype_name
    from .call.error_line import interrupted
    from .call.examination import Call, Compiles, Examined, Layouts, Runner, Unloadable
    from .call.function import Function
    from .call.gradient import UPSTREAM
    from .call.huge_strides import duplicate, far_apart
    from .call.outcome import Decoy, Outcome, Trouble
    from .call.printing import few_lines
    from .call.runner import InProcess, loaded
    from .call.threads import one_thread
    from .doctor.doctor import close_to_others
    from .sandbox import RUNGS, Budget, Isolated, Limits, SandboxError, Worker, probe, require
    from .sandbox.compiler import shared_compiler
    from .sandbox.decoy import any_numbers
    from .sandbox.extracted import Extracted
    from .sandbox.line_server import LineServer, ServerEnded, confine_self
    from .sandbox.paths import offered, offers_of
    from .sandbox.proof import Proof
    from .sandbox.wire.buffers import bits, changed
    from .sandbox.worker.garbage_collection import no_garbage

__getattr__ = lazy_face(__name__, __file__)
