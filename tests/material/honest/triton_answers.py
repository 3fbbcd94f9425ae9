# backend: triton
# ruff: noqa: E402, F404, F811
"""Right answers in Triton to other exercises than `silu_forward`."""

import torch
import triton
import triton.language as tl


@triton.jit
def round_kernel(total_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(total_ptr + c, mask=c < n, other=0.0)
    tl.store(out_ptr + c, total.to(out_ptr.dtype.element_ty), mask=c < n)


# %% atomic_squares
# exercise: global_norm
"""One number that all programs add to, and its root."""


@triton.jit
def add_squares(g_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr, tl.sum(g * g))


@triton.jit
def take_root(total_ptr, norm_ptr):
    tl.store(norm_ptr, tl.sqrt(tl.load(total_ptr)))


def global_norm(grads):
    if not grads:
        return torch.zeros(())
    total, norm = torch.zeros(1, device=grads[0].device), torch.empty((), device=grads[0].device)
    for g in grads:
        if g.numel():
            add_squares[(triton.cdiv(g.numel(), 1024),)](g.contiguous(), total, g.numel(), BLOCK=1024)
    take_root[(1,)](total, norm)
    return norm


# %% autotune_and_decorator_options
# exercise: swiglu_backward
"""A heuristic over an autotuner over a kernel whose decorator says how an argument of 1 is launched."""


@triton.heuristics({"GATED": lambda args: args["up_ptr"] is not None})
@triton.autotune(configs=[triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
@triton.jit(do_not_specialize=["n", "one"])
def gradients_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, one, BLOCK: tl.constexpr, GATED: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    slope = s * (1.0 + gate * (1.0 - s)) * one
    if GATED:
        slope *= tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(dgate_ptr + offsets, (dy * slope).to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + offsets, (dy * gate * s).to(dup_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dy, gate, up):
    dy, gate, up = dy.contiguous(), gate.contiguous(), up.contiguous()
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    n = gate.numel()
    if n:
        gradients_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](dy, gate, up, dgate, dup, n, 1)
    return dgate, dup


# %% autotune_restores
# exercise: rms_norm_backward
"""Autotuning that resets what a kernel adds to with atomics, and restores what it reads; and a second autotuned kernel,
one of whose configurations has a hook.
"""


def empty(args):
    args["out_ptr"].fill_(0)


rounding = triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256}, pre_hook=empty)], key=["n"])
tuned_round_kernel = rounding(round_kernel)


