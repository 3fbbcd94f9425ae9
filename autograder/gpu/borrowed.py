"""Private names of PyTorch and Triton on which the simulated GPU rests: here, and nowhere else in it.

Seen in PyTorch 2.13 and Triton 3.6 to 3.9; `NAMES` says where each is found and what does not work without it. They are
looked up when they are imported from here: some take longer to import than a whole check.
"""

import importlib
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["INTERPRETER", "NAMES", "UNDOCUMENTED", "TorchDispatchMode"]


class Borrowed(NamedTuple):
    """home: a module, or ``module:attribute`` of it. without: what does not work where it is gone."""

    home: str
    without: str


_INTERPRETER, _INDUCTOR = "triton.runtime.interpreter", "torch._inductor"
_COMPILE, _FAKE = "torch.compile on a simulated GPU", "fake tensors on a simulated GPU"
_CUSTOM, _MODES = "operators of one's own on a simulated GPU", "everything that watches PyTorch's functions"
_COMPILER, _ATOMICS = "what Triton's compiler says of a kernel", "atomics in the emulator"
NAMES = {
    # of Triton
    "ir": Borrowed(f"{_INTERPRETER}:_ir", "the emulator: names of roundings, orders and scopes"),
    "atomic_rmw": Borrowed(f"{_INTERPRETER}:_interpreter.atomic_rmw", _ATOMICS),
    "atomic_cas": Borrowed(f"{_INTERPRETER}:_interpreter.atomic_cas", _ATOMICS),
    "get_np_dtype": Borrowed(f"{_INTERPRETER}:_get_np_dtype", "the emulator: scalars and blocks"),
    "implicit_cvt": Borrowed(f"{_INTERPRETER}:_implicit_cvt", "tensor descriptors in the emulator"),
    "patch_lang_tensor": Borrowed(f"{_INTERPRETER}:_patch_lang_tensor", "the emulator: methods of a tensor"),
    "patch_lang_core": Borrowed(f"{_INTERPRETER}:_patch_lang_core", "the emulator: control flow of the language"),
    "LangPatchScope": Borrowed(f"{_INTERPRETER}:_LangPatchScope", "the emulator: the language"),
    "bench": Borrowed("triton.runtime.autotuner:Autotuner._bench", "each configuration of an autotuned kernel"),
    "normalize_ty": Borrowed("triton.runtime.jit:_normalize_ty", "annotated parameters of a kernel"),
    "allocator": Borrowed("triton.runtime._allocation:_allocator", "kernels that need scratch memory"),
    "compiler_ir": Borrowed("triton._C.libtriton:ir", _COMPILER),
    "llvm": Borrowed("triton._C.libtriton:llvm", "functions of libdevice in a compiled kernel"),
    "native_specialize_impl": Borrowed("triton._C.libtriton:native_specialize_impl", _COMPILER),
    "libtriton_nvidia": Borrowed("triton._C.libtriton:nvidia", "products by cuBLAS on a simulated GPU"),
    # of PyTorch
    "torch_C": Borrowed("torch:_C", "everything that is simulated of CUDA"),
    "DisableTorchFunction": Borrowed("torch._C:DisableTorchFunction", _MODES),
    "DisableTorchDispatch": Borrowed("torch._C:_DisableTorchDispatch", _MODES),
    "TorchDispatchMode": Borrowed("torch.utils._python_dispatch:TorchDispatchMode", _MODES),
    "len_torch_function_stack": Borrowed("torch._C:_len_torch_function_stack", _MODES),
    "pop_torch_function_stack": Borrowed("torch._C:_pop_torch_function_stack", _COMPILE),
    "push_on_torch_function_stack": Borrowed("torch._C:_push_on_torch_function_stack", _COMPILE),
    "get_dispatch_mode": Borrowed("torch._C:_get_dispatch_mode", _FAKE),
    "FAKE": Borrowed("torch._C:_TorchDispatchModeKey.FAKE", _FAKE),
    "TensorBase": Borrowed("torch._C:TensorBase", "results that leave PyTorch as arrays and lists"),
    "compiled_guards": Borrowed("torch._C._dynamo:guards", _COMPILE),
    "RootGuardManager": Borrowed("torch._C._dynamo.guards:RootGuardManager", _COMPILE),
    "dynamo_config": Borrowed("torch._dynamo:config", _COMPILE),
    "convert_frame": Borrowed("torch._dynamo:convert_frame", _COMPILE),
    "dynamo_reset": Borrowed("torch._dynamo:reset", _COMPILE),
    "dynamo_utils": Borrowed("torch._dynamo:utils", _COMPILE),
    "TorchRuntimeError": Borrowed("torch._dynamo.exc:TorchRuntimeError", _COMPILE),
    "Unsupported": Borrowed("torch._dynamo.exc:Unsupported", _COMPILE),
    "dynamo_builder": Borrowed("torch._dynamo.variables:builder", _COMPILE),
    "TensorVariable": Borrowed("torch._dynamo.variables.tensor:TensorVariable", _COMPILE),
    "device_interface": Borrowed("torch._dynamo:device_interface", _COMPILE),
    "CudaInterface": Borrowed("torch._dynamo.device_interface:CudaInterface", _COMPILE),
    "make_boxed_func": Borrowed("torch._functorch.aot_autograd:make_boxed_func", _COMPILE),
    "TracingContext": Borrowed("torch._guards:TracingContext", _COMPILE),
    "kernel_side_table": Borrowed("torch._higher_order_ops.triton_kernel_wrap:kernel_side_table", _COMPILE),
    "compile_fx": Borrowed(f"{_INDUCTOR}:compile_fx", _COMPILE),
    "compile_fx_inner": Borrowed(f"{_INDUCTOR}.compile_fx:compile_fx_inner", _COMPILE),
    "inductor_config": Borrowed(f"{_INDUCTOR}:config", _COMPILE),
    "inductor_debug": Borrowed(f"{_INDUCTOR}:debug", _COMPILE),
    "CachingAutotuner": Borrowed(f"{_INDUCTOR}.runtime.triton_heuristics:CachingAutotuner", _COMPILE),
    "GridExpr": Borrowed(f"{_INDUCTOR}.runtime.triton_heuristics:GridExpr", _COMPILE),
    "DeviceProperties": Borrowed(f"{_INDUCTOR}.runtime.hints:DeviceProperties", _COMPILE),
    "triton_helpers": Borrowed(f"{_INDUCTOR}.runtime:triton_helpers", _COMPILE),
    "utils_triton": Borrowed("torch.utils:_triton", _COMPILE),
    "disable_current_modes": Borrowed("torch.utils._python_dispatch:_disable_current_modes", _COMPILE),
    "fake_tensor": Borrowed("torch._subclasses:fake_tensor", _FAKE),
    "FakeTensor": Borrowed("torch._subclasses.fake_tensor:FakeTensor", _FAKE),
    "FakeTensorConverter": Borrowed("torch._subclasses.fake_tensor:FakeTensorConverter", _FAKE),
    "normalize_fake_device": Borrowed("torch._subclasses.fake_tensor:FakeTensor._normalize_fake_device", _FAKE),
    "meta_utils": Borrowed("torch._subclasses:meta_utils", _FAKE),
    "OPDEFS": Borrowed("torch._library.custom_ops:OPDEFS", _CUSTOM),
    "library_triton": Borrowed("torch._library:triton", _CUSTOM),
    "library_destroy": Borrowed("torch.library:Library._destroy", _CUSTOM),
    "scoped_library": Borrowed("torch.library:_scoped_library", "products in half precision on a simulated GPU"),
    "package_registry": Borrowed("torch.serialization:_package_registry", "torch.load on a simulated GPU"),
    "DeviceContext": Borrowed("torch.utils._device:DeviceContext", "torch.device as a context on a simulated GPU"),
    "device_constructors": Borrowed("torch.utils._device:_device_constructors", "functions that take device="),
    "index_put_impl": Borrowed("torch:ops.aten._index_put_impl_", "half precision on a simulated GPU"),
    "tree_map_only": Borrowed("torch.utils._pytree:tree_map_only", "CUDA graphs on a simulated GPU"),
    "pin_memory": Borrowed("torch.utils.data._utils:pin_memory", "a DataLoader with pin_memory=True"),
    "pin_memory_loop": Borrowed("torch.utils.data._utils.pin_memory:_pin_memory_loop", "the same"),
}

