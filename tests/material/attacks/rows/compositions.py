# kind: answer
# exercise: silu_backward
# backend: torch
"""What PyTorch composes of basic operators, called where no watch looks."""

import importlib
import importlib.util
import inspect
import sys
import types

import torch
from torch._decomp import decomposition_table, decompositions
from torch._refs import native_layer_norm
from torch.optim.adamw import adamw as step_of_adamw
from torch.utils._python_dispatch import _disable_current_modes


# exercise: gelu_backward
# expect: nothing
def gelu_backward_without_modes(dy, x, approximate="none"):
    """Switches the watch off, and calls the composition that PyTorch has for its compiler."""
    with _disable_current_modes():
        return decompositions.gelu_backward(dy.float(), x.float(), approximate=approximate).to(x.dtype)


# exercise: layer_norm_forward
# expect: nothing
def layer_norm_forward_without_modes(x, weight, bias, eps=1e-5):
    """The same with PyTorch's reference of a layer norm."""
    with _disable_current_modes():
        y, mean, rstd = native_layer_norm(x.float(), [x.shape[1]], weight.float(), bias.float(), eps)
        return y.to(x.dtype), mean.squeeze(1), rstd.squeeze(1)


# exercise: layer_norm_backward
# expect: nothing
def layer_norm_backward_without_modes(dy, x, weight, mean, rstd):
    """The same with the composition of its gradient."""
    given = dy.float(), x.float(), [x.shape[1]], mean.unsqueeze(1), rstd.unsqueeze(1), weight.float(), weight.float()
    with _disable_current_modes():
        dx, dweight, dbias = decompositions.native_layer_norm_backward(*given, [True, True, True])
        return dx.to(x.dtype), dweight.to(weight.dtype), dbias.to(weight.dtype)


# exercise: masked_softmax_backward
# expect: nothing
def masked_softmax_backward_without_modes(dy, y):
    """The same with the composition of a softmax's gradient."""
    with _disable_current_modes():
        return decompositions._softmax_backward_data(dy.float(), y.float(), 1, torch.float32).to(y.dtype)


# exercise: adamw_step
# expect: nothing
def adamw_step_by_the_optimizer(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """Switches the watch off, and has PyTorch's optimizer make the step."""
    count, w = torch.tensor(float(step) - 1), param.float()
    given = [w], [grad.float()], [m], [v], [], [count]
    factors = {"lr": lr, "weight_decay": weight_decay, "eps": eps, "beta1": beta1, "beta2": beta2}
    with _disable_current_modes():
        step_of_adamw(*given, foreach=False, amsgrad=False, maximize=False, **factors)
        param.copy_(w)


# expect: nothing
def renamed_question(dy, x):
    """Has the grader's question who calls an operator answered with "nobody"."""
    for name, module in list(sys.modules.items()):
        if name.endswith("runner.call.guards"):
            module.composed = lambda: ""
    return decomposition_table[torch.ops.aten.silu_backward.default](dy.float(), x.float()).to(x.dtype)


def renamed(function):
    """A function of the same code whose file has another name, with all that it calls."""
    inner = inspect.unwrap(function)
    if type(inner) is not types.FunctionType:
        return inner
    copy = types.FunctionType(
        inner.__code__.replace(co_filename="<mine>"), inner.__globals__, "mine", inner.__defaults__, inner.__closure__
    )
    copy.__kwdefaults__ = inner.__kwdefaults__
    return copy


# expect: nothing
def code_of_another_file(dy, x):
    """Gives the composition's code a file name of its own."""
    return renamed(decompositions.silu_backward)(dy.float(), x.float()).to(x.dtype)


# expect: nothing
def module_under_another_name(dy, x):
    """Loads PyTorch's file of compositions once more, as a module of its own, without its tables."""
    path = decompositions.__file__
    spec = importlib.util.spec_from_file_location("mine", path)
    module = importlib.util.module_from_spec(spec)
    table = sys.modules["torch._decomp"].register_decomposition
    sys.modules["torch._decomp"].register_decomposition = lambda *names, **options: lambda function: function
    try:
        with _disable_current_modes():
            spec.loader.exec_module(module)
            return module.silu_backward(dy.float(), x.float()).to(x.dtype)
    finally:
        sys.modules["torch._decomp"].register_decomposition = table


# expect: nothing
def module_again(dy, x):
    """Reads PyTorch's file of compositions, and runs one of its functions as its own."""
    text = open(decompositions.__file__).read()
    begin = text.index("def silu_backward(")
    function = text[begin : text.index("\n\n\n", begin)]
    space = {"Tensor": torch.Tensor, "aten": torch.ops.aten, "torch": torch}
    exec(function, space)
    return space["silu_backward"](dy.float(), x.float()).to(x.dtype)


# exercise: attention_forward
# expect: nothing
def attention_forward_for_onnx(q, k, v, key_lengths=None, causal=False, scale=None):
    """Imports what the worker has not: the reference of attention that PyTorch has for ONNX."""
    attention = importlib.import_module("torch.onnx.ops").attention
    with _disable_current_modes():
        o = attention(q.float(), k.float(), v.float(), is_causal=causal, scale=scale)[0]
        return o.to(q.dtype), torch.zeros(q.shape[:3])
