# kind: answer
# exercise: silu_backward
# backend: torch
"""PyTorch differentiates, where the derivative is the exercise."""

import threading

import torch
from torch.autograd import forward_ad
from torch.func import vjp as pull_back
from torch.utils._python_dispatch import _disable_current_modes


# expect: nothing
# trouble: refused
def autograd(dy, x):
    """Lets PyTorch differentiate, where the derivative is the exercise."""
    v = x.detach().clone().requires_grad_()
    (v * torch.sigmoid(v)).backward(dy)
    return v.grad


# expect: nothing
def thread(dy, x):
    """Computes in a thread, where a watch on operators does not look."""
    result = []

    def work():
        v = x.detach().clone().requires_grad_()
        torch.nn.functional.silu(v).backward(dy)
        result.append(v.grad)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return result[0]


ENGINE = torch.autograd.Variable._execution_engine


# expect: nothing
# trouble: refused
def engine_called_directly(dy, x):
    """Differentiates with PyTorch's engine itself: no function of torch.autograd is called."""
    v = x.detach().float().requires_grad_()
    y = v * torch.sigmoid(v)
    (dx,) = ENGINE.run_backward((y,), (dy.float(),), False, False, (v,), allow_unreachable=True, accumulate_grad=False)
    return dx.to(x.dtype)


# expect: nothing
def engine_behind_the_modes(dy, x):
    """Differentiates with PyTorch's engine itself, while nothing watches."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        v = x.detach().float().requires_grad_()
        y = v * torch.sigmoid(v)
        (dx,) = ENGINE.run_backward(
            (y,), (dy.float(),), False, False, (v,), allow_unreachable=True, accumulate_grad=False
        )
        return dx.to(x.dtype)


# expect: nothing
# trouble: refused
def gradient_function_called(dy, x):
    """Calls the functions of the graph one by one, without the engine."""
    v = x.detach().float().requires_grad_()
    y = v * torch.sigmoid(v)
    straight, into = y.grad_fn(dy.float())
    through = y.grad_fn.next_functions[1][0](into)
    return (straight + through).detach().to(x.dtype)


# expect: nothing
# trouble: refused
def forward_mode(dy, x):
    """Differentiates forward, with dual numbers: elementwise that is the same."""
    with forward_ad.dual_level():
        v = forward_ad.make_dual(x.detach().float(), dy.detach().float())
        return forward_ad.unpack_dual(v * torch.sigmoid(v)).tangent.to(x.dtype)


# expect: nothing
def forward_mode_behind_the_modes(dy, x):
    """Differentiates forward, with dual numbers, while nothing watches."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), forward_ad.dual_level():
        v = forward_ad.make_dual(x.detach().float(), dy.detach().float())
        return forward_ad.unpack_dual(v * torch.sigmoid(v)).tangent.to(x.dtype)


# expect: nothing
def transformed_function(dy, x):
    """Differentiates with torch.func, which has another name for everything."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        _, back = pull_back(lambda v: v * torch.sigmoid(v), x.detach().float())
        return back(dy.float())[0].to(x.dtype)


@torch.jit.script
def silu(x):
    return x * torch.sigmoid(x)


# expect: nothing
def scripted_gradient(dy, x):
    """Has TorchScript differentiate, which does it without PyTorch's autograd."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        for _ in range(3):
            v = x.detach().float().requires_grad_()
            y = silu(v)
        return torch.autograd.grad(y, v, dy.float())[0].to(x.dtype)
