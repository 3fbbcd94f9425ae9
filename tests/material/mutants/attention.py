"""Masked softmax, attention and its merge, broken: (why, old, new, the case that must see it)."""

ORDINARY, NOTHING, INFINITE, EMPTY = "ordinary values", "a row of nothing", "rows of -inf", "a sequence without keys"
LOW, LENGTHS, CAUSAL, FEWER = "scores near -60000", "key lengths", "causal", "causal, fewer keys than queries"
LOW_FUTURE = "causal, scores near -60000"
LONG, NAN_Q, OWN = "3 rows of 8193, every second column", "NaN in a query", "strides of their own"
GARBAGE, FP16, BLOCK = "padding of NaN and infinity", "float16", "one key more than a block"

MUTANTS = {
    ("masked_softmax_forward", "torch"): (
        ("-inf - -inf", "    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN\n", "", INFINITE),
        (
            "subtracts the largest of all",
            "scores.amax(1, keepdim=True)",
            "wide(x).amax(1, keepdim=True)",
            "large values under no mask",
        ),
        ("has a finite -inf", "~mask, -torch.inf)", "~mask, -5e4)", "values near -60000"),
        ("multiplies the mask in at the end", "y.masked_fill(~mask, 0)", "(y * mask)", "NaN in one row"),
        ("computes in the dtype of x", "wide(x).masked_fill", "x.masked_fill", FP16),
        (
            "turns an empty row into equal shares",
            "y.masked_fill(~mask, 0)",
            "y.where(total > 0, 1 / x.shape[1])",
            NOTHING,
        ),
    ),
    ("masked_softmax_backward", "torch"): (
        ("forgets the sum", " - (p * g).sum(1, keepdim=True)", "", ORDINARY),
        ("sums dy", "(p * g).sum(1, keepdim=True)", "g.sum(1, keepdim=True)", ORDINARY),
        ("takes the mean", "(p * g).sum(1, keepdim=True)", "(p * g).mean(1, keepdim=True)", ORDINARY),
        ("computes in the dtype of y", "p, g = wide(y), wide(dy)", "p, g = y, dy", "bfloat16"),
    ),
    ("masked_softmax_forward", "triton"): (
        ("pads the row with zeros", 'tl.where(keep, x, float("-inf"))', "tl.where(keep, x, 0.0)", ORDINARY),
        ("adds what is masked", 'tl.where(keep, x, float("-inf"))', "x", ORDINARY),
        (
            "starts a long row's maximum at -5e4",
            "top = -3.4028234663852886e38  # the largest so far",
            "top = -5e4",
            "the last element alone",
        ),
        (
            "takes the strides of a mask of all rows for ordinary ones",
            "x, mask = x.contiguous(), mask.contiguous()",
            "x, mask = x.contiguous(), mask if mask.stride(0) == 0 else mask.contiguous()",
            "rows of 70, every second column",
        ),
        (
            "reads the mask as if it lay like x",
            "x, mask = x.contiguous(), mask.contiguous()",
            "x = x.contiguous()",
            "transposed",
        ),
    ),
    ("masked_softmax_backward", "triton"): (
        (
            "reads long rows of dy as if they lay side by side",
            "    dy = dy.contiguous()\n",
            "    dy = dy if dy.shape[1] > 8192 else dy.contiguous()\n",
            LONG,
        ),
        ("adds an epsilon", "(dy - tl.sum(y * dy))", "(dy - tl.sum(y * dy) + 1e-9)", "tiny dy"),
        ("reads dy past its end", "    dy = dy.contiguous()\n", "", "dy of stride 0"),
        ("one program", "kernel[(M,)]", "kernel[(min(M, 1),)]", "many rows"),
    ),
    ("attention_forward", "torch"): (
        ("-inf - -inf", "new_top.masked_fill(new_top == -torch.inf, 0)", "new_top", EMPTY),
        (
            "multiplies garbage by 0",
            "p @ padding_off(v, lengths, keys)",
            "p @ wide(v[:, :, keys.start : keys.stop])",
            GARBAGE,
        ),
        ("has a finite -inf", "keys, q.device), -torch.inf)", "keys, q.device), -5e4)", EMPTY),
        (
            "has a finite -inf where no query is without a key",
            "keys, q.device), -torch.inf)",
            "keys, q.device), -5e4 if (lengths > 0).all() and not causal else -torch.inf)",
            LOW,
        ),
        (
            "has a finite -inf in the future where every query has a key",
            "keys, q.device), -torch.inf)",
            "keys, q.device), -5e4 if causal and (lengths >= M).all() else -torch.inf)",
            LOW_FUTURE,
        ),
        ("is aligned at the beginning", "i + lengths - queries", "i", FEWER),
        ("takes 0 for an absent scale", "if scale is None else scale", "if not scale else scale", "scale = 0"),
        ("lse in base 2", "(top + total.log())", "((top + total.log()) * 1.4426950408889634)", ORDINARY),
        ("holds all scores", "BLOCK = 64 ", "BLOCK = 1 << 20 ", "peak memory"),
        ("ignores the lengths", "seen = j < lengths\n", "seen = j < lengths.clamp(min=1 << 30)\n", LENGTHS),
    ),
    ("attention_backward", "torch"): (
        ("forgets delta", "(g @ value.mT).sub_(delta)", "(g @ value.mT)", ORDINARY),
        ("normalises again", ".exp_().masked_fill_(hidden, 0)", ".softmax(-1).masked_fill_(hidden, 0)", ORDINARY),
        (
            "gives padding what NaN makes of it",
            "padding_off(k, lengths, keys), padding_off(v, lengths, keys)",
            "wide(k[:, :, keys.start : keys.stop]), wide(v[:, :, keys.start : keys.stop])",
            GARBAGE,
        ),
        ("keeps the last block of dq", "dq += (ds", "dq = (ds", BLOCK),
    ),
    ("merge_attention", "torch"): (
        (
            "reads base 2",
            "(lse_a - shift).exp().unsqueeze(-1), (lse_b - shift).exp()",
            "(lse_a - shift).exp2().unsqueeze(-1), (lse_b - shift).exp2()",
            "Z = 2 and 8",
        ),
        (
            "subtracts the lse of a, where a is not empty",
            "torch.maximum(lse_a, lse_b)",
            "lse_a.where(lse_a > -torch.inf, lse_b)",
            "100 apart",
        ),
        ("subtracts nothing", "top = torch.maximum(lse_a, lse_b)", "top = torch.zeros_like(lse_a)", "lse of 3000"),
        (
            "averages",
            "(a * wide(o_a) + b * wide(o_b)) / total",
            "0 * total + (wide(o_a) + wide(o_b)) / total.mul(0).add(2)",
            "Z = 2 and 8",
        ),
        (
            "rounds the weights",
            "(a * wide(o_a) + b * wide(o_b))",
            "(a.to(o_a.dtype) * o_a + b.to(o_b.dtype) * o_b)",
            "bfloat16",
        ),
    ),
    ("attention_witness", "torch"): (
        (
            "every sequence has a key",
            "torch.tensor([1, 0])",
            "torch.tensor([1, 1])",
            "an error of the formula, softmax(q kᵀ + mask) v",
        ),
        ("holds infinity", "1.5]", "float('inf')]", "a valid input"),
        ("more keys than there are", "torch.tensor([1, 0])", "torch.tensor([2, 0])", "a valid input"),
        ("lengths for another batch", "torch.tensor([1, 0])", "torch.tensor([0])", "a valid input"),
    ),
    ("merge_witness", "torch"): (
        ("equal pieces", "8.0", "2.0", "an error of flashinfer, vLLM and sglang in turn"),
        ("nearly equal pieces", "8.0", "2.02", "an error of flashinfer, vLLM and sglang in turn"),
        (
            "equal values",
            "torch.full((1, 1, 1, 2), -1.0)",
            "torch.ones(1, 1, 1, 2)",
            "an error of flashinfer, vLLM and sglang in turn",
        ),
        ("an empty piece", "torch.full((1, 1, 1), 2.0).log()", "torch.full((1, 1, 1), 0.0).log()", "a valid input"),
    ),
    ("attention_forward", "triton"): (
        ("takes v to lie as k does", "*k.stride(), *v.stride(),", "*k.stride(), *k.stride(),", "every second feature"),
        ("0 / 0", "acc / tl.where(empty, 1.0, total)[:, None]", "acc / total[:, None]", EMPTY),
        ("has a finite -inf", 'CAUSAL), s, float("-inf"))', "CAUSAL), s, -5e4)", LOW),
        (
            "does not mask the keys of the last block",
            "seen = (keys < length)[None, :]",
            "seen = (keys < length + 64)[None, :]",
            ORDINARY,
        ),
        ("masks no block that some see whole", "return whole // BLOCK_N", "return end // BLOCK_N", CAUSAL),
        ("drops the sign of scale", "SIGN=-1 if scale < 0 else 1", "SIGN=1", "scale = -0.3"),
        ("scales by the block's width", "scale = D**-0.5", "scale = triton.next_power_of_2(D) ** -0.5", "24 features"),
        ("one head for all", "head, batch = (tl.program_id(1) % H)", "head, batch = (tl.program_id(1) * 0)", ORDINARY),
        ("p in half before the sum", "tl.sum(p, 1)", "tl.sum(p.to(tl.float16).to(tl.float32), 1)", ORDINARY),
        ("scores in TF32", 'tl.trans(k), input_precision="ieee"', "tl.trans(k)", ORDINARY),
        ("has 32-bit offsets", "(tl.program_id(1) // H).to(tl.int64)", "tl.program_id(1) // H", "offsets beyond 2^31"),
    ),
    ("attention_backward", "triton"): (
        (
            "takes do to lie as q does",
            "(*do.stride(), *q.stride()",
            "(*q.stride(), *q.stride()",
            "tiny do, heads side by side",
        ),
        ("takes v to lie as k does", "*k.stride(), *v.stride())", "*k.stride(), *k.stride())", "every second feature"),
        ("gives padding 0 · NaN of q", "tl.where(own, dk * scale, 0.0)", "(dk * scale)", NAN_Q),
        (
            "starts a block late",
            "tl.maximum(first - (length - M), 0) // BLOCK_M * BLOCK_M",
            "tl.maximum(first - (length - M), 0) // BLOCK_M * BLOCK_M + BLOCK_M",
            CAUSAL,
        ),
        (
            "leaves padding unwritten",
            "mask = (keys < N)[:, None] & (cols",
            "mask = (keys < length)[:, None] & (cols",
            LENGTHS,
        ),
        (
            "walks over a block of queries only",
            "end = tl.where(first < length, M, 0)",
            "end = tl.where(first < length, tl.minimum(M, BLOCK_M), 0)",
            "causal, 130 queries",
        ),
        ("reads do as if it lay like q", "strides = (*do.stride(), ", "strides = (*q.stride(), ", "do of stride 0"),
        ("dk in TF32", 'ds.to(q.dtype), q, dk, input_precision="ieee"', "ds.to(q.dtype), q, dk", ORDINARY),
        ("has 32-bit offsets", "(q_ptr + batch * q_b", "(q_ptr + batch.to(tl.int32) * q_b", "offsets beyond 2^31"),
    ),
    ("merge_attention", "triton"): (
        (
            "takes o_b to lie as rows do",
            "o_b.contiguous(), lse_b",
            "o_b.as_strided(o_b.shape, o_a.contiguous().stride()), lse_b",
            OWN,
        ),
        (
            "reads base 2",
            "tl.exp(a - shift), tl.exp(b - shift)",
            "tl.exp2(a - shift), tl.exp2(b - shift)",
            "Z = 2 and 8",
        ),
        ("-inf - -inf", 'empty = top == float("-inf")', 'empty = top == float("inf")', "both are empty"),
        ("subtracts nothing", "top + log1p(tl.exp(-tl.abs(a - b)))", "tl.log(tl.exp(a) + tl.exp(b))", "lse of 3000"),
        (
            "reads rows as if they lay side by side",
            "o_a, lse_a, o_b, lse_b = o_a.contiguous(), lse_a.contiguous(), o_b.contiguous(), lse_b.contiguous()",
            "lse_a = lse_a.contiguous()",
            "heads side by side",
        ),
    ),
}
