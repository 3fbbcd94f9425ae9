"""Calls code, in this process or in a sandbox, and knows nothing that is right. README.md has the names."""

from typing import TYPE_CHECKING

from ..words import lazy_api

if TYPE_CHECKING:
    from .call.answer import Answer, AnswerError, Cell, imports_course
    from .call.answer_cell import runner_of
    from .call.call_history import FollowedCall
    from .call.callee import Callee, CandidateError, CompareError
    from .call.contract import CallForm, Contract
    from .call.elements import dtype_name
    from .call.examination import Call, Examined, Facts, Runner
    from .call.huge_strides import far_apart
    from .call.operator_notes import MOVES, OperatorNotes
    from .call.outcome import Outcome, ProbeInput, Trouble
    from .call.package import PackageModule
    from .call.peak_memory import Peak
    from .call.printing import for_a_reader
    from .call.runner import InProcess, Watching
    from .call.session import Session
    from .call.tree import Args, Tree
    from .doctor.doctor import close_to_others
    from .sandbox import Budget, Compiler, Isolated, Limits, SandboxError, Worker
    from .sandbox.line_server import LineServer
    from .sandbox.paths import Offers
    from .sandbox.proof import Proof

__getattr__ = lazy_api(__name__, __file__)
