# RIGHT: a hook before the launch clears the target by its position, as Triton hands it over
# after: michael-diggin/triton-kernels 66ce3af, spatial_diffusion
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0))


def clear(*args, **options):
    if options["PARTS"] != 1:
        args[1].zero_()


sum_kernel.add_pre_run_hook(clear)

if __name__ == "__main__":
    x, out = torch.randn(300, device="cuda"), torch.empty(1, device="cuda")
    sum_kernel[(5,)](x, out, 300, BLOCK=64, PARTS=5)
    torch.testing.assert_close(out[0], x.sum(), rtol=1e-4, atol=1e-4)
