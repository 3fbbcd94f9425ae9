"""Records what an answer does with its tensors, as a plan (see `plan`) that a new process can replay on other numbers.

It runs in the answer's process, so it proves nothing by itself: the plan is checked as data, and only the result of
replaying it counts.
"""

import ctypes
import hashlib
import inspect
import operator
from collections.abc import Callable
from typing import Any

import torch
import triton.language as tl
from torch.overrides import TorchFunctionMode
from triton.runtime import autotuner, interpreter

from ....gpu import ATEN, Surroundings, lazily
from ...call.borrowed import READ, TorchDispatchMode, body_of, schema
from ...call.elements import dtype_name
from ...call.guards import HANDED_OVER
from ...call.tree import Tree
from ..wire.plan import CONSTANT


class Unrecordable(Exception):
    """Something that a plan cannot express; the message says what."""


@lazily
class Recorder(TorchDispatchMode):
    """Records one call of ``function``; call it in place of the function. Kernels wait, and run only if the answer
    reads a number that they may have written. Afterwards ``plan`` is the plan, or ``reason`` says why there is none.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.function = function
        self._begin((), False)

    def _begin(self, args: tuple[Any, ...], running: bool) -> None:
        self.plan: dict[str, Any] | None = None
        self.reason = ""
        self.buffers: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.globals: dict[str, object] = {}
        self.tuned: list[dict[str, Any]] = []
        self.numbers: dict[int, int] = {}  # address of a storage -> number of its buffer
        self.kept: list[torch.UntypedStorage] = []  # storages, kept alive so that no address is used twice
        self.running, self.launching = running, False
        self.waiting: list[Callable[[], None]] = []  # launches that did not run
        self.read = False  # whether the answer read such a number
        self.stale = False  # whether an operator may have read what a waiting kernel writes
        self.misled = False  # whether what the answer read may be wrong for that reason
        for i, tensor in enumerate(Tree(args).tensors):
            if tensor.numel():
                self._register(tensor, {"input": i})
            else:
                self.buffers.append({"input": i})

    def __call__(self, *args: Any) -> Any:
        """A number that the answer reads is right, or a flag such as "all labels are valid" would never be set: the
        kernels before it run first. Where an operator came between them, the call is recorded again, with all kernels.
        """
        try:
            result = self._called(args, running=False)
        except Exception:
            if not self.misled:
                raise
        if self.misled:
            result = self._called(args, running=True)
        self._finish(result)
        return result

    def _called(self, args: tuple[Any, ...], running: bool) -> Any:
        self._begin(args, running)
        original, tunes = interpreter.GridExecutor.__call__, autotuner.Autotuner.run
        interpreter.GridExecutor.__call__ = lambda executor, *a, **k: self._launched(original, executor, a, k)
        autotuner.Autotuner.run = lambda tuner, *a, **k: self._tuned(tunes, tuner, a, k)
        try:
            with self, _HandedOver(self):
                return self.function(*args)
        finally:
            interpreter.GridExecutor.__call__, autotuner.Autotuner.run = original, tunes
            self.waiting = []

    def _finish(self, result: Any) -> None:
        outputs = () if result is None else Tree.of(result).args
        if self.reason or not all(isinstance(o, torch.Tensor) for o in outputs):
            return
        try:
            refs = [self._ref(o) for o in outputs]
        except Unrecordable as error:
            self.reason = str(error)
            return
        plan = {"buffers": self.buffers, "steps": self.steps, "outputs": refs, "globals": self.globals}
        self.plan = plan | {"tuned": self.tuned}

    # PyTorch's operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if self.launching or self.reason:
            return func(*args, **kwargs)
        if body := body_of(func):
            with self:
                return body(*args, **kwargs)
        if (func is READ and self._is_of_a_kernel(args[0])) or (self.read and _HANGS_ON_NUMBERS & set(func.tags)):
            self.catch_up()
        try:
            step = self._step(func, args, kwargs)
        except Unrecordable as error:
            self.reason = str(error)
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        self._note(func, step, result)
        return result

    def catch_up(self) -> None:
        """Runs the kernels that wait, before the answer reads what they write."""
        self.read, self.misled = True, self.misled or self.stale
        waiting, self.waiting = self.waiting, []
        for launch in waiting if not self.misled else ():
            launch()

    def _is_of_a_kernel(self, tensor: torch.Tensor) -> bool:
        launched = any("launch" in step for step in self.steps)
        number = self.numbers.get(self._address(tensor))
        return launched and (number is None or "input" not in self.buffers[number])

    def _step(self, func: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        taken = schema(func)
        encoded = [self._value(a) for a in args]
        named = {k: self._value(v) for k, v in kwargs.items() if not isinstance(v, _ABOUT_MEMORY)}
        name = taken.name.split("::")[-1]
        return {"op": name, "overload": taken.overload_name or "default", "args": encoded, "kwargs": named}

    def _note(self, func: Any, step: dict[str, Any], result: Any) -> None:
        """Records an allocation as a buffer, and anything but a view as a step with the buffers that it fills."""
        results = Tree.of(result).tensors
        fresh = [r for r in results if r.numel() and self._address(r) not in self.numbers]
        for tensor in fresh:
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            self._register(tensor, {"dtype": dtype_name(tensor.dtype), "elements": size})
        if step["op"] in ATEN.allocate or not (fresh or schema(func).is_mutable):
            return
        self.stale = self.stale or bool(self.waiting)
        new = {id(r) for r in fresh}
        out = [self._ref(r) if id(r) in new else None for r in results]
        self.steps.append(step | {"out": out})

    # Triton's launches

    def _launched(self, original: Callable[..., Any], executor: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Records a launch and lets it wait: what a kernel computes must not influence the next launch."""
        if not self.reason:
            try:
                self.steps.append(self._launch(executor, args, kwargs))
            except Unrecordable as error:
                self.reason = str(error)

        def launch() -> None:
            self.launching = True
            try:
                original(executor, *args, **kwargs)
            finally:
                self.launching = False

        if self.running:
            launch()
        else:
            self.waiting.append(launch)

    def _tuned(self, original: Callable[..., Any], tuner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Records which steps are those of an autotuned launch, and which of its configurations it runs in."""
        first = len(self.steps)
        result = original(tuner, *args, **kwargs)
        configurations = [str(config) for config in tuner.configs]
        digest = hashlib.sha256(repr((tuner.base_fn.__name__, configurations)).encode()).hexdigest()
        place = next(number for number, config in enumerate(tuner.configs) if config is tuner.best_config)
        self.tuned.append({"of": digest, "configuration": place, "steps": [first, len(self.steps)]})
        return result

    def _launch(self, executor: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        names = list(inspect.signature(executor.fn).parameters)
        values = inspect.getcallargs(executor.fn, *args, **{k: v for k, v in kwargs.items() if k in names})
        arguments = {name: self._value(values[name]) for name in names}
        options = {k: v for k, v in kwargs.items() if k not in names and isinstance(v, int)}
        grid = executor.grid(values) if callable(executor.grid) else executor.grid
        sizes = [operator.index(getattr(size, "value", size)) for size in grid]
        sizes += [1] * (3 - len(sizes))
        around = Surroundings(executor.fn).names()
        self.globals |= around["values"] | {name: {"import": module} for name, module in around["modules"].items()}
        return {"launch": executor.fn.__name__, "grid": sizes, "arguments": arguments, "options": options}

    # Values

    def _value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"ref": self._ref(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return {"list": [self._value(part) for part in value]}
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, tl.constexpr):
            return {"constexpr": self._value(value.value)}
        if isinstance(value, tl.dtype):
            if value.name not in _TYPES:
                raise Unrecordable(f"the type {value.name} is handed to a kernel; use one of triton.language's")
            return {"type": _TYPES[value.name]}
        inner = getattr(value, "fn", None)
        if inspect.isfunction(inner) and type(value).__module__.startswith("triton."):
            return {"function": inner.__name__}
        raise Unrecordable(f"a {type(value).__name__} is handed to a kernel or an operator; use tensors and numbers")

    def _ref(self, tensor: torch.Tensor) -> dict[str, Any]:
        view = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "stride": list(tensor.stride())}
        if not tensor.numel():
            return view
        if self._address(tensor) not in self.numbers:
            self._register(tensor, self._constant(tensor))
        return view | {"buffer": self.numbers[self._address(tensor)], "offset": tensor.storage_offset()}

    def _constant(self, tensor: torch.Tensor) -> dict[str, Any]:
        """A tensor that no recorded step made: a few bytes are a constant of the answer; more are refused."""
        storage = tensor.untyped_storage()
        if storage.nbytes() > CONSTANT or tensor.device.type != "cpu":
            raise Unrecordable(
                "a tensor was made outside of the kernels, by NumPy or by PyTorch behind the grader's back; "
                "allocate with torch.empty, and compute in the kernel"
            )
        return {
            "dtype": dtype_name(tensor.dtype),
            "bytes": (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr()).raw.hex(),
        }

    def _register(self, tensor: torch.Tensor, buffer: dict[str, Any]) -> None:
        self.numbers[self._address(tensor)] = len(self.buffers)
        self.kept.append(tensor.untyped_storage())
        self.buffers.append(buffer)

    @staticmethod
    def _address(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage().data_ptr()


class _HandedOver(TorchFunctionMode):
    """Has a recorder catch up where numbers are taken out of a tensor without an operator."""

    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if self.recorder.read and getattr(func, "__name__", "") in _WITHOUT_OPERATOR:
            self.recorder.catch_up()
        return func(*args, **(kwargs or {}))


_TYPES = {value.name: name for name, value in vars(tl).items() if type(value) is tl.dtype}  # "fp32" -> "float32"
_HANGS_ON_NUMBERS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_WITHOUT_OPERATOR = HANDED_OVER | {"tolist"}
_ABOUT_MEMORY = (torch.device, torch.layout, torch.memory_format)