@triton.autotune(
    configs=[triton.Config({}, num_warps=2), triton.Config({}, num_warps=4, num_stages=2)],
    key=["columns"],
    reset_to_zero=["total_ptr"],
    restore_value=["dx_ptr"],
)
@triton.jit
def rms_backward_kernel(dy_ptr, x_ptr, weight_ptr, rstd_ptr, dx_ptr, total_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < columns
    dy = tl.load(dy_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(weight_ptr + c, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    mean = tl.sum(dy * w * x * rstd, 0) / columns
    tl.store(dx_ptr + row * columns + c, (rstd * (dy * w - x * rstd * mean)).to(dx_ptr.dtype.element_ty), mask=mask)
    tl.atomic_add(total_ptr + c, dy * x * rstd, mask=mask)


def rms_norm_backward(dy, x, weight, rstd):
    dy, x, weight, rstd = (t.contiguous() for t in (dy, x, weight, rstd))
    rows, columns = x.shape
    dx, dweight = torch.zeros_like(x), torch.empty_like(weight)
    if not columns:
        return dx, dweight
    total = torch.zeros(columns, dtype=torch.float32, device=x.device)
    if rows:
        block = triton.next_power_of_2(columns)
        rms_backward_kernel[(rows,)](dy, x, weight, rstd, dx, total, columns, BLOCK=block)
    tuned_round_kernel[lambda meta: (triton.cdiv(columns, meta["BLOCK"]),)](total, dweight, columns)
    return dx, dweight


# %% flag_of_a_kernel
# exercise: cross_entropy_forward
"""A kernel looks for bad labels and leaves the first such row in a tensor of zeros, which the host reads."""


@triton.jit
def find_kernel(labels_ptr, row_ptr, M, V, ignore_index, stride, BLOCK: tl.constexpr):
    first = M
    for start in range(0, M, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        label = tl.load(labels_ptr + rows * stride, mask=rows < M, other=ignore_index)
        bad = (label != ignore_index) & ((label < 0) | (label >= V))
        first = tl.minimum(first, tl.min(tl.where(bad, rows, M)))
    tl.store(row_ptr, first)


@triton.jit
def loss_kernel(x_ptr, labels_ptr, loss_ptr, lse_ptr, V, ignore_index, sm, sv, sl, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_ptr + row * sl)
    top, total = -float("inf"), 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * sm + columns * sv, mask=columns < V, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.sum(tl.exp(x - safe))
        top = higher
    lse = top + tl.log(total)
    tl.store(lse_ptr + row, lse)
    counts = label != ignore_index
    own = tl.load(x_ptr + row * sm + label * sv, mask=counts, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, tl.where(counts, lse - own, 0.0))


def cross_entropy_forward(logits, labels, ignore_index=-100):
    M, V = logits.shape
    loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty_like(loss)
    if M == 0:
        return loss, lse
    first = torch.zeros((), dtype=torch.int64, device=logits.device)
    find_kernel[(1,)](labels, first, M, V, ignore_index, labels.stride(0), BLOCK=64)
    row = first.item()
    if row < M:
        raise IndexError(f"labels[{row}] is {labels[row].item()}, outside [0, {V})")
    strides = (*logits.stride(), labels.stride(0))
    loss_kernel[(M,)](logits, labels, loss, lse, V, ignore_index, *strides, BLOCK=1024)
    return loss, lse


# %% locked_groups
# exercise: layer_norm_backward
"""Rows of a group add to one partial sum in turn, behind a lock, as in the tutorial on layer norm; sums in float32."""


@triton.jit
def _bwd_dx_fused(
    DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N, GROUP_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP_SIZE_M
    Lock += lock_id
    Count = Lock + GROUP_SIZE_M
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.0)
    wdy = tl.where(mask, wdy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + cols, dx, mask=mask)
    partial_dw = dy * xhat
    partial_db = dy
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask, other=0.0)
        partial_db += tl.load(DB, mask=mask, other=0.0)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def _bwd_dwdb(DW, DB, FINAL_DW, FINAL_DB, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid = tl.program_id(0)
    cols = pid * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.0)
        db += tl.load(DB + offs, mask=mask, other=0.0)
    tl.store(FINAL_DW + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(FINAL_DB + cols, tl.sum(db, axis=0), mask=cols < N)


def layer_norm_backward(dy, x, w, mean, rstd):
    dy, x, w = dy.contiguous(), x.contiguous(), w.contiguous()
    M, N = x.shape
    if not N:
        return torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    G = 8
    locks = torch.zeros(2 * G, dtype=torch.int32, device=w.device)
    _dw = torch.zeros((G, N), dtype=torch.float32, device=w.device)
    _db = torch.zeros((G, N), dtype=torch.float32, device=w.device)
    dw = torch.empty((N,), dtype=w.dtype, device=w.device)
    db = torch.empty((N,), dtype=w.dtype, device=w.device)
    dx = torch.empty_like(dy, dtype=x.dtype)
    if M:
        _bwd_dx_fused[(M,)](
            dx,
            dy,
            _dw,
            _db,
            x,
            w,
            mean,
            rstd,
            locks,
            x.stride(0),
            N,
            BLOCK_SIZE_N=triton.next_power_of_2(N),
            GROUP_SIZE_M=G,
            num_warps=4,
        )
    _bwd_dwdb[(triton.cdiv(N, 128),)](_dw, _db, dw, db, min(G, M), N, BLOCK_SIZE_M=8, BLOCK_SIZE_N=128, num_ctas=1)
    return dx, dw, db


# %% partial_sums
# exercise: rms_norm_backward
"""A reduction that the exercise allows, over partial sums that a kernel left."""


@triton.jit
def rms_backward_kernel(dy_ptr, x_ptr, weight_ptr, rstd_ptr, dx_ptr, part_ptr, columns, step, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < columns
    dy = tl.load(dy_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(weight_ptr + c, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal = x * rstd
    mean = tl.sum(dy * w * normal, 0) / columns
    tl.store(dx_ptr + row * columns + c, (rstd * (dy * w - normal * mean)).to(dx_ptr.dtype.element_ty), mask=mask)
    tl.store(part_ptr + row * step + c, dy * normal, mask=mask)


def rms_norm_backward(dy, x, weight, rstd):
    dy, x, weight, rstd = (t.contiguous() for t in (dy, x, weight, rstd))
    rows, columns = x.shape
    dx, dweight = torch.empty_like(x), torch.empty_like(weight)
    if not columns:
        return dx, dweight
    parts = torch.zeros(max(rows, 1), columns, dtype=torch.float32, device=x.device)
    if rows:
        block = triton.next_power_of_2(columns)
        rms_backward_kernel[(rows,)](dy, x, weight, rstd, dx, parts, columns, parts.stride(0), BLOCK=block)
    total = parts.sum(dim=0)
    round_kernel[(triton.cdiv(columns, 256),)](total, dweight, columns, BLOCK=256)
    return dx, dweight


# %% persistent_rows
# exercise: cross_entropy_forward
"""Few programs take many rows each, one after the other; the counter of the loop is widened to 64 bits."""


@triton.jit
def check_kernel(labels, bad, M, V, ignore, BLOCK: tl.constexpr):
    first = M
    for start in range(0, M, BLOCK):
        i = start + tl.arange(0, BLOCK)
        y = tl.load(labels + i, mask=i < M, other=0)
        wrong = (i < M) & (y != ignore) & ((y < 0) | (y >= V))
        first = tl.minimum(first, tl.min(tl.where(wrong, i, M), axis=0))
    tl.store(bad, first)
    tl.store(bad + 1, tl.load(labels + first, mask=first < M, other=0))


@triton.jit
def softmax_rows(
    loss, lse, x_ptr, labels, row_stride, n_rows, n_cols, ignore, BLOCK: tl.constexpr, num_stages: tl.constexpr
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row = row_idx.to(tl.int64)
        y = tl.load(labels + row)
        if y != ignore:
            m = float("-inf")
            s = 0.0
            for start in range(0, n_cols, BLOCK):
                c = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + row * row_stride + c, mask=c < n_cols, other=-float("inf")).to(tl.float32)
                new = tl.maximum(m, tl.max(x, axis=0))
                new = tl.where(new != new, 0.0, new)
                shift = tl.where(new == -float("inf"), 0.0, new)
                s = s * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
                m = new
            z = m + tl.log(s)
            own = tl.load(x_ptr + row * row_stride + y).to(tl.float32)
            tl.store(loss + row, z - own)
            tl.store(lse + row, z)
        else:
            tl.store(loss + row, 0.0)
            tl.store(lse + row, 0.0)


def cross_entropy_forward(logits, labels, ignore_index=-100):
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    labels = labels.contiguous()
    M, V = logits.shape
    loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty(M, dtype=torch.float32, device=logits.device)
    if M == 0:
        return loss, lse
    bad = torch.empty(2, dtype=torch.int64, device=logits.device)
    check_kernel[(1,)](labels, bad, M, V, ignore_index, BLOCK=128)
    row, label = bad.tolist()
    if row < M:
        raise IndexError(f"labels[{row}] is {label}, outside [0, {V})")
    softmax_rows[(min(M, 8),)](
        loss,
        lse,
        logits,
        labels,
        logits.stride(0),
        M,
        V,
        ignore_index,
        BLOCK=min(4096, triton.next_power_of_2(V)),
        num_stages=2,
    )
    return loss, lse


# %% plain_sigmoid
# exercise: swiglu_backward
"""x · s(x) as it is usually written: NaN at -infinity, as in PyTorch."""


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, da_ptr, db_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    dc_row = tl.load(dc_ptr + offs, mask=mask, other=0).to(tl.float32)
    a_row = tl.load(a_ptr + offs, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + offs, mask=mask, other=0).to(tl.float32)
    sig_a = tl.sigmoid(a_row)
    silu_a = a_row * sig_a
    db_row = dc_row * silu_a
    da_row = dc_row * (silu_a * (1 - sig_a) + sig_a) * b_row
    tl.store(da_ptr + offs, da_row.to(da_ptr.dtype.element_ty), mask=mask)
    tl.store(db_ptr + offs, db_row.to(db_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dc, a, b):
    dc, a, b = dc.contiguous(), a.contiguous(), b.contiguous()
    da, db = torch.empty_like(a), torch.empty_like(b)
    n = a.numel()
    if n:
        _swiglu_backward_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](
            dc, a, b, da, db, n, BLOCK_SIZE=1024
        )
    return da, db


# %% powers_in_the_kernel
# exercise: adamw_step
"""The betas are handed over, and 1 - β and β^t computed in the kernel, in float32."""


@triton.jit
def step_kernel(w_ptr, g_ptr, m_ptr, v_ptr, n, t, lr, beta1, beta2, eps, decay, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    g = tl.load(g_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + offsets, mask=mask, other=0.0)
    v = tl.load(v_ptr + offsets, mask=mask, other=0.0)
    m += (1.0 - beta1) * (g - m)
    v += (1.0 - beta2) * (g * g - v)
    power1 = tl.where(beta1 > 0.0, tl.exp2(t * tl.log2(beta1)), 0.0)
    power2 = tl.exp2(t * tl.log2(beta2))
    root = tl.sqrt(1.0 - power2)
    update = root / (1.0 - power1) * m / (tl.sqrt(v) + eps * root)
    tl.store(w_ptr + offsets, (w - lr * (update + decay * w)).to(w_ptr.dtype.element_ty), mask=mask)
    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)


def adamw_step(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    if param.numel():
        grid = (triton.cdiv(param.numel(), 512),)
        numbers = (param.numel(), float(step), lr, beta1, beta2, eps, weight_decay)
        step_kernel[grid](param, grad.contiguous(), m, v, *numbers, BLOCK=512)


# %% row_reduction
# exercise: row_sum
"""A sum over rows, in a loop over blocks of columns."""


@triton.jit
def row_sum_kernel(x_ptr, y_ptr, columns, row_step, column_step, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in tl.range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * row_step + c * column_step, mask=c < columns, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(total, axis=0).to(y_ptr.dtype.element_ty))


def row_sum(x):
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    if x.shape[0]:
        row_sum_kernel[(x.shape[0],)](x, y, x.shape[1], *x.stride(), BLOCK=256)
    return y


# %% two_outputs
# exercise: swiglu_backward
"""Two outputs of one launch, in a list."""


@triton.jit
def swiglu_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    dgate = dy * up * s * (1 + gate * (1 - s))
    tl.store(dgate_ptr + offsets, dgate.to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + offsets, (dy * gate * s).to(dup_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dy, gate, up):
    dy, gate, up = (t.contiguous() for t in (dy, gate, up))
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    if dy.numel():
        swiglu_kernel[(triton.cdiv(dy.numel(), 256),)](dy, gate, up, dgate, dup, dy.numel(), BLOCK=256)
    return [dgate, dup]


# %% weight_by_broadcast
# exercise: rms_norm_forward
"""Several rows to a program; every row asks for the weight, and one fetch serves them all."""


@triton.jit
def block_rms(Y, X, W, R, n_rows, n_cols, sx, eps, BLOCK_ROW: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROW + tl.arange(0, BLOCK_ROW)
    cols = tl.arange(0, BLOCK_SIZE)
    rm, cm = rows < n_rows, cols < n_cols
    mask = rm[:, None] & cm[None, :]
    x = tl.load(X + rows[:, None] * sx + cols[None, :], mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols[None, :] + rows[:, None] * 0, mask=mask, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, axis=1) / n_cols + eps)
    tl.store(R + rows, r, mask=rm)
    tl.store(Y + rows[:, None] * n_cols + cols[None, :], (x * r[:, None] * w).to(Y.dtype.element_ty), mask=mask)


def rms_norm_forward(x, weight, eps=1e-6):
    x = x if x.stride(1) == 1 else x.contiguous()
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    r = torch.empty(M, dtype=torch.float32, device=x.device)
    if M:
        block_rms[(triton.cdiv(M, 4),)](
            y, x, weight.contiguous(), r, M, N, x.stride(0), eps, BLOCK_ROW=4, BLOCK_SIZE=triton.next_power_of_2(N)
        )
    return y, r
