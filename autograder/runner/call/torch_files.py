"""Says which files of PyTorch an answer may pass through: those that pass calls on, and those that compute nothing.

PyTorch has many functions a second time, composed in Python of basic operators (`torch._decomp`, `torch._refs`,
`torch.masked`, `torch.optim`, `torch.distributions`): what they call is permitted, and what they compute is the answer.
They have no end (ONNX's attention, the optimizers' formulas, references of tests), so the lists say what is none.
"""

# Methods and functions that prepare arguments, decorators, modules, autograd, transforms, printing: they may stand
# between an answer and an operator.
_PASSING_ON = (
    *("__init__.py", "_VF.py", "_classes.py", "_compile.py", "_jit_internal.py", "_ops.py", "_tensor.py"),
    *("_tensor_str.py", "_utils.py", "_vmap_internals.py", "functional.py", "library.py", "overrides.py", "random.py"),
    *("return_types.py", "storage.py", "_library/", "amp/", "autograd/", "jit/", "profiler/", "cuda/amp/"),
    *("_dynamo/decorators.py", "_dynamo/eval_frame.py", "_dynamo/external_utils.py", "_functorch/apis.py"),
    *("_functorch/autograd_function.py", "_functorch/eager_transforms.py", "_functorch/functional_call.py"),
    *("_functorch/predispatch.py", "_functorch/pyfunctorch.py", "_functorch/utils.py", "_functorch/vmap.py"),
    *("nn/functional.py", "nn/init.py", "nn/modules/", "nn/parameter.py", "nn/utils/parametrize.py"),
    *("nn/utils/stateless.py", "utils/_contextlib.py", "utils/_device.py", "utils/_python_dispatch.py"),
    *("utils/_pytree.py", "utils/checkpoint.py", "utils/hooks.py"),
)
# What asks, sets up, compiles, saves, reports: none of it computes a result, so it may be there, and may not stand
# between an answer and an operator.
_APART = (
    *("__config__.py", "__future__.py", "_environment.py", "_guards.py", "_meta_registrations.py", "_opaque_base.py"),
    *("_size_docs.py", "_sources.py", "_storage_docs.py", "_streambase.py", "_tensor_docs.py", "_torch_docs.py"),
    *("_utils_internal.py", "_weights_only_unpickler.py", "hub.py", "serialization.py", "torch_version.py"),
    *("types.py", "version.py", "_C/", "_awaits/", "_custom_op/", "_custom_ops.py", "_decomp/__init__.py"),
    *("_inductor/__init__.py", "_inductor/compiler_bisector.py", "_inductor/config.py"),
    *("_inductor/custom_graph_pass.py", "_inductor/standalone_compile.py", "_inductor/runtime/__init__.py"),
    *("_inductor/runtime/cache_dir_utils.py", "distributed/__init__.py", "distributed/autograd/"),
    *("distributed/constants.py", "distributed/device_mesh.py", "distributed/distributed_c10d.py", "distributed/rpc/"),
    *("_dispatch/", "_dynamo/", "_export/utils.py", "_functorch/", "_higher_order_ops/__init__.py"),
    *("_higher_order_ops/triton_kernel_wrap.py", "_higher_order_ops/utils.py", "_lazy/", "_logging/", "_native/"),
    *("_prims_common/", "_strobelight/", "_subclasses/__init__.py", "_subclasses/_fake_tensor_utils.py"),
    *("_subclasses/fake_impls.py", "_subclasses/fake_tensor.py", "_subclasses/fake_utils.py"),
    *("_subclasses/functional_tensor.py", "_subclasses/meta_utils.py", "_subclasses/schema_check_mode.py"),
    *("_vendor/", "accelerator/", "backends/", "bin/", "compiler/", "cpu/"),
    *("cuda/", "fft/", "func/", "futures/", "fx/", "linalg/", "monitor/", "mps/", "mtia/", "multiprocessing/"),
    *("nn/__init__.py", "nn/_reduction.py", "nn/attention/__init__.py", "nn/attention/bias.py", "nn/backends/"),
    *("nn/common_types.py", "nn/utils/__init__.py", "package/", "special/", "testing/__init__.py"),
    *("testing/_comparison.py", "testing/_creation.py", "testing/_utils.py", "utils/", "xpu/"),
    *("include/", "lib/", "share/"),
)


def passes_on(file: str) -> bool:
    """Returns whether a file, named within PyTorch's folder, may stand between an answer and an operator."""
    return file.startswith(_PASSING_ON)


def composes(file: str) -> bool:
    """Returns whether a file, named within PyTorch's folder, may compute what an answer has to write."""
    return not file.startswith((*_PASSING_ON, *_APART))


def leads_on(folder: str) -> bool:
    """Returns whether a folder, named within PyTorch's own and with a slash at its end, holds some files that do not
    compose and some that may.
    """
    return composes(folder) and any(part.startswith(folder) for part in (*_PASSING_ON, *_APART))
