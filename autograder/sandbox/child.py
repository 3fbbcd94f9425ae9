"""One call of an answer, in a process of its own that ends with it. Nothing here is believed by anybody."""

import contextlib
import ctypes
import json
import mmap
import os
import sys
import warnings
from dataclasses import asdict

import torch

from .. import runner
from ..compiler import KernelLaunch
from ..exercise import Exercise, Output, Witness
from ..runner import InProcess, Outcome, Trouble, as_tuple, shares_memory
from ..source import Answer, AnswerError, AnswerRefused, Cell, load, trace
from .buffers import Layout, contiguous, opened, rounded, span, tensor_in
from .recorder import Recorder
from .replay import Kernels, Player

_TEXT = 50_000  # characters
_LIMIT = 3 << 20  # bytes of a status; the parent reads a little more than this


def run(job: dict, inputs: int, outputs: int, status: int) -> None:
    """Does what ``job`` says. inputs, outputs, status: descriptors of shared memory, of shared memory and of a pipe.

    job: ``mode`` (``call | record | replay``), ``record`` (see `policy`), ``backend``, ``args``, ``before`` (arguments
    of a call to make first, or null), ``shuffle``, ``room`` (bytes for outputs), and ``answer`` or, to replay,
    ``plan`` and ``kernels``.
    """
    write = os.write  # before an answer can put something else in its place
    dump = json.dumps
    said = _done(job, inputs, outputs)
    text = dump(said).encode()
    if len(text) > _LIMIT:
        text = dump(_said(Outcome(trouble=Trouble("raised", "The call has more to report than can be read.")))).encode()
    while text:
        text = text[write(status, text) :]


def _done(job: dict, inputs: int, outputs: int) -> dict:
    record = policy(job["record"])
    memory = opened(inputs, os.fstat(inputs).st_size)
    args = _arguments(job["args"], memory)
    recorder = None
    _settle()
    try:
        function = _function(job)
        if job["mode"] == "record":
            function = recorder = Recorder(function)
        if job["before"] is not None:
            function = Again(function, _arguments(job["before"], memory))
        _forbid(record)
        outcome = InProcess(function, record, job["backend"]).call(args, shuffle=job["shuffle"])
        said = _said(outcome)
        if outcome.outputs is not None:
            said["outputs"] = _deliver(outcome.outputs, outputs, job["room"])
    except AnswerError as error:
        kind = "refused" if isinstance(error, AnswerRefused) else "unloadable"
        said = _said(Outcome(trouble=Trouble(kind, str(error), error.details)))
    except BaseException as error:  # SystemExit, KeyboardInterrupt, and what a tensor of a strange kind does to a copy
        name = type(error).__name__
        said = _said(Outcome(trouble=Trouble("raised", f"{name}: {error}", trace(error), name)))
    if recorder is not None:
        said["plan"] = recorder.plan if recorder.plan is not None else {"reason": recorder.reason}
    return said


def policy(data: dict) -> Exercise | Witness:
    """A record that says what an answer may do, and nothing of what is right: no oracle, no cases, no tolerance."""
    if data["witness"]:
        exercise = policy(data | {"witness": False})
        return Witness(data["name"], "", exercise, bug=None, hint="")
    return Exercise(
        name=data["name"],
        summary="",
        oracle=_signature(data["parameters"], data["fewest"]),
        outputs=tuple(Output(name) for name in data["outputs"]),
        cases=(),
        tolerance=None,
        hint="",
        refused=frozenset(data["refused"]),
        allowed=frozenset(data["allowed"]),
        gradient_of=data["gradient_of"],
    )


def _signature(parameters: list[str], needed: int):
    """A function that has these parameters, the first of them without a default, and does nothing: what is left of an
    oracle.
    """
    words = [name if i < needed else f"{name}=None" for i, name in enumerate(parameters)]
    return eval(f"lambda {', '.join(words)}: None")


