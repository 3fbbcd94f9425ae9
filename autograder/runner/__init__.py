"""Calls code, in this process or in a sandbox, and knows nothing that is right. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_face

if TYPE_CHECKING:
    from .call import callee
    from .call.answer import OURS, Answer, AnswerError, AnswerRefused, Cell, imported, load, parse, read_file, refuse
    from .call.answer_cell import answer_of, follow_cells
    from .call.arguments import duplicate, results_of
    from .call.callee import (
        Callee,
        CompareError,
        NotAttached,
        attached,
        called,
        callee_of,
        made_of,
        matched,
    )
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
    from .call.error_line import Interrupted, interrupted
    from .call.examination import Call, Compiles, Examined, Layouts, Runner, Unloadable
    from .call.function import Function
    from .call.gradient import UPSTREAM, with_gradient
    from .call.huge_strides import far_apart
    from .call.outcome import Decoy, Kind, Outcome, Trouble
    from .call.package import Module
    from .call.printing import few_lines
    from .call.runner import InProcess
    from .call.threads import one_thread
    from .doctor.doctor import close_to_others
    from .sandbox import RUNGS, Budget, Isolated, Limits, SandboxError, Worker, probe, require
    from .sandbox.compiler import shared_compiler
    from .sandbox.decoy import any_numbers
    from .sandbox.line_server import LineServer, ServerEnded, confine_self
    from .sandbox.paths import RECORDS, is_course, offered
    from .sandbox.proof import Proof
    from .sandbox.wire import buffers
    from .sandbox.wire.buffers import bits
    from .sandbox.worker import linux
    from .sandbox.worker.garbage_collection import no_garbage

__getattr__ = lazy_face(__name__, __file__)
