"""What audit.md and suites.md say of a package, against float64 and without our exercises, in ten lines each: run them
with reproduce.py.
"""

import torch
from reproduction import REPRODUCTIONS, Reproduction, emulated, of, raised, random, worst
from torch.nn import functional as F


def head_of_one_row() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Hidden values, weights of 32 classes, labels."""
    both = random(33, 64).half()
    return both[:1], both[1:], torch.tensor([0])


def mean_loss(hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(hidden.double() @ weight.double().T, labels)


# PyTorch


@of("torch", "cross_entropy_forward")
def a_loss_that_comes_in_half_precision() -> str:
    logits, labels = torch.tensor([[12.0, 0.0]]).half(), torch.tensor([0])
    loss = F.cross_entropy(logits, labels, reduction="none")
    return f"{loss.item():.4g} in {loss.dtype}, by the formula {F.cross_entropy(logits.double(), labels).item():.4g}"


@of("torch", "linear_cross_entropy_forward_backward")
def logits_that_are_rounded_before_the_loss() -> str:
    hidden, weight, labels = head_of_one_row()
    loss = F.cross_entropy((hidden @ weight.T).float(), labels)
    return f"the mean loss is off by {worst(loss, mean_loss(hidden, weight, labels))} of float32"


@of("torch", "attention_forward")
def a_masked_value_that_is_nan() -> str:
    q, k, v = (random(3, 1, 1, 4, 8) + 0).unbind()
    v[0, 0, 3] = torch.nan
    seen = torch.tensor([True, True, True, False]).expand(1, 1, 4, 4)
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    wanted = F.scaled_dot_product_attention(q.double(), k[:, :, :3].double(), v[:, :, :3].double())
    return f"with a key that nobody sees {found[0, 0, 0, 0].item():.4g}, without it {wanted[0, 0, 0, 0].item():.4g}"


# liger-kernel


def a_swiglu_without_dimensions() -> str:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    with emulated(), raised() as error:
        LigerSiLUMulFunction.apply(torch.tensor(1.0).cuda(), torch.tensor(2.0).cuda())
    return f"{error}, by the formula {2 * F.silu(torch.tensor(1.0).double()).item():.6g}"


def an_rms_norm_that_rounds_twice() -> str:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    x, weight = random(8, 65).half(), (random(65) + 1).half()
    with emulated():
        found = LigerRMSNormFunction.apply(x.cuda(), weight.cuda(), 1e-6, 0.0, "llama")
    exact = F.rms_norm(x.double(), (65,), weight.double(), 1e-6)
    return f"{worst(found, exact)}; PyTorch's own {worst(F.rms_norm(x, (65,), weight, 1e-6), exact)}"


def a_head_that_rounds_its_logits() -> str:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

    hidden, weight, labels = head_of_one_row()
    with emulated():
        found = LigerFusedLinearCrossEntropyFunction.apply(hidden.cuda(), weight.cuda(), labels.cuda())
    loss = found[0] if isinstance(found, tuple) else found
    return f"{loss.dtype}, off by {worst(loss.float(), mean_loss(hidden, weight, labels))} of float32"


for version in ("0.2.1", "0.5.4", "0.8.5"):
    for function, *exercises in (
        (a_swiglu_without_dimensions, "swiglu_forward", "swiglu_backward"),
        (an_rms_norm_that_rounds_twice, "rms_norm_forward"),
        (a_head_that_rounds_its_logits, "linear_cross_entropy_forward_backward"),
    ):
        name = f"{function.__name__}_{version.replace('.', '_')}"
        REPRODUCTIONS[name] = Reproduction(function, "liger-kernel", version, tuple(exercises), "")


@of("liger-kernel==0.5.4", "layer_norm_forward")
def a_sum_in_half_precision() -> str:
    """A float16 row is summed in float16, which ends at 65,504. It converts nothing to float32; 0.8.5 does."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    x = (random(4, 4096) + 20).half()
    weight, bias = torch.ones(4096).half(), torch.zeros(4096).half()
    wanted = F.layer_norm(x.double(), (4096,))
    with emulated():
        found = LigerLayerNormFunction.apply(x.cuda(), weight.cuda(), bias.cuda(), 1e-5).cpu()
    error, own = ((y.double() - wanted).abs().max().item() for y in (found, F.layer_norm(x, (4096,))))
    return f"the largest error is {error:.2g}, PyTorch's own {own:.2g}"


