"""One small kernel, run as ``python -P one_kernel.py interpret | compile | device`` says. Fails with a traceback.

`doctor` starts it by its path, in a process of its own: a broken Triton cannot crash the doctor, and whether Triton
interprets is decided by the environment in which it is first imported.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, 2 * x, mask=mask)


def run(device: str) -> None:
    """Launches the kernel. Raises SystemExit where its result is wrong."""
    x = torch.arange(100, dtype=torch.float32, device=device)
    y = torch.zeros_like(x)
    double_kernel[(2,)](x, y, 100, BLOCK=64)
    if not y.equal(2 * x):
        raise SystemExit("a kernel that doubles gave a wrong result")


def compile_ahead() -> None:
    """Compiles the kernel for an sm_80 without a GPU. Raises what Triton raises."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=double_kernel, signature=signature, constexprs={"BLOCK": 64})
    triton.compile(source, target=GPUTarget("cuda", 80, 32))


{"interpret": lambda: run("cpu"), "compile": compile_ahead, "device": lambda: run("cuda")}[sys.argv[1]]()