def _function(job: dict):
    if job["mode"] == "replay":
        return Player(job["plan"], Kernels(job["kernels"]))
    given = job["answer"]
    cells = tuple(Cell(name, source) for name, source in given["cells"])
    return load(Answer(given["exercise"], cells, given["setup"]))


def _arguments(specs: list, memory: mmap.mmap) -> tuple:
    """The tensors themselves, in the memory that the parent looks at afterwards."""
    return tuple(tensor_in(memory, Layout.of(s["tensor"])) if "tensor" in s else s["value"] for s in specs)


def _settle() -> None:
    """What is otherwise here than in a process of one's own."""
    runner.duplicate = lambda tensor: tensor  # the arguments are this process's own
    torch.set_num_threads = lambda count: None  # there are no threads to have


class Again:
    """The answer, called on other numbers of the same layout first: a call must not depend on an earlier one."""

    def __init__(self, function, before: tuple):
        self.function, self.before = function, before

    def __call__(self, *args):
        try:
            held = as_tuple(self.function(*self.before))
        except Exception:
            held = ()
        result = self.function(*args)
        for one in as_tuple(result):
            if isinstance(one, torch.Tensor) and any(
                isinstance(h, torch.Tensor) and shares_memory(h, one) for h in held
            ):
                raise RuntimeError(
                    "the result lies in the memory of an earlier result, which is lost; return a new tensor"
                )
        return result


def _forbid(record: Exercise | Witness) -> None:
    """Takes the operators that are the answer out of PyTorch, below the modes that Python can switch off.

    Not through ``torch.library.Library``, which Python's garbage collector knows and anybody can end: the operators
    would come back with its end. This object stays, and no search finds it.
    """
    library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in getattr(record, "refused", ()):
            for form in (name, f"{name}_"):
                for overload in _overloads(form):
                    full = form if overload == "default" else f"{form}.{overload}"
                    for kind in _KINDS:
                        library.impl(full, kind, _refusal(name), False)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


_KINDS = ("CPU", "MkldnnCPU", "NestedTensorCPU", "QuantizedCPU", "SparseCPU", "SparseCsrCPU")  # of tensors


def _overloads(name: str) -> list[str]:
    packet = getattr(torch.ops.aten, name, None)
    return packet.overloads() if packet is not None else []


def _refusal(name: str):
    def refuse(*args, **kwargs):
        raise RuntimeError(f"{name} is the answer itself. Write it out.")

    return refuse


def _deliver(outputs: tuple, file: int, room: int) -> list[dict]:
    """Copies the outputs' bytes to where the parent expects them, one after the other, and describes them."""
    described, offset, memory = [], 0, opened(file, room)
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            described.append({"value": output})
            continue
        layout = contiguous(output.dtype, tuple(output.shape), offset)
        described.append({"dtype": layout.dtype, "shape": list(layout.shape)})
        size = output.numel() * output.element_size()
        if offset + size <= room and output.numel():
            _copy(memory, layout, output)
        offset += rounded(size)
    return described


def _copy(memory: mmap.mmap, layout: Layout, tensor: torch.Tensor) -> None:
    if layout.offset + span(layout.shape, layout.stride) * tensor.element_size() <= len(memory):
        torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=layout.offset).copy_(
            tensor.reshape(-1)
        )


def _plain(launch: KernelLaunch | str) -> dict | str:
    """A launch without the source: the parent has it, and believes its own."""
    if isinstance(launch, str):
        return launch
    fields = asdict(launch)
    del fields["source"]
    return fields


def _said(outcome: Outcome) -> dict:
    trouble = asdict(outcome.trouble) if outcome.trouble else None
    return {
        "trouble": trouble and {name: text[:_TEXT] for name, text in trouble.items()},
        "outputs": None,
        "aliased": list(outcome.aliased),
        "findings": list(outcome.findings),
        "hints": list(outcome.hints),
        "traffic": outcome.traffic,
        "peak": outcome.peak,
        "launches": [_plain(launch) for launch in outcome.launches],
    }


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