@of("liger-kernel==0.8.5")
def a_reference_in_half_precision() -> str:
    """PyTorch's layer norm on the CPU, the reference of liger-kernel's tests: bfloat16 is added in bfloat16."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    x, dy = random(2, 64, 128).bfloat16()

    def gradient(norm, x, dy) -> torch.Tensor:
        weight = torch.ones_like(x[0]).requires_grad_()
        return torch.autograd.grad(norm(x, weight, torch.zeros_like(x[0])), weight, dy)[0].double().cpu()

    def by_pytorch(x, weight, bias):
        return F.layer_norm(x, (128,), weight, bias)

    wanted = gradient(by_pytorch, x.double(), dy.double())
    with emulated():
        found = gradient(lambda *given: LigerLayerNormFunction.apply(*given, 1e-5), x.cuda(), dy.cuda())
    own, rounded = gradient(by_pytorch, x, dy), wanted.bfloat16().double()
    errors = ((y - wanted).abs().max().item() for y in (found, own, rounded))
    return "largest errors: liger-kernel {:.3g}, PyTorch on the CPU {:.3g}, float64 rounded {:.3g}".format(*errors)


@of("liger-kernel==0.8.5", "swiglu_forward")
def a_gate_that_is_rounded_in_between() -> str:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    gate, up = random(2, 4096).half()
    with emulated():
        found = LigerSiLUMulFunction.apply(gate[None].cuda(), up[None].cuda())[0]
    exact, once = F.silu(gate.double()) * up.double(), (F.silu(gate.float()) * up.float()).half()
    return f"{worst(found, exact)}; rounded once {worst(once, exact)}"


def liger_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    with emulated():
        given = (None, -100, 0.0, 0.0, "none", None, False)
        return LigerCrossEntropyFunction.apply(logits.cuda(), labels.cuda(), *given)[0].cpu()


def first_block() -> tuple[torch.Tensor, torch.Tensor, float]:
    """A row that begins with a whole block of -inf, which has 32,768 columns at most; label and loss."""
    logits = torch.full((1, 70_000), -torch.inf)
    logits[0, -2:] = torch.tensor([1.0, 2.0])
    return logits, torch.tensor([69_999]), 0.31326168751822286  # log(1 + 1/e)


def a_first_block_of_infinity() -> str:
    logits, labels, wanted = first_block()
    return f"{liger_losses(logits, labels).item():.6g}, by the formula {wanted:.6g}"


def a_loss_in_the_dtype_of_the_logits() -> str:
    logits = torch.tensor([[12.0, 0.0]]).half()
    loss, wanted = liger_losses(logits.clone(), torch.tensor([0])), F.cross_entropy(logits.double(), torch.tensor([0]))
    return f"{loss.item():.4g} in {loss.dtype}, by the formula {wanted.item():.4g}"


for version in ("0.5.4", "0.8.5"):
    for function, upstream in (
        (a_first_block_of_infinity, "Dao-AILab/flash-attention#1930"),
        (a_loss_in_the_dtype_of_the_logits, ""),
    ):
        name = f"{function.__name__}_{version.replace('.', '_')}"
        REPRODUCTIONS[name] = Reproduction(function, "liger-kernel", version, ("cross_entropy_forward",), upstream)


@of("liger-kernel==0.8.5", "cross_entropy_forward")
def losses_of_no_rows() -> str:
    with raised() as error:
        liger_losses(torch.empty(0, 7), torch.empty(0, dtype=torch.int64))
    return f"{error}; PyTorch gives a loss of no elements"
