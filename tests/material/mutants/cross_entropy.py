"""Cross-entropy, its mean and the fused last layer, broken: (why, old, new, the case that must see it)."""

ORDINARY, NONE, EMPTY, SOME = "ordinary values", "all rows ignored", "no rows", "some rows ignored"
EACH_DLOSS = "a dloss for each row"
NEXT_ROW, NEGATIVE, FAR = "a label of V", "a negative label", "a label far out of range"
CERTAIN_HALF = "a nearly certain label, bfloat16"
STEP = "num_items of the whole step"
LONG = "3 rows of 8193, every second column"

MUTANTS = {
    ("label_logits", "torch"): (
        ("asks for the largest label", "if bad.any():", "if labels.max() >= V or bad.any():", EMPTY),
        ("lets -1 pass", "(labels < 0)", "(labels < -1)", NEGATIVE),
        (
            "lets -100 pass, whatever is ignored",
            "bad = (labels != ignore_index)",
            "bad = (labels != ignore_index) & (labels != -100)",
            "a label of -100",
        ),
        ("takes V for a bad label, ignored or not", "| (labels >= V))", ") | (labels >= V)", "ignore_index = V"),
        (
            "takes -1 for a bad label, ignored or not",
            "bad = (labels != ignore_index) & ((labels < 0)",
            "bad = (labels == -1) | (labels != ignore_index) & ((labels < 0)",
            "ignore_index = -1",
        ),
        ("needs two classes", "labels.where(keep, 0)", "labels.where(keep, 1)", "1 class"),
        ("names the last bad row", "bad.int().argmax()", "bad.nonzero()[-1]", NEXT_ROW),
        ("does not name the row", "labels[{row}] is", "a label is", NEXT_ROW),
        ("raises a ValueError", "raise IndexError", "raise ValueError", FAR),
        ("takes ignored labels for bad ones", "(labels != ignore_index) & ((", "(labels == labels) & ((", SOME),
        (
            "believes that -100 is the only one",
            "return own.where(keep, 0)",
            "return own.where(labels >= 0, 0)",
            "ignore_index = 0",
        ),
    ),
    ("cross_entropy_forward", "torch"): (
        ("subtracts no maximum", "top = x.amax(1, keepdim=True)", "top = x.amax(1, keepdim=True) * 0", "large logits"),
        ("subtracts the maximum of the batch", "x.amax(1, keepdim=True)", "x.amax().expand(len(x), 1)", "large logits"),
        (
            "starts the maximum at 0",
            "x.amax(1, keepdim=True)",
            "x.amax(1, keepdim=True).clamp(min=0)",
            "logits far below zero",
        ),
        (
            "-inf - -inf",
            "    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN\n",
            "",
            "masked classes",
        ),
        ("leaves the label out of lse", "torch.logaddexp(others, own).where", "others.where", ORDINARY),
        (
            "does not check the labels",
            "own = label_logits(x, labels, ignore_index)",
            "own = x.gather(1, labels.where(keep, 0).clamp(0, x.shape[1] - 1).unsqueeze(1)).squeeze(1)",
            NEXT_ROW,
        ),
    ),
    ("cross_entropy_backward", "torch"): (
        ("ignores dloss", "own).mul_(dloss.unsqueeze(1))", "own)", EACH_DLOSS),
        (
            "scales every row by the first",
            "own).mul_(dloss.unsqueeze(1))",
            "own).mul_(dloss[:1].unsqueeze(1))",
            EACH_DLOSS,
        ),
        ("forgets the label", ".scatter_(1, column, own)", "", ORDINARY),
        ("has another default", "ignore_index: int = -100\n)", "ignore_index: int = 100\n)", SOME),
        ("1 - p", "own = log_p.gather(1, column).expm1()", "own = -log_p.gather(1, column).expm1()", ORDINARY),
        (
            "reads p back in half precision",
            "log_p.gather(1, column).expm1()",
            "log_p.exp().to(logits.dtype).float().gather(1, column) - 1",
            CERTAIN_HALF,
        ),
        (
            "computes in the dtype of logits",
            "logits.to(torch.promote_types(logits.dtype, torch.float32)) - lse.unsqueeze(1)",
            "logits - lse.unsqueeze(1).to(logits.dtype)",
            "bfloat16",
        ),
        ("returns float32", ".to(logits.dtype)", ".float()", "float16"),
        (
            "takes the mean itself",
            "own).mul_(dloss.unsqueeze(1))",
            "own).mul_(dloss.unsqueeze(1) / max(len(dloss), 1))",
            ORDINARY,
        ),
    ),
    ("token_mean", "torch"): (
        ("divides by all rows", "items = keep.sum() if", "items = keep.new_tensor(len(loss)).long() if", SOME),
        (
            "counts the labels above ignore_index",
            "keep = labels != ignore_index",
            "keep = labels > ignore_index",
            "ignore_index above every label",
        ),
        ("divides 0 by 0", "torch.where(items > 0, total / items.clamp(min=1), 0)", "total / items", "no token"),
        ("asks for falsy numbers", "if num_items is None else", "if not num_items else", "num_items = 0 and tokens"),
        (
            "ignores num_items",
            "keep.sum() if num_items is None else torch.as_tensor(num_items, device=loss.device)",
            "keep.sum()",
            STEP,
        ),
        (
            "divides by 0 where it is not looked at",
            "total / items.clamp(min=1)",
            "total / items",
            "num_items = 0 and tokens",
        ),
        ("adds an epsilon", "total / items.clamp(min=1)", "total / (items + 1e-3)", ORDINARY),
        (
            "is a constant without tokens",
            "    return torch.where",
            "    if items == 0:\n        return torch.zeros(())\n    return torch.where",
            "no token",
        ),
        (
            "is no function of loss",
            "total = loss.where(keep, 0).sum()",
            "total = loss.detach().where(keep, 0).sum()",
            ORDINARY,
        ),
        ("hides NaN", "loss.where(keep, 0)", "loss.nan_to_num().where(keep, 0)", "NaN in one row"),
    ),
    ("cross_entropy_witness", "torch"): (
        ("one label counts", "[-100, -100]", "[-100, 1]", "an error of Liger-Kernel 0.0.1-0.2.1"),
        ("a label out of range", "[-100, -100]", "[-100, 3]", "a valid input"),
        ("labels for another batch", "[-100, -100]", "[-100]", "a valid input"),
        ("an infinite logit", "2.0]", "float('inf')]", "a valid input"),
    ),
    ("linear_cross_entropy_forward_backward", "torch"): (
        ("divides by all rows", "items = max(len(kept), 1)", "items = max(len(labels), 1)", SOME),
        ("holds all logits", "size = max(16, -(-len(kept) // 32))", "size = max(1, len(kept))", "peak memory"),
        (
            "keeps only the last chunk of dweight",
            "dweight += dlogits.t() @ x",
            "dweight = dlogits.t() @ x",
            "17 classes",
        ),
        (
            "rounds the logits to the dtype of weight",
            "logits = x @ w.t()",
            "logits = (x @ w.t()).to(weight.dtype).to(wide)",
            "bfloat16",
        ),
        (
            "does not check the labels of the whole",
            "    check_labels(labels, weight.shape[0], ignore_index)\n",
            "",
            NEXT_ROW,
        ),
        (
            "leaves ignored rows in the sum",
            "kept = (labels != ignore_index)",
            "kept = (labels != -100)",
            "ignore_index = 0",
        ),
        (
            "dweight is transposed into place",
            "dweight += dlogits.t() @ x",
            "dweight += (x.t() @ dlogits).reshape(dweight.shape)",
            ORDINARY,
        ),
    ),
    ("cross_entropy_forward", "triton"): (
        (
            "starts the maximum at 0",
            "top = tl.full((LANES,), -3.4028234663852886e38, tl.float32)",
            "top = tl.zeros((LANES,), tl.float32)",
            "logits far below zero",
        ),
        (
            "leaves out the last label behind whole blocks",
            "range(0, M, BLOCK)",
            "range(0, tl.maximum(M - 1, 1), BLOCK)",
            "a bad label in the last of 4097 rows",
        ),
        (
            "pads the row with zeros",
            'mask=cols < V, other=float("-inf")',
            "mask=cols < V, other=0.0",
            "17 classes",
        ),
        (
            "reads long rows as if they lay side by side",
            "logits = logits.contiguous()\n",
            "logits = logits if logits.shape[1] > 8192 else logits.contiguous()\n",
            LONG,
        ),
        (
            "misses a last block of one",
            "for start in range(whole, V, LANES):",
            "for start in range(whole, V - 1, LANES):",
            LONG,
        ),
        ("1.00001 + e", "u = 1.0 + e", "u = 1.00001 + e", "2 classes"),
        ("begins at the second label", "rows = start + tl", "rows = start + 1 + tl", FAR),
        (
            "one block only",
            "for start in range(0, whole, K * LANES):",
            "for start in range(0, tl.minimum(whole, K * LANES), K * LANES):",
            "20011 classes",
        ),
        (
            "keeps the label of a long row in the sum",
            "if (label >= start) & (label < start + K * LANES):",
            "if (label >= start) & (label < start):",
            "20011 classes",
        ),
        (
            "does not check the labels",
            "    check_labels(labels, logits.shape[1], ignore_index)\n",
            "",
            NEXT_ROW,
        ),
        (
            "checks the first block of labels",
            "    for start in range(0, M, BLOCK):\n        rows",
            "    for start in range(0, M - M, BLOCK):\n        rows",
            NEXT_ROW,
        ),
        (
            "reads logits twice",
            "    row_top = tl.max(top)\n",
            "    for start in range(0, V, LANES):\n"
            "        cols = start + tl.arange(0, LANES)\n"
            "        total += 0.0 * tl.load(logits_ptr + cols, mask=cols < V, other=0.0).to(tl.float32)\n"
            "    row_top = tl.max(top)\n",
            "memory traffic",
        ),
        (
            "reads logits as if they lay side by side",
            "    logits = logits.contiguous()\n",
            "",
            "transposed",
        ),
        (
            "takes an ignored row for class 0",
            "    if label == ignore_index:\n        tl.store(loss_ptr + row, 0.0)",
            "    if label == ignore_index:\n        tl.store(loss_ptr + row, 1.0)",
            NONE,
        ),
    ),
    ("cross_entropy_backward", "triton"): (
        (
            "leaves ignored rows unwritten",
            "    row = tl.program_id(0).to(tl.int64)\n",
            "    row = tl.program_id(0).to(tl.int64)\n"
            "    if tl.load(labels_ptr + row) == ignore_index:\n"
            "        return\n",
            SOME,
        ),
        (
            "reads dloss past its end",
            "dloss, logits = dloss.contiguous(), logits.contiguous()",
            "logits = logits.contiguous()",
            "dloss of stride 0",
        ),
        (
            "holds dloss in half precision, where it is 0 below 3e-8",
            "tl.load(dloss_ptr + row, mask=keep, other=0.0).to(tl.float32)",
            "tl.load(dloss_ptr + row, mask=keep, other=0.0).to(tl.float16).to(tl.float32)",
            "tiny dloss, every second of a longer one",
        ),
        (
            "p - 1 in half precision",
            "expm1(own - lse)",
            "(tl.exp(own - lse).to(dlogits_ptr.dtype.element_ty).to(tl.float32) - 1.0)",
            CERTAIN_HALF,
        ),
        ("works in place", "dlogits = torch.empty_like(logits)", "dlogits = logits", ORDINARY),
    ),
    ("linear_cross_entropy_forward_backward", "triton"): (
        ("divides by all rows", "n = len(kept)\n    dloss", "n = max(len(labels), len(kept))\n    dloss", SOME),
        ("holds all logits", "size = max(16, triton.cdiv(n, 16))", "size = max(16, n)", "peak memory"),
        ("does not add up dweight", "total if start else None\n", "None\n", "17 classes"),
        ("leaves out the last rows", "range(0, n, size)", "range(0, n - 1, size)", "one row"),
        (
            "gives dweight the strides of weight",
            "torch.zeros(V, D, dtype=weight.dtype, device=device)",
            "torch.zeros_like(weight)",
            "transposed",
        ),
        (
            "takes -100 alone for an ignored label",
            "kept = labels.ne(ignore_index)",
            "kept = labels.ne(-100)",
            "ignore_index above V",
        ),
        ("checks no labels", "    check_labels(labels, weight.shape[0], ignore_index)\n", "", FAR),
        (
            "holds the logits in half precision",
            "torch.empty(len(rows), V, dtype=torch.float32, device=device)",
            "torch.empty(len(rows), V, dtype=weight.dtype, device=device)",
            "a nearly certain label, bfloat16",
        ),
        (
            "reads weight by another's strides",
            "add_product(x, weight.t(), logits,",
            "add_product(x, weight.as_strided((D, V), (1, D)), logits,",
            "every second column",
        ),
    ),
}
