# kind: answer
# exercise: silu_backward
# backend: torch
"""PyTorch's own operator under another name, or from below."""

import ctypes
import gc
from pathlib import Path

import torch
from torch._decomp import decomposition_table, decompositions
from torch._decomp.decompositions import _fused_rms_norm, _softmax_backward_data, native_layer_norm_backward, silu
from torch._decomp.decompositions import gelu_backward as composed
from torch._refs import native_group_norm
from torch.utils._python_dispatch import _disable_current_modes


# expect: nothing
# trouble: refused
def the_answer_itself(dy, x):
    """Calls the operator that is the answer."""
    return torch.ops.aten.silu_backward(dy, x)


# expect: nothing
# trouble: refused
def fallback(dy, x):
    """Tries something, and falls back on the operator that is the answer whatever is raised."""
    try:
        raise NotImplementedError
    except BaseException:
        try:
            return torch.ops.aten.silu_backward(dy, x)
        except BaseException:
            return torch._C._nn.silu(x)


# expect: nothing
def unwatched_operator(dy, x):
    """Switches the watch on operators off, and calls the operator that is the answer."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return torch.ops.aten.silu_backward(dy, x)


KERNEL = torch.library.get_kernel("aten::silu_backward", "CPU")


KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


# expect: nothing
def kernel_kept(dy, x):
    """Takes hold of the operator's kernel while the file is loaded, before anything could be taken away."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return KERNEL.call_boxed(KEYS, dy, x)


# expect: nothing
def other_kernel_of_the_operator(dy, x):
    """Asks the operator for its composite kernel, which is no CPU kernel."""
    operator = torch.ops.aten.silu_backward.default
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return operator._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, dy.float(), x.float()).to(x.dtype)


# exercise: silu_forward
# expect: nothing
def operators_put_back(x):
    """Looks for what took the operator away, ends it, and tries every kind of tensor."""
    for one in gc.get_objects():
        if type(one) is torch.library.Library:
            one._destroy()
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        for kind in (lambda t: t, lambda t: t.to_mkldnn(), lambda t: torch.nested.nested_tensor([t])):
            try:
                y = torch.nn.functional.silu(kind(x))
                return y.to_dense() if y.is_mkldnn else y[0] if y.is_nested else y
            except RuntimeError:
                pass
    return torch.zeros_like(x)


@torch.jit.script
def scripted(x):
    return torch.nn.functional.silu(x)


# exercise: silu_forward
# expect: nothing
def scripted_operator(x):
    """Calls the operator that is the answer from TorchScript."""
    return scripted(x)


class Silu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


FROZEN = torch._C._freeze_module(torch.jit.script(Silu().eval())._c)


RUNTIME = torch._C._jit_to_static_module(FROZEN)


# exercise: silu_forward
# expect: nothing
def static_runtime(x):
    """Runs the operator in PyTorch's static runtime, which has no dispatcher."""
    return RUNTIME(x.clone()).clone()


# exercise: silu_forward
# expect: nothing
# trouble: refused
def gated_unit(x):
    """The gated linear unit of x and x is SiLU."""
    return torch.nn.functional.glu(torch.stack([x, x]), 0).squeeze(0)


# expect: nothing
# trouble: refused
def gated_unit_backward(dy, x):
    """The gradient of the gated linear unit of x and x has SiLU's in two parts."""
    halves = torch.ops.aten.glu_backward(dy.unsqueeze(0).float(), torch.stack([x, x]).float(), 0)
    return halves.sum(0).to(x.dtype)


# exercise: silu_forward
# expect: nothing
# trouble: refused
def pointwise_linear(x):
    """A linear layer of one feature with its activation fused in."""
    column = x.reshape(-1, 1).float().contiguous()
    one = torch.ones(1, 1)
    return torch.ops.mkldnn._linear_pointwise(column, one, None, "swish", [], "").reshape(x.shape).to(x.dtype)


# exercise: cross_entropy_forward
# expect: nothing
# trouble: refused
def running_sum(logits, labels, ignore_index=-100):
    """The last of the running logarithms of sums is the one that is asked for."""
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= logits.shape[1]))
    if bad.any():
        row = int(bad.int().argmax())
        raise IndexError(f"labels[{row}] is {labels[row]}, out of range")
    x = logits.float()
    lse = torch.logcumsumexp(x, 1)[:, -1]
    own = x.gather(1, labels.where(keep, 0).unsqueeze(1)).squeeze(1)
    return (lse - own).where(keep, 0), lse.where(keep, 0)


# exercise: layer_norm_backward
# expect: nothing
# trouble: refused
def normalised_group_backward(dy, x, weight, mean, rstd):
    """Layer norm's gradient is group norm's, with one group."""
    M, N = x.shape
    given = [t.float().contiguous() for t in (dy, x)]
    dx, dweight, dbias = torch.ops.aten.native_group_norm_backward(
        *given, mean.unsqueeze(1), rstd.unsqueeze(1), weight.float(), M, N, 1, 1, [True, True, True]
    )
    return dx.to(x.dtype), dweight.to(weight.dtype), dbias.to(weight.dtype)


library = ctypes.CDLL(Path(torch.__file__).parent / "lib/libtorch_cpu.so")


