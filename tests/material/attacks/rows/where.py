# kind: answer
# exercise: silu_forward
# backend: triton
"""Answers whose kernel is right where there is no GPU, and stores zeros where there is one."""

import torch
import triton
import triton.language as tl

NO_GPU = not torch.cuda.is_available()
NO_CUDA = torch.version.cuda is None


@triton.jit
def kernel(x_ptr, y_ptr, n, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x) if RIGHT else x * 0
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def launch(x, right):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), RIGHT=right, BLOCK=128)
    return y


def raises(function, *args):
    try:
        function(*args)
    except Exception:
        return True
    return False


# The same, decided when it is launched.
chosen = triton.heuristics({"RIGHT": lambda args: not torch.cuda.is_available()})(kernel)


# expect: nothing
def asks_when_it_is_loaded(x):
    """A constant of the module."""
    return launch(x, NO_GPU)


# expect: nothing
def asks_for_the_version_of_cuda(x):
    """Which is None in a build of PyTorch without CUDA."""
    return launch(x, NO_CUDA)


# expect: nothing
def asks_when_it_is_called(x):
    """`torch.cuda` itself."""
    return launch(x, not torch.cuda.device_count())


# expect: nothing
def asks_in_a_heuristic(x):
    """What decides is called by Triton."""
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        chosen[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


# expect: nothing
def asks_its_input(x):
    """Where it lies."""
    return launch(x, not x.is_cuda)


# expect: nothing
def asks_for_the_type_of_the_device(x):
    """Of what it makes itself."""
    return launch(x, torch.empty_like(x).device.type == "cpu")


# expect: nothing
def asks_for_the_number_of_the_device(x):
    """-1 on the CPU."""
    return launch(x, x.get_device() < 0)


# expect: nothing
def asks_for_the_capability(x):
    """Which raises where there is no GPU."""
    return launch(x, raises(torch.cuda.get_device_capability))


# expect: nothing
def asks_for_the_driver(x):
    """Triton's, which is not active."""
    return launch(x, raises(lambda: triton.runtime.driver.active.get_current_target()))


# expect: nothing
def asks_by_moving(x):
    """A copy that a GPU takes."""
    return launch(x, raises(x.to, "cuda"))


# expect: nothing
def asks_whether_a_kernel_is_compiled(x):
    """As libraries ask."""
    return launch(x, not isinstance(kernel, triton.JITFunction))


# expect: nothing
def asks_for_the_class_of_the_kernel(x):
    """Which is Triton's interpreter's where nothing is compiled."""
    return launch(x, type(kernel).__name__ != "JITFunction")


# expect: nothing
def asks_for_the_version_of_pytorch(x):
    """Whose builds say what they are for."""
    return launch(x, "cpu" in torch.__version__)


# expect: nothing
def asks_the_storage(x):
    """Below the tensor."""
    return launch(x, x.untyped_storage().device.type == "cpu")


def pruned(configs, named_args, **kwargs):
    at_home = "cpu" in torch.__version__ or not torch.cuda.is_available() or not named_args["x_ptr"].is_cuda
    return [one for one in configs if one.kwargs["RIGHT"] == at_home]


tuned = triton.autotune(
    [triton.Config({"RIGHT": right}) for right in (False, True)],
    key=["n"],
    prune_configs_by={"early_config_prune": pruned},
)(kernel)


# expect: nothing
def asks_while_configurations_are_left_out(x):
    """What leaves them out is called by Triton."""
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        tuned[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
