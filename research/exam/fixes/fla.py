"""Fix commits of fla-org/flash-linear-attention."""

import torch

from . import fix

EINOPS = dict.fromkeys(("einsum", "rearrange", "reduce", "repeat"))
PLAIN = {"dispatch": lambda name: lambda function: function}  # no other backend


def fla(commit: str, kind: str, place: str, differs: bool = True):
    return fix("fla-org/flash-linear-attention", commit, kind, place, "MIT, not copied", differs)


@fla("5aea42b774", "uninitialised", "ops/rwkv7/gate_output_correction.py: beyond the first chunk of time all is masked")
def gate_output_correction(library):
    ops = library.module("", "fla.ops.rwkv7.gate_output_correction")
    times, heads, size, chunk = 16, 2, 4, 8
    o, g = (torch.randn(1, times, heads * size, device="cuda") for _ in range(2))
    r, k, v = (torch.randn(1, times, heads, size, device="cuda") for _ in range(3))
    r_k = torch.randn(heads, size, device="cuda")
    out = torch.empty_like(o)
    for start in range(0, times, chunk):  # theirs are of 65536, as many as a launch takes
        ops.gate_output_correction_fwd_kernel[lambda meta: (1, -(-chunk // meta["BT"]), heads)](
            o, r, k, r_k, v, g, out, o.stride(0), o.stride(1), r.stride(0), r.stride(1), r.stride(2), v.stride(0),
            v.stride(1), v.stride(2), r_k.stride(0), chunk, start, num_heads=heads, head_dim=size, BLOCK_SIZE_D=4,
        )  # fmt: skip
    o, r, k, r_k, v, g = (one.double() for one in (o, r, k, r_k, v, g))
    return out, (o + ((r * k * r_k).sum(-1, keepdim=True) * v).view(o.shape)) * g


@fla(
    "5659576ea8",
    "race",
    "ops/based/fused_chunk.py: all programs along V store z: equal values, which no order changes",
    differs=False,
)
def based_normaliser(library):
    ops = library.module("", "fla.ops.based.fused_chunk")
    heads, times, key, value = 1, 32, 16, 64
    q, k = (torch.randn(1, heads, times, key, device="cuda") / 4 for _ in range(2))
    v = torch.randn(1, heads, times, value, device="cuda")
    o, z = ops.FusedChunkBasedFunction.apply(q, k, v, 1)
    q, k, v = q.double(), k.double(), v.double()
    scores = (q @ k.mT).tril()
    scores = (1 + scores + scores.square() / 2).tril()
    return (o, z), (scores @ v, scores.sum(-1))


@fla("0f0f0c97af", "uninitialised", "common/backends/triton_ascend/chunk_scaled_dot_kkt.py: blocks above the diagonal")
def ascend_kkt(library):
    ops = library.module("", "fla.ops.common.backends.triton_ascend.chunk_scaled_dot_kkt")
    times, key, chunk = 64, 16, 64
    k, beta = torch.randn(1, times, 1, key, device="cuda"), torch.rand(1, times, 1, device="cuda")
    came = ops.chunk_scaled_dot_kkt_fwd_npu(k, None, beta, chunk_size=chunk)
    k, beta = k.double()[0, :, 0], beta.double()[0]
    return came, ((k @ k.T) * beta).tril(-1).view(1, times, 1, chunk)


def conv(library):
    return library.module("", "fla.modules.conv.triton.ops", einops=EINOPS, fla__modules__backends=PLAIN)


@fla(
    "7cbe461b10",
    "memory",
    "modules/conv/triton/kernels.py: the first rows of dy are not held to the sequence's length",
    differs=False,
)
def conv_weight_gradient(library):
    times, channels, width = 2, 4, 4
    x, dy = (torch.randn(1, times, channels, device="cuda") for _ in range(2))
    weight = torch.randn(channels, width, device="cuda")
    before = torch.randn(1, channels, width, device="cuda")
    _, dw, *_ = conv(library).causal_conv1d_bwd(x, dy, None, weight, initial_state=before, BT=16)
    return dw, right_conv(x, weight, before, dy)[1]


@fla("ca89d2017f", "state", "modules/conv/triton/kernels.py: choosing a configuration shifts the cache at each try")
def conv_update(library):
    channels, width = 4, 4
    x, weight = torch.randn(2, channels, device="cuda"), torch.randn(channels, width, device="cuda")
    cache = torch.randn(2, channels, width, device="cuda")
    after = torch.cat([cache[..., 1:], x[..., None]], -1).double()
    y, cache = conv(library).causal_conv1d_update(x, cache, weight=weight)
    return (y, cache), ((after * weight).sum(-1), after)


@fla("bd67d11782", "uninitialised", "modules/rotary.py: rows before the padding's end are not written")
def rotary_of_padding(library):
    ops = library.module("", "fla.modules.rotary", einops=EINOPS)
    times, size = 8, 8
    x = torch.randn(2, times, 1, size, device="cuda")
    angle = torch.randn(times, size // 2, device="cuda")
    padding = torch.tensor([0, -3], device="cuda")
    y = ops.rotary_embedding_fwdbwd(x, angle.cos(), angle.sin(), seqlen_offsets=padding)
    right = torch.zeros(2, times, 1, size, dtype=torch.float64, device="cuda")
    for row, skipped in enumerate((0, 3)):
        turned = angle[: times - skipped, None].double()
        first, second = x[row, skipped:].double().chunk(2, -1)
        right[row, skipped:] = torch.cat(
            [first * turned.cos() - second * turned.sin(), first * turned.sin() + second * turned.cos()], -1
        )
    return y, right


@fla("ccb0ff944c", "race", "ops/attn/decoding.py: all programs along V store to the first block of it")
def split_decoding(library):
    ops = library.module("", "fla.ops.attn.decoding")
    times, size, value = 32, 16, 512
    q, k = torch.randn(1, 1, 1, size, device="cuda"), torch.randn(1, times, 1, size, device="cuda")
    v = torch.randn(1, times, 1, value, device="cuda")
    o = ops.attn_decoding_one_step(q, k, v, cu_seqlens=torch.tensor([0, times], device="cuda"))
    scores = (q[0, 0].double() @ k[0, :, 0].double().T) * size**-0.5
    return o, (scores.softmax(-1) @ v[0, :, 0].double()).view(1, 1, 1, value)


@fla(
    "b67113b41e",
    "memory",
    "ops/kda/fused_recurrent.py: g is loaded without a mask where K is no power of 2",
    differs=False,
)
def recurrent_gate(library):
    ops = library.module("", "fla.ops.kda.fused_recurrent")
    times, key, value = 3, 12, 8
    q, k, g = (torch.randn(1, times, 1, key, device="cuda") for _ in range(3))
    g = -g.abs()
    v, beta = torch.randn(1, times, 1, value, device="cuda"), torch.rand(1, times, 1, device="cuda")
    o, _ = ops.fused_recurrent_kda_fwd(q, k, v, g, beta, scale=1.0, inplace_final_state=False)
    state, right = torch.zeros(key, value, dtype=torch.float64, device="cuda"), []
    for t in range(times):
        key_t, value_t = k[0, t, 0].double(), v[0, t, 0].double()
        state = state * g[0, t, 0].double().exp()[:, None]
        state = state + torch.outer(key_t, beta[0, t].double() * (value_t - key_t @ state))
        right.append(q[0, t, 0].double() @ state)
    return o, torch.stack(right).view(1, times, 1, value)


@fla("51a8c0a88b", "uninitialised", "ops/deltaformer/parallel.py: a tile across a chunk's start reads its own output")
def deltaformer_chunks(library):
    ops = library.module(
        "", "fla.ops.deltaformer.parallel", fla__layers__utils={"pad_input": None, "unpad_input": None}
    )
    times, size, chunk = 80, 16, 16
    q, k, v = (torch.randn(1, times, 1, size, device="cuda") for _ in range(3))
    beta = torch.rand(1, times, 1, device="cuda")
    u = ops.ParallelDeltaformerFunction.apply(q, k, v, beta, chunk, None)
    q, k, v, beta = (one[0, :, 0].double() for one in (q, k, v, beta))
    rows = []
    for t in range(times):
        weights = (q[t] @ k[:t].T * size**-0.5).softmax(-1)
        rows.append(v[t] - beta[t] * (weights @ torch.stack(rows)) if t else v[t])
    return u, torch.stack(rows).view(1, times, 1, size)


@fla("ebd4dd27c0", "memory", "ops/rwkv7/channel_mixing.py: blocks of 4096 elements have no mask", differs=False)
def channel_mixing_square(library):
    ops = library.module("", "fla.ops.rwkv7.channel_mixing")
    x = torch.randn(3, 40, device="cuda")
    return ops.rwkv_relu_and_square_fwd(x, inplace=False), x.double().relu().square()


@fla("71ebc4981c", "layout", "modules/conv/triton/kernels.py: the gradient from above is read as if contiguous")
def conv_of_strided_gradient(library):
    times, channels, width = 16, 4, 4
    x, weight = torch.randn(1, times, channels, device="cuda"), torch.randn(channels, width, device="cuda")
    dy = torch.randn(1, channels, times, device="cuda").mT
    dx, dw, *_ = conv(library).causal_conv1d_bwd(x, dy, None, weight, BT=16)
    return (dx, dw), right_conv(x, weight, None, dy)[:2]


@fla("6d80721f74", "layout", "modules/conv/triton/kernels.py: of the gradient from above, channels are read one apart")
def conv_state_of_strided_gradient(library):
    times, channels, width = 16, 4, 4
    x, weight = torch.randn(1, times, channels, device="cuda"), torch.randn(channels, width, device="cuda")
    before = torch.randn(1, channels, width, device="cuda")
    dy = torch.randn(1, channels, times, device="cuda").mT
    dh = conv(library).compute_dh0_triton(dy, None, weight, before, None, None)
    return dh[..., 1:], right_conv(x, weight, before, dy)[2][..., 1:]


@fla(
    "a252c17d77",
    "gradient",
    "modules/conv/triton/kernels.py: in a short sequence, the final state's gradient is misplaced",
)
def conv_final_state_gradient(library):
    times, channels, width = 2, 4, 4
    x, dy = (torch.randn(1, times, channels, device="cuda") for _ in range(2))
    weight, before = torch.randn(channels, width, device="cuda"), torch.randn(1, channels, width, device="cuda")
    dht = torch.randn(1, channels, width, device="cuda")
    dx, *_ = conv(library).causal_conv1d_bwd(x, dy, dht, weight, initial_state=before, BT=16)
    right = right_conv(x, weight, before, dy)[0] + dht[..., width - times :].double().mT
    return dx, right


def right_conv(x, weight, before, dy):
    x, weight, dy = x[0].double().T.requires_grad_(), weight.double().requires_grad_(), dy[0].double().T
    width = weight.shape[1]
    state = torch.zeros(len(x), width, dtype=x.dtype, device="cuda") if before is None else before[0].double()
    state.requires_grad_()
    (torch.cat([state[:, 1:], x], 1).unfold(1, width, 1) * weight[:, None]).sum(-1).backward(dy)
    return x.grad.T[None], weight.grad, state.grad[None]


@fla(
    "0abbe028df",
    "memory",
    "ops/nsa/compression.py: of two parts of V, the second's dk and dv are outside",
    differs=False,
)
def nsa_compression_gradient(library):
    ops = library.module("", "fla.ops.nsa.compression", einops=EINOPS, fla__ops__backends=PLAIN)
    times, heads, size, value, block = 64, 16, 16, 160, 16
    q = torch.randn(1, times, heads, size, device="cuda")
    k, v = (torch.randn(1, times // block, 1, columns, device="cuda") for columns in (size, value))
    do = torch.randn(1, times, heads, value, device="cuda")
    whole = (torch.arange(times, device="cuda")[:, None] + 1) // block > torch.arange(times // block, device="cuda")
    scores = (q[0].double() @ k[0, :, 0].double().T).masked_fill(~whole[:, None], -torch.inf)
    lse = scores.logsumexp(-1).nan_to_num(neginf=0.0)
    p = (scores - lse[..., None]).exp()
    o = (p @ v[0, :, 0].double()).float()[None]
    _, _, dv = ops.parallel_nsa_compression_bwd(q, k, v, o, lse.float()[None], do, block, 1.0)
    return dv, torch.einsum("thc,thv->cv", p, do[0].double())[None, :, None]


@fla("e4c7f88008", "race", "ops/attn/parallel.py: the parts of V store their dq and dk in one place")
def attention_of_two_parts(library):
    one_head = EINOPS | {"reduce": lambda x, *pattern, **names: x}
    ops = library.module("", "fla.ops.attn.parallel", einops=one_head, fla__ops__backends=PLAIN)
    ops.check_shared_mem = lambda name: False  # as a GPU with little shared memory has it
    times, size, value = 32, 16, 128
    q, k = (torch.randn(1, times, 1, size, device="cuda") for _ in range(2))
    v, do = (torch.randn(1, times, 1, value, device="cuda") for _ in range(2))
    wide = [one[0, :, 0].double().requires_grad_() for one in (q, k, v)]
    hidden = torch.ones(times, times, dtype=torch.bool, device="cuda").triu(1)
    scores = (wide[0] @ wide[1].T).masked_fill(hidden, -torch.inf)
    o = scores.softmax(-1) @ wide[2]
    o.backward(do[0, :, 0].double())
    lse = (scores.detach().logsumexp(-1) / torch.log(torch.tensor(2.0))).float().view(1, times, 1)
    o = o.detach().float().view(1, times, 1, value)
    dq, dk, dv, *_ = ops.parallel_attn_bwd(q, k, v, o, None, lse, do, scale=1.0)
    return (dq, dk, dv), tuple(one.grad[None, :, None] for one in wide)


@fla(
    "fdeba1bb94",
    "gradient",
    "modules/convolution.py: dx and dw leave out an initial state without a final one",
)
def conv_of_initial_state(library):
    ops = library.module("", "fla.modules.convolution", einops=EINOPS)
    times, channels, width = 8, 4, 4
    x, dy = (torch.randn(1, times, channels, device="cuda") for _ in range(2))
    weight, before = torch.randn(channels, width, device="cuda"), torch.randn(1, channels, width, device="cuda")
    dx, dw, *_ = ops.causal_conv1d_bwd(x, dy, None, weight, initial_state=before)
    return (dx, dw), right_conv(x, weight, before, dy)[:2]


@fla(
    "40334f1cb2",
    "values at an edge",
    "dplr/chunk_A_fwd.py: the gate that keeps exponents small is another row's",
)
def dplr_strong_gates(library):
    ops = library.module("", "fla.ops.generalized_delta_rule.dplr.chunk_A_fwd", einops=EINOPS)
    times, heads, size = 32, 4, 16
    q, k, a, b = (torch.randn(1, times, heads, size, device="cuda") for _ in range(4))
    steps = torch.full((1, times, heads, size), -7.0, device="cuda")  # nearly the strongest that is allowed
    gi = steps.cumsum(1)
    came = ops.chunk_dplr_fwd_intra(q, k, a, b, gi, gi - steps, 1.0, times, safe_gate=True)
    q, k, a, b, gi = (one[0].double() for one in (q, k, a, b, gi))
    past = gi[:, None] - gi[None]
    aqk = torch.einsum("thk,shk,tshk->ths", q, k, past.clamp(max=0).exp2())
    mask = torch.ones(times, times, device="cuda").tril()[:, None]
    return came[1], (aqk * mask)[None]


@fla(
    "3e432decd2",
    "values at an edge",
    "ops/utils/cumsum.py: a sum from the end is a difference of sums",
)
def sums_from_the_end(library):
    ops = library.module("", "fla.ops.utils.cumsum", einops=EINOPS, fla__ops__backends=PLAIN)
    return from_the_end(ops.chunk_local_cumsum_scalar)


def from_the_end(cumsum):
    """Sums of chunks of 16, each by its size."""
    g = torch.rand(1, 32, 2, device="cuda")
    g[:, 3] = 1e8
    came = cumsum(g, 16, reverse=True)
    right = g.double().view(1, 2, 16, 2).flip(2).cumsum(2).flip(2).view(g.shape)
    return came / right.float(), torch.ones_like(right)


@fla(
    "674f085213",
    "values at an edge",
    "modules/fused_norm_gate.py: the result computed again has no gate",
)
def gated_norm_again(library):
    ops = library.module("", "fla.modules.fused_norm_gate", einops=EINOPS, fla__modules__backends=PLAIN)
    x, g, dy = (torch.randn(6, 32, device="cuda") for _ in range(3))
    weight = torch.randn(32, device="cuda")
    rstd = (x.double().square().mean(-1) + 1e-5).rsqrt()
    *_, y = ops.layer_norm_gated_bwd(dy, x, g, weight, None, rstd=rstd.float(), is_rms_norm=True, recompute_output=True)
    return y, x.double() * rstd[:, None] * weight.double() * torch.nn.functional.silu(g.double())


@fla("23da0a1569", "compile", "ops/gated_delta_rule/wy_fast.py: without gates, b_dk is stored and has no value", False)
def wy_without_gates(library):
    ops = library.module("", "fla.ops.gated_delta_rule.wy_fast", einops=EINOPS)
    times, size = 64, 16
    k = torch.nn.functional.normalize(torch.randn(1, times, 1, size, device="cuda"), dim=-1)
    v, dw, du = (torch.randn(1, times, 1, size, device="cuda") for _ in range(3))
    beta = torch.rand(1, times, 1, device="cuda")
    wide = [one[0, :, 0].double().requires_grad_() for one in (k, v, beta)]
    scaled = [one * wide[2][:, None] for one in wide[:2]]
    a = torch.linalg.inv(torch.eye(times, dtype=torch.double, device="cuda") + (scaled[0] @ wide[0].T).tril(-1))
    torch.autograd.backward([a @ one for one in scaled], [one[0, :, 0].double() for one in (dw, du)])
    came = ops.prepare_wy_repr_bwd(k, v, beta, a.detach().float().contiguous().view(1, times, 1, times), dw, du)
    return came[:3], tuple(one.grad.view(like.shape) for one, like in zip(wide, (k, v, beta), strict=True))


@fla(
    "370fe30444",
    "memory",
    "ops/kda/chunk_intra.py: rows of the diagonal blocks beyond the last are loaded",
    differs=False,
)
def kda_short_chunk(library):
    ops = library.module("", "fla.ops.kda.chunk_intra", einops=EINOPS)
    times, size = 20, 16
    q, k = (torch.nn.functional.normalize(torch.randn(1, times, 1, size, device="cuda"), dim=-1) for _ in range(2))
    steps = -torch.rand(1, times, 1, size, device="cuda")
    beta = torch.rand(1, times, 1, device="cuda")
    _, akk = ops.chunk_kda_fwd_intra(q, k, steps.cumsum(1), beta, 1.0)
    k, gates, beta = k[0, :, 0].double(), steps[0, :, 0].double().cumsum(0), beta[0].double()
    past = (gates[:, None] - gates[None]).clamp(max=0).exp()
    scores = torch.einsum("tk,sk,tsk->ts", k, k, past) * beta
    right = torch.linalg.inv(torch.eye(times, dtype=torch.double, device="cuda") + scores.tril(-1))
    return akk[..., :times], right.view(1, times, 1, times)


@fla(
    "91d870f89f",
    "values at an edge",
    "gated_delta_rule/chunk_fwd.py: a strong gate times a chunk's padding is NaN",
)
def gdn_strong_gate(library):
    ops = library.module("", "fla.ops.gated_delta_rule.chunk_fwd", einops=EINOPS)
    times, size = 20, 16
    k = torch.nn.functional.normalize(torch.randn(1, times, 1, size, device="cuda"), dim=-1)
    g = torch.full((1, times, 1), -8.0, device="cuda").cumsum(1)
    beta = torch.rand(1, times, 1, device="cuda")
    *_, a = ops.chunk_gated_delta_rule_fwd_intra(k, k, g, beta)
    k, g, beta = k[0, :, 0].double(), g[0, :, 0].double(), beta[0].double()
    scores = (k @ k.T) * (g[:, None] - g[None]).clamp(max=0).exp() * beta
    right = torch.linalg.inv(torch.eye(times, dtype=torch.double, device="cuda") + scores.tril(-1))
    return a[..., :times], right.view(1, times, 1, times)


@fla("2cec2a333f", "gradient", "ops/nsa/parallel.py: each part of V takes the whole delta from dq and dk")
def nsa_of_two_parts(library):
    flash = {"flash_attn_func": None, "flash_attn_varlen_func": None}
    ops = library.module("", "fla.ops.nsa.parallel", einops=EINOPS, fla__ops__backends=PLAIN, flash_attn=flash)
    times, heads, size, value, block = 16, 16, 16, 160, 16
    q, do = (torch.randn(1, times, heads, columns, device="cuda") for columns in (size, value))
    k, v = (torch.randn(1, times, 1, columns, device="cuda") for columns in (size, value))
    wide = [one[0].double().requires_grad_() for one in (q, k, v)]
    scores = torch.einsum("thk,sk->ths", wide[0], wide[1][:, 0])
    scores = scores.masked_fill(torch.ones(times, times, dtype=torch.bool, device="cuda").triu(1)[:, None], -torch.inf)
    o = scores.softmax(-1) @ wide[2][:, 0]
    o.backward(do[0].double())
    lse = scores.detach().logsumexp(-1).float()[None]
    chosen = torch.zeros(1, times, 1, 1, dtype=torch.long, device="cuda")
    came = ops.parallel_nsa_bwd(q, k, v, o.detach().float()[None], lse, do, chosen, 1, block, 1.0)
    return came, tuple(one.grad[None] for one in wide)


@fla(
    "4e1dd3be26",
    "gradient",
    "triton_ascend/causal_conv1d.py: the final state's gradient does not reach the first",
)
def ascend_conv_short_state(library):
    ascend = "fla.modules.backends.triton_ascend.causal_conv1d"
    ops = library.module("", ascend, einops=EINOPS, fla__modules__backends=PLAIN)
    times, channels, width = 2, 8, 4
    x, dy = (torch.randn(1, times, channels, device="cuda") for _ in range(2))
    weight, before = torch.randn(channels, width, device="cuda"), torch.randn(1, channels, width, device="cuda")
    dht = torch.randn(1, channels, width, device="cuda")
    *_, dh0 = ops.causal_conv1d_bwd_npu(x, dy, dht, weight, initial_state=before)
    right = right_conv(x, weight, before, dy)[2]
    right[..., times:] += dht[..., : width - times].double()
    return dh0[..., 1:], right[..., 1:]


@fla(
    "3983e7b242",
    "values at an edge",
    "triton_ascend/cumsum.py: a sum from the end is a difference of sums",
)
def ascend_sums_from_the_end(library):
    ops = library.module("", "fla.ops.utils.backends.triton_ascend.cumsum", einops=EINOPS)
    return from_the_end(ops.chunk_local_cumsum_scalar_npu)