# Modules of Triton that its documentation leaves out, by what rests on them: the emulator stands in the interpreter's
# place. `runner` asks them for launches and targets, too.
UNDOCUMENTED = {
    "triton.runtime.interpreter": "the emulator; that a PyTorch answer launches no kernel; plans of isolated answers",
    "triton.runtime.jit": "kernels on a simulated and on a watched GPU; a launch as data",
    "triton.runtime.autotuner": "each configuration of an autotuned kernel",
    "triton.runtime.errors": "an error of the interpreter's that a test expects",
    "triton.compiler": _COMPILER,
    "triton.compiler.errors": "an assertion that the compiler refuses, in the emulator",
    "triton.compiler.code_generator": "what the emulator refuses because the compiler does",
    "triton.backends.compiler": _COMPILER,
    "triton.backends.amd.compiler": _COMPILER,
    "triton.backends.nvidia": "where NVIDIA's disassembler is, which Triton brings along",
    "triton.backends.nvidia.compiler": _COMPILER,
    "triton.language.semantic": "operations of the language in the emulator",
    "triton.language.target_info": "a kernel that asks for its GPU",
    "triton.tools.tensor_descriptor": "tensor descriptors in the emulator",
    "triton.knobs": _COMPILER,
}
# What the emulator replaces or calls in Triton's interpreter, by where it is.
INTERPRETER = {
    _INTERPRETER: (
        "interpreter_builder",
        "interpreter_semantic",
        "GridExecutor",
        "InterpretedFunction",
        "FunctionRewriter",
        "ReduceOps",
        "ScanOps",
        "_patch_lang",
        "InterpreterError",
        "_patch_lang_tensor",
        "_patch_lang_core",
        "_implicit_cvt",
        "_get_np_dtype",
    ),
    f"{_INTERPRETER}:GridExecutor": ("__call__", "_init_args_hst", "_restore_args_dev"),
    f"{_INTERPRETER}:InterpretedFunction": ("rewrite", "rewritten_fn", "__call__"),
    f"{_INTERPRETER}:FunctionRewriter": ("ast_transformer", "rewrite_ast"),
    f"{_INTERPRETER}:ReduceOps": ("apply_impl", "to_tensor"),
    f"{_INTERPRETER}:ScanOps": ("apply_impl", "to_tensor"),
    "triton.runtime.autotuner:Autotuner": ("run", "_bench"),
}


