"""CUDA graphs of the simulated GPU: while one is captured nothing is computed; each replay does what was captured.

Every launch and operator of a capture becomes a step, with the memory it was given, as a GPU's graph has addresses
(`graph_memory`). A result is an uninitialised tensor until a replay computes it.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NoReturn

import torch

from ..aten import ATEN
from ..borrowed import schema, tree_map_only
from .graph_memory import CapturedArguments, GraphMemory

_FORBIDDEN = "CUDA error: operation not permitted when stream is capturing"
_Step = Callable[[], object]


class CUDAGraph:
    """Stands for `torch.cuda.CUDAGraph`. refuse: raises an error that says what cannot be simulated. freed: called at a
    replay with the name of a kernel or an operator, and of an argument whose memory was freed since the capture.
    """

    refuse: Callable[[str], NoReturn]
    freed: Callable[[str, str], None]
    under_way: ClassVar["CUDAGraph | None"] = None
    _pools = itertools.count(1)

    def __init__(self, keep_graph: bool = False):
        self.steps: list[_Step] = []
        self.memory = GraphMemory()
        self._captured, self._pool = False, graph_pool_handle()

    def capture_begin(self, pool: tuple[int, int] | None = None, *args: object, **options: object) -> None:
        """Begins a capture, of all that is launched until `capture_end`. Raises RuntimeError within another."""
        forbid("a second capture")
        self.reset()
        self._pool = pool or self._pool
        CUDAGraph.under_way = self

    def capture_end(self) -> None:
        CUDAGraph.under_way, self._captured = None, True

    def instantiate(self) -> None:
        pass

    def replay(self) -> None:
        """Does all that was captured. Raises RuntimeError where nothing was."""
        if not self._captured:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        forbid("a replay")
        with torch.no_grad():
            for step in self.steps:
                step()

    def reset(self) -> None:
        self.steps, self.memory, self._captured = [], GraphMemory(), False

    def arguments(
        self, name: str, parameters: Iterable[str], args: Iterable[Any], options: Mapping[str, Any]
    ) -> CapturedArguments:
        """The arguments of a launch of a kernel, or of an operator, of this ``name``."""
        return CapturedArguments(parameters, args, options, self.memory, functools.partial(self.freed, name))

    def pool(self) -> tuple[int, int]:
        return self._pool

    def enable_debug_mode(self) -> None:
        pass

    def raw_cuda_graph(self, *args: object) -> NoReturn:
        self.refuse("A CUDA graph's nodes are a GPU's: it can be captured and replayed here, and nothing else.")

    raw_cuda_graph_exec = get_graph_data = debug_dump = raw_cuda_graph


def graph_pool_handle() -> tuple[int, int]:
    """A number for memory that graphs may share; here each tensor has its own."""
    return 0, next(CUDAGraph._pools)


def capturing() -> bool:
    """Returns whether a graph is being captured."""
    return CUDAGraph.under_way is not None


def forbid(what: str) -> None:
    """Raises RuntimeError, as CUDA does, where a graph is being captured. what: is not permitted then."""
    if capturing():
        raise RuntimeError(f"{_FORBIDDEN}: {what}")


def allocated(storage: torch.UntypedStorage) -> None:
    """Has a graph that is being captured keep a storage, which lies on the GPU from now on."""
    if CUDAGraph.under_way is not None:
        CUDAGraph.under_way.memory.add(storage)


def noted(step: _Step) -> bool:
    """Returns whether a graph is being captured, and has ``step`` now for its replays."""
    if CUDAGraph.under_way is None:
        return False
    CUDAGraph.under_way.steps.append(step)
    return True


def operator(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of an operator of PyTorch that is captured: views as such, arguments that it writes, and of others
    new tensors, not computed.

    Raises:
        RuntimeError: the host waits for its result, or the shape of its result is known only then.
    """
    name, returns = ATEN.base(schema(func).name), [item.alias_info for item in schema(func).returns]
    views = bool(returns) and all(alias is not None and not alias.is_write for alias in returns)
    if name in ATEN.allocate or views:
        return func(*args, **kwargs)
    if torch.Tag.data_dependent_output in func.tags:
        forbid(f"the host waits for `{name}`")
    fake = None
    if not all(returns):
        fake = tree_map_only(torch.Tensor, _uninitialised, _shapes(func, name, args, kwargs))
    results = list(fake) if len(returns) > 1 and fake is not None else [fake] * len(returns)
    for position, alias in enumerate(returns):
        if alias is not None:
            results[position] = _argument(func, alias, args, kwargs)
    outputs = [item.data for alias, result in zip(returns, results, strict=True) if not alias for item in _flat(result)]
    if graph := CUDAGraph.under_way:
        parameters = [argument.name for argument in schema(func).arguments]
        captured = graph.arguments(schema(func).name, parameters, args, kwargs)
        graph.steps.append(functools.partial(_again, func, captured, [not alias for alias in returns], outputs))
    return tuple(results) if len(results) > 1 else results[0] if results else None


def _shapes(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of an operator as tensors without memory."""

    def meta(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")

    args, kwargs = tree_map_only(torch.Tensor, meta, (args, kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = torch.device("meta")
    try:
        return func(*args, **kwargs)
    except NotImplementedError as error:
        raise RuntimeError(f"{_FORBIDDEN}: the shape of a result of `{name}` depends on values") from error


def _uninitialised(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)


def _argument(func: Any, alias: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The argument that a result is."""
    for position, argument in enumerate(schema(func).arguments):
        if argument.alias_info is not None and argument.alias_info.before_set & alias.before_set:
            return kwargs[argument.name] if argument.name in kwargs else args[position]
    return None


def _again(func: Any, captured: CapturedArguments, new: list[bool], outputs: list[torch.Tensor]) -> None:
    """Computes an operator for a replay, into the tensors that its capture returned."""
    args, kwargs = captured.replayed()
    results = func(*args, **kwargs)
    several = results if len(new) > 1 else [results] if new else []
    computed = [tensor for fresh, result in zip(new, several, strict=True) if fresh for tensor in _flat(result)]
    for output, result in zip(outputs, computed, strict=True):
        output.copy_(result)


def _flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, list | tuple):
        return [tensor for part in result for tensor in _flat(part)]
    return [result] if isinstance(result, torch.Tensor) else []
