"""Fix commits of fla-org/flash-linear-attention."""

import torch

from . import fix

EINOPS = dict.fromkeys(("einsum", "rearrange", "reduce", "repeat"))


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
    dispatch = {"dispatch": lambda name: lambda function: function}
    return library.module("", "fla.modules.conv.triton.ops", einops=EINOPS, fla__modules__backends=dispatch)


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