def __getattr__(name: str) -> Any:
    """A name of `NAMES`. Raises ImportError, with what does not work, where its library has it no longer."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, without = NAMES[name]
    try:
        return at(home)
    except (ImportError, AttributeError):
        raise ImportError(
            f"PyTorch {version('torch')} and Triton {version('triton')} have no {home.replace(':', '.')} any more, "
            f"without which there is no judging of: {without}. Install PyTorch 2.13 and Triton 3.7, or a newer "
            "graded-kernels."
        ) from None


def at(home: str) -> Any:
    """Returns what ``module:attribute`` names, or ``module``. Raises ImportError, AttributeError."""
    module, _, attributes = home.partition(":")
    value: Any = importlib.import_module(module)
    for attribute in filter(None, attributes.split(".")):
        if isinstance(value, ModuleType) and not hasattr(value, attribute):
            importlib.import_module(f"{value.__name__}.{attribute}")
        value = getattr(value, attribute)
    return value


def schema(operator: Any) -> Any:
    """Returns what an operator of ATen's, as a dispatch mode gets it, takes, returns and changes in place."""
    return operator._schema


def function_on_cuda(custom: Any) -> Any:
    """Returns what a ``torch.library.custom_op`` runs for CUDA; None where it has nothing for it."""
    return custom._backend_fns.get("cuda") or custom._backend_fns.get(None)


def on_host(executor: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a `GridExecutor`'s launch, those in a device's memory as copies in this machine's."""
    return dict(executor._init_args_hst((), arguments)[1])


def restore_on_device(executor: Any, arguments: dict[str, Any], copies: dict[str, Any]) -> None:
    """Copies what `on_host` made back to the device."""
    executor._restore_args_dev((), (), arguments, copies)
