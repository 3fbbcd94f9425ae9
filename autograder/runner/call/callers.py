"""Which parts of PyTorch's own Python may stand between an answer and an operator: those that pass calls on.

PyTorch has many functions a second time, composed in Python of basic operators (`torch._decomp`, `torch._refs`,
`torch.masked`, `torch.optim`): what they call is permitted, and what they compute is the answer.
"""

import functools
import sys
from pathlib import Path
from types import FrameType

import torch

_TORCH = f"{Path(str(torch.__file__)).parent}/"
_RUNNER = f"{Path(__file__).parent / 'runner.py'}"  # which calls the answer

# Files and folders: methods and functions that prepare arguments, decorators, modules, autograd, transforms, printing.
_PASSING_ON = (
    *("__init__.py", "_VF.py", "_classes.py", "_compile.py", "_jit_internal.py", "_ops.py", "_tensor.py"),
    *("_tensor_str.py", "_utils.py", "_vmap_internals.py", "functional.py", "library.py", "overrides.py", "random.py"),
    *("return_types.py", "storage.py", "_library/", "amp/", "autograd/", "jit/", "profiler/", "cuda/amp/"),
    *("_dynamo/decorators.py", "_dynamo/eval_frame.py", "_dynamo/external_utils.py", "_functorch/apis.py"),
    *("_functorch/autograd_function.py", "_functorch/eager_transforms.py", "_functorch/functional_call.py"),
    *("_functorch/predispatch.py", "_functorch/pyfunctorch.py", "_functorch/utils.py", "_functorch/vmap.py"),
    *(
        "nn/functional.py",
        "nn/init.py",
        "nn/modules/",
        "nn/parameter.py",
        "nn/utils/parametrize.py",
        "nn/utils/stateless.py",
    ),
    *("utils/_contextlib.py", "utils/_device.py", "utils/_python_dispatch.py", "utils/_pytree.py"),
    *("utils/checkpoint.py", "utils/hooks.py"),
)


def composed() -> str:
    """The function of PyTorch that composes a result of the operator which is running and others, by its full name; ""
    where the answer calls the operator itself, or through what passes calls on.
    """
    names: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _RUNNER:
        if not _passes_on(frame.f_code.co_filename):
            names.append(f"{frame.f_globals.get('__name__', 'torch')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return next((name for name in reversed(names) if "<" not in name), names[-1] if names else "")


@functools.cache  # asked 7,296 times in a check of silu_backward in PyTorch, of whose later checks it saves 5 %
def _passes_on(file: str) -> bool:
    return not file.startswith(_TORCH) or file[len(_TORCH) :].startswith(_PASSING_ON)