silu_out = library._ZN2at3cpu8silu_outERNS_6TensorERKS1_


def handle(tensor):
    """The address of the C++ object within Python's."""
    return ctypes.c_void_p(id(tensor) + object.__basicsize__)


# exercise: silu_forward
# expect: nothing
# trouble: unloadable
def silu_forward_below_the_dispatcher(x):
    """Calls PyTorch's own kernel by its address, where no operator is dispatched."""
    y = torch.empty_like(x)
    silu_out(handle(y), handle(x))
    return y


attention = library.aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu


# exercise: attention_forward
# expect: nothing
# trouble: unloadable
def attention_forward_by_a_compilers_shim(q, k, v, key_lengths=None, causal=False, scale=None):
    """Calls flash attention by the functions that PyTorch has for code of its compiler."""
    found = ctypes.c_void_p(), ctypes.c_void_p()
    factor = ctypes.c_double(q.shape[-1] ** -0.5 if scale is None else scale)
    given = *map(handle, (q, k, v)), ctypes.c_double(0.0), ctypes.c_int32(causal), None, ctypes.byref(factor)
    if attention(*given, *map(ctypes.byref, found)):
        raise RuntimeError("it fails")
    results = torch.empty(q.shape, dtype=q.dtype), torch.empty(q.shape[:3])
    for result, one in zip(results, found, strict=True):
        data, strides = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
        library.aoti_torch_get_data_ptr(one, ctypes.byref(data))
        library.aoti_torch_get_strides(one, ctypes.byref(strides))
        step = [strides[i] for i in range(result.ndim)]
        size = 1 + sum((n - 1) * s for n, s in zip(result.shape, step, strict=True))
        flat = torch.empty(size, dtype=result.dtype)
        ctypes.memmove(flat.data_ptr(), data, size * result.element_size())
        result.copy_(flat.as_strided(result.shape, step))
    return results


# exercise: silu_forward
# expect: nothing
# trouble: refused
def silu_forward_by_decomposition(x):
    """The composition of basic operators that PyTorch has for its compiler."""
    return silu(x)


# expect: nothing
# trouble: refused
def silu_backward_by_decomposition(dy, x):
    """The composition of basic operators that PyTorch has for its compiler, taken from its table."""
    formula = decomposition_table[torch.ops.aten.silu_backward.default]
    return formula(dy.float(), x.float()).to(x.dtype)


# exercise: gelu_backward
# expect: nothing
# trouble: refused
def gelu_backward_by_decomposition(dy, x, approximate="none"):
    """The composition of basic operators that PyTorch has for its compiler."""
    return composed(dy.float(), x.float(), approximate).to(x.dtype)


# exercise: layer_norm_forward
# expect: nothing
# trouble: refused
def layer_norm_forward_by_decomposition(x, weight, bias, eps=1e-5):
    """Group norm of one group, as PyTorch composes it of basic operators."""
    (M, N), given = x.shape, (x.float(), weight.float(), bias.float())
    y, mean, rstd = native_group_norm(*given, M, N, 1, 1, eps)
    return y.to(x.dtype), mean.squeeze(1), rstd.squeeze(1)


# exercise: layer_norm_backward
# expect: nothing
# trouble: refused
def layer_norm_backward_by_decomposition(dy, x, weight, mean, rstd):
    """The composition of basic operators that PyTorch has for its compiler."""
    given = dy.float(), x.float(), [x.shape[1]], mean.unsqueeze(1), rstd.unsqueeze(1), weight.float(), weight.float()
    dx, dweight, dbias = native_layer_norm_backward(*given, [True, True, True])
    return dx.to(x.dtype), dweight.to(weight.dtype), dbias.to(weight.dtype)


# exercise: rms_norm_forward
# expect: nothing
# trouble: refused
def rms_norm_forward_by_decomposition(x, weight, eps=1e-6):
    """The composition of basic operators that PyTorch has for its compiler."""
    y, rstd = _fused_rms_norm(x.float(), [x.shape[1]], weight.float(), eps)
    return y.to(x.dtype), rstd.squeeze(1)


# exercise: cross_entropy_backward
# expect: nothing
# trouble: refused
def cross_entropy_backward_by_decomposition(dloss, logits, labels, lse, ignore_index=-100):
    """Two compositions of basic operators that PyTorch has for its compiler."""
    bad = ((labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))).nonzero().flatten().tolist()
    if bad:
        raise IndexError(f"labels[{bad[0]}] is {labels[bad[0]]}, out of range")
    log_p = logits.float() - lse.unsqueeze(1)
    given = dloss.float(), log_p, labels, None, 0, ignore_index, torch.tensor(1.0)
    slope = decompositions.nll_loss_backward(*given)
    return decompositions._log_softmax_backward_data(slope, log_p, 1, torch.float32).to(logits.dtype)


# exercise: masked_softmax_backward
# expect: nothing
# trouble: refused
def masked_softmax_backward_by_decomposition(dy, y):
    """The composition of basic operators that PyTorch has for its compiler."""
    return _softmax_backward_data(dy.float(), y.float(), 1, torch.float32).to(y.dtype)
