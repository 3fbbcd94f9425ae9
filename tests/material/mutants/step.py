"""A step of AdamW, a norm and a random rounding, broken: (why, old, new, the case that must see it)."""

ORDINARY, LONG = "ordinary values", "step 100,000"
NO_GRADIENT, SMALL, LARGE = "zero gradients, float16", "gradients of 1e-4, float16", "gradients of 300, float16"
EPSILON, DECAY = "a large epsilon", "a strong decay"

MUTANTS = {
    ("bias_correction", "torch"): (
        ("counts in bfloat16", "steps.double()", "steps.bfloat16().double().clamp(max=256)", "steps 250 to 2500"),
        ("counts in float16", "steps.double()", "steps.half().double()", "steps 250 to 2500"),
        ("has no root", ".sqrt()", "", "the first steps"),
        (
            "is upside down",
            "((1 - beta2**t).sqrt() / (1 - beta1**t))",
            "((1 - beta1**t) / (1 - beta2**t).sqrt())",
            ORDINARY,
        ),
        ("begins at 0", "t = steps.double()", "t = steps.double() + 1", "the first steps"),
        ("ignores beta1", "beta1**t", "0.9**t", "other betas"),
        ("ignores beta2", "beta2**t", "0.999**t", "other betas"),
    ),
    ("adamw_step", "torch"): (
        ("squares in the gradient's dtype", "g, g, value", "(grad * grad).float(), 1, value", LARGE),
        ("squares small ones in the gradient's dtype", "g, g, value", "grad.square().float(), 1, value", SMALL),
        (
            "has an epsilon in the weights' dtype",
            "add_(eps)",
            "add_(torch.tensor(eps, dtype=param.dtype))",
            NO_GRADIENT,
        ),
        ("counts in bfloat16", "1 - beta2**step", "1 - beta2 ** min(step, 256)", LONG),
        ("adds epsilon in the root", ".sqrt_().add_(eps)", ".add_(eps).sqrt_()", EPSILON),
        ("decays the new weight", "value=-lr / (1", "value=-lr * (1 - lr * weight_decay) / (1", DECAY),
        (
            "rounds the decayed weight",
            "param.to(m.dtype) * (1 - lr * weight_decay)",
            "(param * (1 - lr * weight_decay)).to(m.dtype)",
            "bfloat16 weights and gradients",
        ),
        (
            "has another decay than is said",
            "weight_decay: float = 0.01",
            "weight_decay: float = 0.0101",
            "a large learning rate",
        ),
    ),
    ("adamw_step", "triton"): (
        ("squares in the gradient's dtype", "rest2 * g * g", "rest2 * (g * g).to(grad_ptr.dtype.element_ty)", LARGE),
        ("adds epsilon in the root", "tl.sqrt(v / correction2) + eps", "tl.sqrt(v / correction2 + eps)", EPSILON),
        ("decays the new weight", "w = w * keep - size", "w = w * keep - keep * size", DECAY),
        (
            "cuts weights off",
            "ptr.dtype.element_ty), mask",
            "ptr.dtype.element_ty, fp_downcast_rounding='rtz'), mask",
            "bias",
        ),
        ("stores no v", "    tl.store(v_ptr + offsets, v, mask=mask)\n", "", ORDINARY),
        ("counts in bfloat16", "1 - beta2**step", "1 - beta2 ** min(step, 256)", LONG),
    ),
    ("global_norm", "torch"): (
        ("squares in the gradient's dtype", "g.float().square()", "g.square().float()", "300 in float16"),
        (
            "adds up in the gradient's dtype",
            "g.float().square().sum()",
            "g.float().square().sum().to(g.dtype)",
            "many of 100 in float16",
        ),
        ("adds norms", "g.float().square().sum()", "g.float().norm()", ORDINARY),
        ("has no root", "total.sqrt()", "total", ORDINARY),
        (
            "takes each address once",
            "for g in grads:",
            "for g in {g.data_ptr(): g for g in grads if g.numel()}.values():",
            "one tensor twice",
        ),
    ),
    ("global_norm", "triton"): (
        ("squares in the gradient's dtype", ".to(tl.float32)\n    tl.store", "\n    tl.store", "300 in float16"),
        ("takes gradients to be contiguous", "g.contiguous()", "g", "strided"),
        (
            "reads one sum short",
            "root_kernel[(1,)](sums, norm, sums.numel()",
            "root_kernel[(1,)](sums, norm, sums.numel() - 1",
            ORDINARY,
        ),
        ("keeps the last block of sums", "total += tl.load", "total = tl.load", "two hundred tensors"),
        ("adds up 1024 sums", "range(0, n, BLOCK)", "range(0, 1024, BLOCK)", "thousands of blocks"),
    ),
    ("clip_coefficient", "torch"): (
        ("lets NaN pass as 1", "~norm.isfinite()", "norm.isinf()", "a norm of NaN"),
        ("keeps gradients at a limit of 0", "float(max_norm > 0)", "1.0", "max_norm 0"),
        ("takes a negative limit", "if not max_norm >= 0", "if max_norm != max_norm", "a negative max_norm"),
        ("takes NaN for a limit", "if not max_norm >= 0", "if max_norm < 0", "a max_norm of NaN"),
    ),
    ("stochastic_round", "torch"): (
        ("does not look for NaN", "x.isnan()", "x.isinf()", "NaN of all kinds"),
        ("rounds to nearest afterwards", " & -65536", "", ORDINARY),
        ("never carries", "view(torch.int32) + bits", "view(torch.int32) | bits", ORDINARY),
        ("takes one bit too many", "+ bits)", "+ bits + 1)", "every bfloat16 value as it is"),
        ("has 0 for -0", ".bfloat16()", ".bfloat16() + 0.0", "every bfloat16 value as it is"),
    ),
    ("stochastic_round", "triton"): (
        ("does not look for NaN", "tl.where(x == x, rounded, x)", "rounded", "NaN of all kinds"),
        ("rounds to nearest afterwards", "+ bits) & -65536)", "+ bits))", ORDINARY),
        (
            "takes x to be contiguous",
            "x, bits = x.contiguous(), bits.contiguous()",
            "bits = bits.contiguous()",
            "transposed",
        ),
        ("does one block less", "triton.cdiv(x.numel(), 1024)", "x.numel() // 1024", "three blocks and a rest"),
    ),
}
