"""Everything the emulator changes in Triton, in one place: checked to exist first, undone afterwards.

What is changed, for the length of an `Emulator` block:

- the class of the interpreter's one builder becomes `StrictBuilder` (arithmetic and memory), which asks of `tl.dot` the
  sizes that CUDA asks for;
- `GridExecutor.__call__` runs `execution.execute`;
- `tl.reduce` and `tl.associative_scan` use `StrictReduce` and `StrictScan`;
- kernels are rewritten by `StrictTransformer` and `rewrite.rewritten`, and a tensor's truth value is `dialect.truth`;
- where `Emulator.coverage` is set, they note which of their statements run;
- a kernel called without a grid says so;
- what the language works out anew for each operation is remembered (`shortcuts`);
- the language is patched once for the block, not once for each call of a device function;
- libdevice's functions, empty outside a compiler, call their CUDA twins;
- the autotuner picks a configuration without timing any, or runs each of them once (`Emulator.tries`).
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import min_dot_size
from triton.language import target_info
from triton.language.extra import cuda
from triton.language.extra import libdevice as any_libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import autotuner, interpreter

from ..borrowed import INTERPRETER, LangPatchScope, at, bench
from . import (
    aggregates,
    builtin_functions,
    counters,
    coverage,
    dialect,
    execution,
    language,
    messages,
    rewrite,
    scaled,
    shortcuts,
)
from .atomics import Atomics
from .builder import StrictBuilder
from .findings import EmulatorError
from .grid import lockstep, turns
from .handles import numpy_type
from .integers import Integers
from .reduction import StrictReduce, StrictScan
from .refused import OutOfSharedMemory, refuse
from .tuning import Tuning, ranked

_ADDED = {  # what the interpreter lacks, of Triton 3.6 and 3.7, of all before 3.9, and of all
    "get_bf16",
    *("create_atomic_load", "create_atomic_store", "create_atomic_poll"),
    *("create_descriptor_reduce", "create_dot_scaled"),
}

_Rewritten = dict[types.FunctionType, types.FunctionType]
_rewritten: _Rewritten = {}  # kernels as StrictTransformer rewrote them, kept from block to block
_marked: _Rewritten = {}  # those that note what they reach


def check() -> None:
    """Says what moved when a Triton that the emulator does not know has changed something that it patches.

    Raises:
        RuntimeError: something the emulator patches does not exist, or kernels are compiled instead of interpreted.
    """
    held = {owner: at(owner) for owner in INTERPRETER}
    missing = [f"{owner}.{name}" for owner in held for name in INTERPRETER[owner] if not hasattr(held[owner], name)]
    missing += [
        f"InterpreterBuilder.{name}" for name in _replaced() if not hasattr(interpreter.InterpreterBuilder, name)
    ]
    if missing:
        raise RuntimeError(
            f"Triton {triton.__version__} moved {', '.join(missing)}; this emulator knows 3.6 to 3.9. Install one of "
            "those, or a newer graded-kernels."
        )
    if not isinstance(tl.sum, interpreter.InterpretedFunction):
        raise RuntimeError(
            "Set TRITON_INTERPRET=1 in the environment before triton is first imported: kernels are being compiled."
        )


@functools.cache
def _replaced() -> list[str]:
    """Returns what the emulator's builder has in place of the interpreter's own."""
    names = vars(StrictBuilder).keys() | vars(Atomics).keys() | vars(Integers).keys()
    ours = {name for name in names if name.startswith(("create_", "get_")) or name.endswith(("_op", "_impl"))}
    return sorted(ours - _ADDED)


class Patches:
    """The changes of one `Emulator` block."""

    def __init__(self, emulator: Any):
        self.emulator = emulator
        self._undo: list[Callable[[], None]] = []
        self._modules: set[int] = set()
        self._speaks = False  # whether the language is patched

    def apply(self) -> None:
        """Makes the changes, all or none. Raises RuntimeError as `check` does."""
        check()
        try:
            self._interpreter()
            self._kernels()
            self._autotuner()
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Takes the changes back."""
        while self._undo:
            self._undo.pop()()

    def _set(self, owner: Any, name: str, value: Any) -> None:
        owned = vars(owner)
        old, had = owned.get(name), name in owned
        self._undo.append(lambda: setattr(owner, name, old) if had else delattr(owner, name))
        setattr(owner, name, value)

    def _interpreter(self) -> None:
        builder, emulator = interpreter.interpreter_builder, self.emulator
        self._undo.append(lambda: setattr(builder, "__class__", interpreter.InterpreterBuilder))
        builder.__class__ = StrictBuilder
        self._set(builder, "emulator", emulator)
        self._set(builder, "coverage", emulator.coverage)
        # debug: device assertions hold. sanitize_overflow would redo each integer operation in 64 bits.
        self._set(builder, "options", interpreter.InterpreterOptions(debug=True, sanitize_overflow=False))
        smallest = {"min_dot_size": min_dot_size(GPUTarget("cuda", 80, 32))}
        # What a kernel asks of its device is answered for an H100, unless a driver answers for the one it stands for.
        known = target_info.current_target
        self._set(target_info, "current_target", lambda: known() or GPUTarget("cuda", 90, 32))
        self._set(builder, "codegen_fns", builder.codegen_fns | smallest)
        # Asked several times for each operation; Triton builds a table of all types to answer.
        self._set(interpreter, "_get_np_dtype", numpy_type)
        quick: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
            (tl.dtype, "__eq__", shortcuts.equal),
            (tl.block_type, "__init__", shortcuts.block_type),
            (tl.tensor, "__init__", shortcuts.tensor),
            (interpreter.TensorHandle, "__init__", shortcuts.handle),
            (interpreter.interpreter_semantic, "broadcast_impl_value", shortcuts.broadcast),
        )
        for owner, name, quicker in quick:
            self._set(owner, name, quicker(getattr(owner, name)))
        self._set(interpreter, "ReduceOps", StrictReduce)
        self._set(interpreter, "ScanOps", StrictScan)

        def call(executor: Any, *args: Any, **options: Any) -> None:
            try:
                emulator.launch(executor, args, options)
            except EmulatorError as error:
                # An autotuner passes over a configuration with which the kernel does not compile.
                passed_over = isinstance(error, OutOfSharedMemory) or not dialect.compiles(error.__cause__)
                if not emulator.configuration or not passed_over:
                    emulator.record(error)
                raise error.with_traceback(None) from error.__cause__

        self._set(interpreter.GridExecutor, "__call__", call)

    def language(self) -> None:
        """Patches the language, six hundred names of it, before the first kernel of the block runs."""
        if self._speaks:
            return
        self._speaks = True
        for change in language.changes():
            self._undo.append(change.undo)
            change.make()
        self._set(interpreter, "_patch_lang", lambda fn: LangPatchScope())

    def _kernels(self) -> None:
        semantic = interpreter.interpreter_semantic
        self._set(semantic, "logical", dialect.logical)
        self._set(semantic, "logical_not", dialect.logical_not)
        self._set(semantic, "asserted", dialect.asserted)
        self._set(semantic, "assigned", dialect.assigned)
        self._set(semantic, "beside", dialect.beside)
        self._set(semantic, "called", builtin_functions.called)
        self._set(semantic, "content", builtin_functions.content)
        self._set(semantic, "type_of", builtin_functions.type_of)
        self._set(semantic, "counted", counters.counted)
        self._set(semantic, "lockstep_loop", lockstep.Loop)
        self._set(semantic, "lockstep_branch", lockstep.Branch)
        self._set(semantic, "lockstep_choice", lockstep.Choice)
        self._set(semantic, "turns", turns.turns)
        self._set(semantic, "refuse", refuse)
        self._set(semantic, "unused", dialect.unused)
        self._set(semantic, "make_tensor_descriptor", dialect.with_constant_stride(semantic.make_tensor_descriptor))
        self._set(semantic, "dot_scaled", scaled.formats_as_constants(semantic.dot_scaled))
        self._set(interpreter.FunctionRewriter, "ast_transformer", dialect.StrictTransformer())
        original, emulator = interpreter.InterpretedFunction.rewrite, self.emulator
        watches = emulator.coverage is not None
        if watches:
            self._set(semantic, "reached", emulator.coverage.marks.add)
        rewrites = functools.partialmethod(rewrite.rewritten, coverage.mark if watches else None)
        self._set(interpreter.FunctionRewriter, "rewrite_ast", rewrites)
        ready: dict[interpreter.InterpretedFunction, types.FunctionType] = {}

        def called(function: Any, *args: Any, **named: Any) -> Any:
            if not emulator.launching:
                error = execution.not_launched(function.fn.__name__)
                emulator.record(error)
                raise error
            if function not in ready:
                ready[function] = function.rewrite()
            try:
                return ready[function](*args, **named)
            except Exception as error:
                raise interpreter.InterpreterError(repr(error)) from error

        self._set(interpreter.InterpretedFunction, "__call__", called)

        def rewritten(function: Any) -> Any:
            self._module(function.fn.__globals__)
            result = original(function)
            result.interpreted = function
            return result

        self._set(interpreter.InterpretedFunction, "rewrite", rewritten)
        self._set(interpreter.InterpretedFunction, "rewritten_fn", _marked if watches else _rewritten)
        for owner, name in aggregates.owners():
            self._set(owner, name, aggregates.with_methods(getattr(owner, name)))

    def _module(self, names: dict[str, Any]) -> None:
        """Functions that a kernel's module imported by name escape the patches of their own; patch them there."""
        if id(names) in self._modules or names.get("__name__", "").startswith("triton."):
            return
        self._modules.add(id(names))
        for name, value in list(names.items()):
            if not isinstance(value, types.FunctionType):
                continue
            if value.__module__.startswith(f"{cuda.__name__}.") and value.__name__ in language.of_cuda():
                self._undo.append(functools.partial(names.__setitem__, name, value))
                names[name] = language.of_cuda()[value.__name__]
                continue
            twin = vars(cuda_libdevice).get(value.__name__) if value.__module__ == any_libdevice.__name__ else None
            if twin is not None or tl.core.is_builtin(value):
                self._undo.append(functools.partial(names.__setitem__, name, value))
                names[name] = language.inject(value if twin is None else twin, value)

    def _autotuner(self) -> None:
        emulator, original = self.emulator, autotuner.Autotuner.run
        if emulator.tries:
            tuning = Tuning(emulator, original, bench)
            self._set(autotuner.Autotuner, "run", lambda *args, **named: tuning.run(*args, **named))
            self._set(autotuner.Autotuner, "_bench", lambda *args, **named: tuning.bench(*args, **named))
            return

        def run(tuner: Any, *args: Any, **options: Any) -> Any:
            cache, tuner.cache = tuner.cache, {}
            try:
                return original(tuner, *args, **options)
            finally:
                tuner.cache = cache
                if tuner.best_config is not tuner.configs[0]:
                    chosen = ", ".join(f"{name}={value}" for name, value in tuner.best_config.kwargs.items())
                    make = functools.partial(messages.configuration, tuner.base_fn.__name__, chosen)
                    emulator.notice("configuration", make)

        self._set(autotuner.Autotuner, "run", run)
        self._set(autotuner.Autotuner, "_bench", lambda *args, **named: ranked(emulator.choice, *args, **named))
