"""The flagged programs of TritonBench_G that carry no label, each read by hand: whose fault it is, and why."""

UNDEFINED = "masked-off lanes without `other` enter a sum"
SMALL_HEADS = f"128 lanes for a head of 96, masked in q and k: {UNDEFINED}"
BOUNDARY = (
    "a block pointer's `boundary_check` without `padding_option` leaves what is outside undefined, and it is summed"
)
AND = "right: `and` of two masks, of which Triton's interpreter takes the second alone"
SAME_PLACE = "several programs store to one address: "

JUDGED = {
    "attention_forward_triton": ("undefined", SMALL_HEADS),
    "attention_fwd_triton2": ("undefined", SMALL_HEADS),
    "attn_fwd_causal": ("undefined", SMALL_HEADS),
    "attn_fwd_triton": ("undefined", SMALL_HEADS),
    "chunk_cumsum_vector": ("undefined", f"{BOUNDARY}, times 0"),
    "chunk_retention": (
        "wrong",
        "line 178 is behind the loop, where `i_t` is 0: of `dh`, from `new_empty`, one chunk is stored, at swapped "
        "offsets; line 243 reads all of them into dk and dv. (What line 172 reads is never used.)",
    ),
    "context_attn_fwd": ("wrong", SAME_PLACE + "`b_start_loc` is all zeros, so that 16 sequences have row 0 of `o`"),
    "context_attn_llama": (
        "wrong",
        "the test never fills `req_to_token_indexs` (`torch.empty`); line 79 takes rows of `K` from it",
    ),
    "cross_entropy2": (
        "wrong",
        "the test prints `loss`, `lse` and `z_loss` (`torch.empty`), lines 129 to 131: 4 x 8 elements each, of which "
        "the kernel stores one for each of 4 rows and 2 blocks",
    ),
    "dequantize_matmul": (
        "wrong",
        "the test's grid counts blocks of a size of its own, the kernel has the autotuner's: where that is smaller, "
        "part of `fp_b` (`torch.empty`) is never written, and `torch.mm` reads it",
    ),
    "diag_ssm_triton": (
        "false alarm",
        "right: line 62 loads the step before `t`, and only where `t > 0`",
    ),
    "flash_decode2_llama": ("wrong", "`B_Seqlen` of 32 and 64 is 4 and 8 blocks of 8; `mid_out` has 3"),
    "flash_decode2_phi": ("wrong", "`B_Seqlen` up to 47 is up to 6 blocks of 8 in test 3; `mid_out` has 3"),
    "fp4_to_bf16_conversion": (
        "wrong",
        "line 147 asks libdevice for a power of float32 and int16, which it does not have: Triton's compiler refuses "
        "the kernel, here and on the H100",
    ),
    "index_select_bwd": (
        "wrong",
        SAME_PLACE + "the indices of test 3 are all 0, and line 48 stores where it had to add",
    ),
    "iv_dependent_matmul": (
        "false alarm",
        "right: 256 is a multiple of the block of 32, and step k loads columns up to 32 k + 31; the pointers that are "
        "moved past the end after the last step are not loaded from",
    ),
    "kv_cache_filling": ("wrong", SAME_PLACE + "`block_offsets` is all zeros, so that all sequences have block 0"),
    "layer_norm_liger": (
        "false alarm",
        "right: the loop is over this program's rows, and over none where `row_start` is not below `n_rows`",
    ),
    "layer_norm_welfold": (
        "wrong",
        "padding in the variance, line 72: lanes past the row, even where they are 0, add the mean's square; with one "
        "column, as in test 4, and x = 0.66 `rstd` is 0.047 (0 in the lanes), in float64 316",
    ),
    "masked_select": ("false alarm", AND),
    "mean_reduction": ("false alarm", AND),
    "mixed_sparse_attention": (
        "wrong",
        "line 85 loads 64 indices from a row of 8, its mask asks only whether there are any: of 128 the last row reads "
        "112 to 175",
    ),
    "quantize_copy_kv": (
        "wrong",
        SAME_PLACE + "`dest_loc2` is drawn with repetitions; value and scale may be of two rows",
    ),
    "reversed_cumsum": ("undefined", BOUNDARY),
    "reversed_cumsum_scalar": ("undefined", BOUNDARY),
    "sgmv_expand_slice": (
        "wrong",
        "a comma behind line 50 makes `a_ptr` a tuple, from which line 56 loads: Triton's compiler refuses the kernel, "
        "here and on the H100",
    ),
    "swiglu_fwd": (
        "false alarm",
        "right: `Y` is the second half of each row of `xy`, and its last row ends where `xy` does",
    ),
    "token_attn_llama2": (
        "wrong",
        "`K` is (batch, heads, tokens, d), and line 42 multiplies a token's number with the stride of the batch",
    ),
    "triton_argmax": ("false alarm", AND),
    "triton_conv2d_fwd": ("undefined", f"the padding of the image, lines 128 and 129: {UNDEFINED}"),
}
