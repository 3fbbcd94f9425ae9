"""Compiles kernels for GPUs, in a process of its own: what it compiles was written by somebody else. Imports the
standard library and Triton only.
"""

import contextlib
import functools
import io
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from typing import IO, Any

from . import machine_code
from .from_text import bound, decode
from .kernel_launch import Json
from .name_check import Refusal
from .names import DEVICE_FUNCTIONS
from .operations import operations
from .sass.disassembly import MissingTool
from .sass.instructions import CompiledLaunch, Thread, thread_of
from .targets import Target

FRONT = "ttir"  # the stage that Triton's front end makes
RESULT = frozenset(machine_code.NUMBERS)  # what a ``result`` has, for every target
THREAD = frozenset({field.name for field in fields(Thread)} | {"warps"})
_LIBRARIES = f"{__package__}.device_libraries"
_CALLED = re.compile(rf"\b(?:{'|'.join(DEVICE_FUNCTIONS)})\b")  # in a text for which it is worth the reading


class Unsuited(Exception):
    """The launch's own options keep it off this GPU."""


class KernelModule:
    """A kernel, its helpers and constants, as live functions.

    extract: the content of an `extract.Extract`. folder: where their text is written. names: what the module binds.
    starts: the line of each function in the file ``path``. Raises Refusal for a name that no kernel may use.
    """

    def __init__(self, extract: Json, folder: str | None) -> None:
        handle, self.path = tempfile.mkstemp(".py", "kernels_", folder)
        self.starts: dict[str, int] = {}
        text = ""
        for name, function in extract["functions"].items():
            self.starts[name] = text.count("\n") + 1
            text += function["text"] + "\n\n"
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        self.folder = folder
        self.names = bound(extract, text, self.path, {}, self.helper)
        import triton

        for name, function in extract["functions"].items():
            self.names[name] = triton.jit(self.names[name], noinline=bool(function["options"].get("noinline")))

    def helper(self, extract: Json, name: str) -> Any:
        """The function of this name in another module."""
        return KernelModule(extract, self.folder).names[name]

    def place(self, line: int) -> tuple[str | None, int | None]:
        """Returns the function that a line of the file is in, and the line counted from that function's ``def``."""
        name = max((n for n, start in self.starts.items() if start <= line), key=self.starts.__getitem__, default=None)
        return (name, line - self.starts[name]) if name else (None, None)


