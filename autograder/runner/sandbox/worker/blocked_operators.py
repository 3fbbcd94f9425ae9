"""Operators blocked in PyTorch's dispatcher, below the modes that Python code can switch off.

Not with ``torch.library.Library``: code can find such an object through the garbage collector and destroy it, which
would restore the operators. The libraries that are kept here cannot be found in that way.
"""

import ctypes
import gc
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NoReturn

import torch

from ....gpu import ATEN
from ...call.answer import OperatorRefused
from ...call.borrowed import core, has_kernel, operators_with, replaced_kernels, without_graph_optimizer

# Where an operator can have kernels that compute on the CPU: any of them can be asked for by name.
_LEAVES = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_OTHER_TENSORS = (
    *("MkldnnCPU", "NestedTensorCPU", "QuantizedCPU", "SparseCPU", "SparseCsrCPU"),
    "CompositeImplicitAutogradNestedTensor",
)
# Compilers and interpreters of PyTorch that do not go through the dispatcher, or differentiate by themselves.
_ELSEWHERE = frozenset(
    "StaticModule _jit_to_static_module _fuse_to_static_module _te _nativert _jit_differentiate "
    "_jit_set_profiling_executor _jit_set_profiling_mode _set_graph_executor_optimize "
    "_dispatch_get_computed_kernel_for_dispatch_key".split()
)


class Overrides:
    """Kernels replaced in the dispatcher, until `open` restores them, or for good after `keep`."""

    def __init__(self) -> None:
        self._libraries: dict[str, Any] = {}

    def refuse(self, key: str, name: str, why: str) -> None:
        """The kernel of operator ``name`` (``aten::add.Tensor``) under this dispatch key raises OperatorRefused."""

        def refusal(*args: object, **kwargs: object) -> NoReturn:
            raise OperatorRefused(why, ATEN.base(name))

        self._replace(key, name, refusal)

    def record_no_gradient(self, name: str) -> None:
        """Results of this operator have no ``grad_fn``: what autograd does before and after it is left out."""
        self._replace("Autograd", name, torch.library.fallthrough_kernel)

    def _replace(self, key: str, name: str, kernel: Callable[..., Any]) -> None:
        namespace, _, rest = name.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = replaced_kernels(namespace)
        self._libraries[namespace].impl(rest, key, kernel, False)

    def open(self) -> None:
        """Restores the kernels."""
        for library in self._libraries.values():
            library.reset()
        self._libraries = {}

    def keep(self) -> None:
        """Makes the replacements last as long as the process: nothing can find them any more."""
        for library in self._libraries.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
        self._libraries = {}


class BlockedOperators:
    """Holds what a worker blocks before it forks, so that no child has to: the operators that are not on the list of
    `operators`, and autograd. A child calls `settle` before it loads an answer.
    """

    def __init__(self) -> None:
        self.unlisted, self.gradients, self.autograd = Overrides(), Overrides(), Overrides()
        self._met: set[tuple[str, str]] = set()
        self.close()
        without_graph_optimizer()
        for holder, key in holders(core(), _ELSEWHERE):
            del holder[key]
        self._registering = holders(core(), ["_dispatch_library"])

    def close(self) -> None:
        """Blocks what is registered by now. Called again after an import that registers more."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is the point
            for key in _LEAVES:
                for name in self._new(key):
                    if not ATEN.permits(name):
                        overrides = self.gradients if ATEN.permits(name, gradients=True) else self.unlisted
                        overrides.refuse(key, name, unlisted(name))
            for key in _OTHER_TENSORS:
                for name in self._new(key):
                    self.unlisted.refuse(key, name, "Tensors of this kind are not for an answer; use ordinary ones.")
            for name in self._new("Autograd"):
                if ATEN.permits(name):
                    self.autograd.record_no_gradient(name)

    def _new(self, key: str) -> list[str]:
        """The operators with a kernel under this key that were not seen before."""
        names = [name for name in operators_with(key) if (key, name) not in self._met]
        self._met |= {(key, name) for name in names}
        return names

    def settle(self, refused: Iterable[str], witness: bool, gradient: bool) -> None:
        """Makes the block permanent, with exceptions. witness: the answer computes an input, with any operator.
        gradient: PyTorch differentiates the answer.
        """
        of_answer = Overrides()
        if witness:
            self.unlisted.open()
        if witness or gradient:
            self.gradients.open()
            self.autograd.open()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in refused:
                for form in (name, f"{name}_"):
                    _refuse_every_kernel(of_answer, form, f"{name} is the answer itself or a part of it. Write it out.")
        for overrides in (self.unlisted, self.gradients, self.autograd, of_answer):
            overrides.keep()
        if not witness:  # what an import registers from now on would be open
            for holder, key in self._registering:
                holder[key] = _refuse_registration


def _refuse_registration(*_args: object) -> NoReturn:
    """Stands where PyTorch makes a library of operators."""
    raise OperatorRefused(
        "An answer registers no operators of its own (torch.library): keep what registers them in a module that the "
        "answer does not import.",
        "torch.library",
    )


def unlisted(name: str) -> str:
    """Returns the message for an operator that is not on the list."""
    return f"{ATEN.base(name)} is not among the operators that an answer may call. Write it out with basic ones."


def _refuse_every_kernel(overrides: Overrides, name: str, why: str) -> None:
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        full = f"aten::{name}" if overload == "default" else f"aten::{name}.{overload}"
        for key in (*_LEAVES, "CompositeImplicitAutograd"):
            if has_kernel(full, key):
                overrides.refuse(key, full, why)


def holders(module: ModuleType, names: Iterable[str]) -> list[tuple[dict[str, Any], str]]:
    """Returns every dictionary with what a module in machine code has under these names, and its key there: Python
    keeps a copy of the module's.
    """
    values = [value for name in names if (value := getattr(module, name, None)) is not None]
    sought = set(map(id, values))
    gc.unfreeze()  # objects that are frozen are not looked at
    holders = [
        referrer for referrer in gc.get_referrers(*values) if isinstance(referrer, dict)
    ]  # one look at all objects there are
    return [(holder, key) for holder in holders for key, held in holder.items() if id(held) in sought]
