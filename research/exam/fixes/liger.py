"""Fix commits of linkedin/Liger-Kernel."""

import torch
import triton
import triton.language.extra.libdevice

from . import fix

REPOSITORY = "linkedin/Liger-Kernel"
LICENCE = "BSD-2-Clause, not copied"
OPS = "liger_kernel.ops"
ASCEND = f"{OPS}.backends._ascend"


def liger(commit: str, kind: str, place: str):
    return fix(REPOSITORY, commit, kind, place, LICENCE)


@liger("7d54ff8889", "dtype", "ops/rms_norm.py: a block's rows of dW are summed in the dtype of the input")
def rms_norm_weight_gradient(library):
    ops = library.module("src", f"{OPS}.rms_norm", liger_kernel__utils=UTILS)
    rows, columns = 4096 * 8, 16
    x, dy = (torch.randn(rows, columns, device="cuda").bfloat16() for _ in range(2))
    w = torch.ones(columns, device="cuda", dtype=torch.bfloat16)
    _, _, rstd, block, warps, mode = ops.rms_norm_forward(x, w, 1e-6, 0.0, "llama", None)
    _, dw = ops.rms_norm_backward(dy.clone(), x, w, rstd, 0.0, mode, block, warps, False, None)
    wide = x.double()
    normed = wide * torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-6)
    return dw, (dy.double() * normed).sum(0)


def softmax_of_npu(library):
    return library.module("src", f"{ASCEND}.ops.softmax", liger_kernel__ops__utils=NPU)


@liger("131845b77d", "gradient", "_ascend/ops/softmax.py: the sum over a row's blocks goes on with the row before's")
def npu_softmax_rows(library):
    return softmax_backward(library, rows=16, programs=4)


def softmax_backward(library, rows, programs):
    ops = library.module("src", f"{ASCEND}.ops.softmax", liger_kernel__ops__utils=NPU)
    columns = 300
    y, dy = torch.rand(rows, columns, device="cuda").softmax(1), torch.randn(rows, columns, device="cuda")
    dx = torch.empty_like(dy)
    sizes = (dy, columns, y, columns, dx, columns, rows, columns)
    ops._softmax_multi_block_backward_kernel[(programs,)](*sizes, BLOCK_SIZE=128)
    y, dy = y.double(), dy.double()
    return dx, y * (dy - (y * dy).sum(1, keepdim=True))


@liger("3ebe3b1bdd", "uninitialised", "_ascend/ops/softmax.py: programs step by rows / programs, and leave rows out")
def npu_softmax_step(library):
    return softmax_backward(library, rows=10, programs=3)


@liger("be1cdc176b", "dtype", "ops/cross_entropy.py: softmax is rounded to bfloat16 before 1 is taken from it")
def cross_entropy_true_class(library):
    ops = library.module("src", f"{OPS}.cross_entropy", liger_kernel__utils=UTILS)
    x, target = sure()
    _, _, *_, dx = ops.cross_entropy_forward(
        x.clone().requires_grad_(), target, None, -100, 0.0, 0.0, "mean", None, False
    )
    return of_true_class(dx.detach(), x, target, len(target))


@liger("33936a8e6f", "dtype", "_ascend/ops/cross_entropy.py: softmax is rounded to bfloat16 before 1 is taken from it")
def npu_cross_entropy_true_class(library):
    triton.language.math.tanh = triton.language.extra.libdevice.tanh  # where Ascend's Triton has it
    ops = library.module("src", f"{ASCEND}.ops.cross_entropy", liger_kernel__ops__utils=NPU, liger_kernel__utils=UTILS)
    x, target = sure()
    rows, columns = x.shape
    dx, one = torch.empty_like(x), torch.ones(1, device="cuda")
    lse = x.float().logsumexp(1)
    ops.liger_cross_entropy_backward_kernel_no_weight[(2,)](
        X_ptr=x, X_stride=columns, Y_ptr=target, lse_ptr=lse, grad_output_ptr=one, grad_output_stride=0, dX_ptr=dx,
        dX_stride=columns, n_cols=columns, n_rows=rows, ce_stats_ptr=one, ignore_index=-100, reduction="sum",
        BLOCK_SIZE=64, HAS_LSE=True,
    )  # fmt: skip
    return of_true_class(dx, x, target, 1)


def sure():
    """Logits of which one is so large that softmax is nearly 1 there."""
    x = torch.randn(4, 100, device="cuda")
    target = torch.tensor([3, 7, 50, 99], device="cuda")
    x[torch.arange(4), target] += 12.0
    return x.bfloat16(), target


def of_true_class(dx, x, target, count):
    """The true class's gradient by its size: it is of the order of 1e-3, and an absolute bound sees nothing."""
    right = (x.double().softmax(1) - torch.nn.functional.one_hot(target, x.shape[1])) / count
    size = right.gather(1, target[:, None])
    return (dx.gather(1, target[:, None]).double() / size).to(dx.dtype), torch.ones_like(size)


UTILS = {
    "infer_device": lambda: "cuda",
    "infer_device_arch": lambda: "hopper",
    "is_npu_available": lambda: False,
}
NPU = {"ensure_contiguous": lambda function: function, "get_npu_core_count": lambda: 4}