def build(job: Json, module: KernelModule) -> tuple[Any, Any, Any]:
    """The source for Triton, the GPU's backend, and the launch's options. Raises Refusal and Unsuited."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend

    kernel = module.names[job["kernel"]]
    backend = make_backend(GPUTarget(job["backend"], job["arch"], job["warp_size"]))
    options = check_options(job, backend)
    constants = {name: decode(value, module.names, module.helper) for name, value in job["constants"].items()}
    types = {**job["signature"], **dict.fromkeys(constants, "constexpr")}
    signature = {name: typed(name, types) for name in kernel.arg_names}
    places = {name: place_of(name, kernel.arg_names) for name in types}
    notes = {places[name]: backend.parse_attr(note) for name, note in job["notes"].items()}
    constants = {places[name]: value for name, value in constants.items()}
    return ASTSource(kernel, signature, constants, {i: note for i, note in notes.items() if note}), backend, options


def typed(name: str, types: Json) -> Any:
    """The type of a parameter, of a tuple those of its items. Raises Refusal where the launch has none."""
    if name in types:
        return types[name]
    items = itertools.takewhile(
        lambda name: any(known == name or known.startswith(f"{name}.") for known in types),
        (f"{name}.{number}" for number in itertools.count()),
    )
    parts = tuple(typed(item, types) for item in items)
    if not parts:
        raise Refusal(f"the launch gives no value for parameter {name}")
    return parts


def place_of(name: str, parameters: list[str]) -> tuple[int, ...]:
    """The number of a parameter, behind it that of an item of a tuple. Raises Refusal for an unknown one."""
    parameter, *items = name.split(".")
    if parameter not in parameters:
        raise Refusal(f"{parameter} is no parameter of the kernel")
    return parameters.index(parameter), *map(int, items)


def check_options(job: Json, backend: Any) -> Any:
    """Returns the launch's options as the backend has them. Raises Refusal where there is no such option, Unsuited
    where this GPU has not.
    """
    from triton.backends.amd.compiler import HIPOptions
    from triton.backends.nvidia.compiler import CUDAOptions

    shown = ", ".join(f"{name}={value}" for name, value in job["options"].items())
    try:
        options = backend.parse_options(dict(job["options"]))
    except ValueError as error:
        raise Unsuited(f"launched with {shown}: {str(error).rstrip('.')}. Launch it without") from None
    except AssertionError as error:
        raise Refusal(str(error)) from None
    for name, value in job["options"].items():
        if not hasattr(CUDAOptions, name) and not hasattr(HIPOptions, name):
            raise Refusal(f"{name} is neither a parameter of the kernel nor a launch option")
        if not hasattr(options, name):
            others = "AMD's" if hasattr(HIPOptions, name) else "NVIDIA's"
            raise Unsuited(
                f"launched with {name}={value}, which is an option of {others} GPUs alone. Launch it without"
            )
    threads = options.num_warps * job["warp_size"]
    if threads > 1024:
        many = f"num_warps={options.num_warps} makes programs of {threads:,} threads, and a GPU runs at most 1,024"
        raise Unsuited(f"{many}. Launch it with num_warps={1024 // job['warp_size']}, or fewer")
    return options


@functools.cache
def _context(backend: str) -> Any:
    """Returns the context of all kernels that this process compiles for GPUs of one backend. Loading MLIR's dialects
    for each of them adds 3 to 12 % to the compiler's time.
    """
    from ..borrowed import compiler_ir as ir

    return ir.context()


def compile_job(job: Json, source: Any, backend: Any, options: Any) -> Json:
    """Does what `triton.compile` does, without its cache and as far as it is wanted. Returns the operations that the
    front end makes, or what there is to know of the machine code, with ``thread`` where the job has a size. Raises what
    Triton raises, Unreadable and MissingTool.
    """
    from triton import knobs

    log, texts, metadata = io.StringIO(), dict[str, str](), dict[str, Any]()
    knobs.nvidia.dump_ptxas_log = True  # registers and spills as ptxas counts them
    with contextlib.redirect_stdout(log):
        for stage, code, known in stages_of(job, source, backend, options):
            metadata = known
            if stage == FRONT and not job["whole"]:
                return {"operations": operations(str(code))}
            if stage in (FRONT, "ptx", "amdgcn"):
                texts[stage] = str(code)
    ptx = texts.get("ptx")
    numbers = machine_code.amd(texts["amdgcn"]) if ptx is None else machine_code.nvidia(ptx, log.getvalue())
    counted = {"thread": _thread(job, texts[FRONT], code, metadata)} if job["size"] else {}
    memory = {"shared": metadata["shared"], "scratch": metadata.get("global_scratch_size") or 0}
    return {"result": numbers | memory, **counted}


def stages_of(job: Json, source: Any, backend: Any, options: Any) -> Iterator[tuple[str, Any, Json]]:
    """Each stage's name, what it makes, and what is known of the kernel by then. Raises what Triton raises."""
    from ..borrowed import compiler_ir as ir

    context = _context(job["backend"])
    stages: dict[str, Callable[..., Any]] = {}
    ir.load_dialects(context)
    backend.load_dialects(context)
    code = source.make_ir(
        backend.target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    metadata: Json = {"target": backend.target, **vars(options)}
    backend.add_stages(stages, options, source.language)
    for stage, make in stages.items():
        code = make(code, metadata)
        yield stage, code, metadata


def _thread(job: Json, ttir: str, cubin: bytes, metadata: Json) -> Json:
    """Returns what a thread of the launch carries out (`sass.instructions`), and how many warps a program has."""
    grid, warps = tuple(job["size"]["grid"]), metadata["num_warps"]
    numbers = job["constants"] | job["size"]["numbers"]
    return asdict(thread_of(CompiledLaunch(ttir, cubin, numbers, grid, warps))) | {"warps": warps}


def explain(raised: Exception, module: KernelModule, diagnostics: str) -> Json:
    """Returns the message of an exception of the compiler, and the function and the line within it of the learner's
    innermost call. diagnostics: what the compiler wrote to stderr.
    """
    error: Any = raised
    function: str | None = None
    line: int | None = None
    message = str(error).strip() or type(error).__name__
    while error is not None:
        if hasattr(error, "node") and hasattr(error, "src"):
            words = getattr(error, "error_message", None)
            cause = error.__cause__
            message = words or (f"{type(cause).__name__}: {cause}" if cause is not None else message)
            if hasattr(error.node, "lineno"):
                for name in module.starts:
                    if getattr(module.names[name], "src", None) == error.src:
                        function, line = name, error.node.lineno - 1
        error = error.__cause__
    if function is None:
        for place, words in re.findall(re.escape(module.path) + r":(\d+):\d+: error: (.*)", diagnostics):
            (function, line), message = module.place(int(place)), words
    return {"message": unwrap(message), "function": function, "line": line}


def unwrap(message: str) -> str:
    """Returns ``x is not defined`` for ``NameError('x is not defined')``, and any other message as it is."""
    match = re.fullmatch(r"(\w+)\((['\"])(.*)\2,?\)", message, re.S)
    return match[3] if match else message


def attempt(job: Json, request: Json, modules: dict[int, KernelModule], folder: str) -> Json:
    """Compiles one job, and returns its result without the time (see `results`). modules: those made so far, by their
    number in the request.
    """
    try:
        if job["module"] not in modules:
            modules[job["module"]] = KernelModule(request["modules"][job["module"]], folder)
        module = modules[job["module"]]
        built = build(job, module)
    except Refusal as refusal:
        return {"message": str(refusal), "function": refusal.function, "line": refusal.line, "permitted": False}
    except Unsuited as reason:
        return {"unsuited": str(reason)}
    except Exception as error:
        return {"lost": f"the compiler could not begin: {type(error).__name__}: {error}"}
    with kept_errors(folder) as errors:
        try:
            return compile_job(job, *built)
        except (machine_code.UnreadableAssembly, MissingTool) as reason:
            return {"lost": str(reason)}
        except Exception as error:
            if isinstance(error, OSError) or str(error).startswith("Cannot find "):
                return {"lost": f"the compiler could not run: {error}"}
            errors.seek(0)
            return explain(error, module, errors.read().decode(errors="replace"))


@contextlib.contextmanager
def kept_errors(folder: str) -> Iterator[IO[bytes]]:
    """Gives a file that takes what is written to stderr: MLIR and LLVM write their diagnostics there."""
    keep = os.dup(2)
    with tempfile.TemporaryFile(dir=folder) as errors:
        os.dup2(errors.fileno(), 2)
        try:
            yield errors
        finally:
            os.dup2(keep, 2)
            os.close(keep)


def prepare() -> None:
    """Does in advance what the first compilation would: imports, and the version of NVIDIA's assembler."""
    import triton.compiler.code_generator  # noqa: F401  the compiler imports it when it first compiles
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    for target in Target.named():
        make_backend(GPUTarget(target.backend, target.arch, target.warp_size)).hash()


def libraries(request: str) -> tuple[str, ...]:
    """The modules that a process imports before it forks children for a request, given as text: `device_libraries`,
    where a kernel may call a device function.
    """
    return (_LIBRARIES,) if _CALLED.search(request) else ()


def share_libraries() -> None:
    """Called after `libraries` are imported: see `device_libraries.share`."""
    from . import device_libraries

    device_libraries.share()


def results(request: Json) -> Iterator[Json]:
    """Compiles each job of {"modules": [extract], "jobs": [job]} when its result is asked for; yields the results in
    order.

    A result has ``operations``, where the front end alone was wanted, or ``result`` (see `machine_code`) with
    ``shared``, and for a job with a ``size`` ``thread`` (see `_thread`); or ``message``, ``function`` and ``line`` of
    what the compiler refuses, or, with ``permitted`` False, of what `name_check` does; or a reason: ``unsuited`` (its
    options are for other GPUs), ``lost`` (what no kernel should be able to bring about).
    """
    folder = os.environ["TRITON_CACHE_DIR"]
    modules: dict[int, KernelModule] = {}
    for job in request["jobs"]:
        begin = time.perf_counter()
        result = attempt(job, request, modules, folder)
        yield result | {"seconds": round(time.perf_counter() - begin, 3)}
