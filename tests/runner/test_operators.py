"""The operators that a PyTorch answer may call: the list, and what an answer is told that calls another."""

import pytest
import torch
from attacks.submissions import attacks, honest
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import ATEN
from graded_kernels.autograder.runner.call.answer import Answer, AnswerError, Cell, OperatorRefused
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.runner import InProcess
from graded_kernels.autograder.runner.sandbox import Isolated, probe
from graded_kernels.autograder.runner.sandbox.worker import blocked_operators

BEST = probe().level

_ARGUMENTS = {
    "silu_forward": lambda x, g: (x,),
    "silu_backward": lambda x, g: (g, x),
    "gelu_backward": lambda x, g: (g, x),
    "layer_norm_backward": lambda x, g: (g, x, torch.ones(6), x.mean(1), 1 / x.std(1, unbiased=False)),
    "cross_entropy_forward": lambda x, g: (x, torch.tensor([0, 5, -100, 2])),
    "cross_entropy_backward": lambda x, g: (g[:, 0], x, torch.tensor([0, 5, -100, 2]), x.logsumexp(1)),
    "linear_cross_entropy_forward_backward": lambda x, g: (x, g, torch.tensor([0, 3, -100, 2])),
}


def called(submission):
    """The outcome of the submission's function, called in this process."""
    function = Answer(submission.exercise, (Cell(submission.name, submission.source),)).load()
    generator = torch.Generator().manual_seed(3)
    x, g = torch.randn(4, 6, generator=generator), torch.randn(4, 6, generator=generator)
    runner = InProcess(function, EXERCISES[submission.exercise].contract, "torch")
    return runner.examine(Call(_ARGUMENTS[submission.exercise](x, g))).first


def test_every_name_on_the_list_is_an_operator():
    known = {name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    known |= {s.name.split("::")[1] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    assert {name for name in ATEN.permitted | ATEN.gradients if name not in known and f"{name}_" not in known} == set()


def test_every_operator_can_be_refused():
    """Some have overloads that the dispatcher does not know, as mul has for lists."""
    refused = set()

    class Overrides:
        def refuse(self, key, full, why):
            refused.add(full.removeprefix("aten::").partition(".")[0])

    names = {name.removeprefix("aten::").split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    for name in names & ATEN.permitted | {"silu", "softmax", "layer_norm"}:
        blocked_operators._refuse_every_kernel(Overrides(), name, "why")
        assert name in refused


def test_in_place_and_overloads_count_and_other_namespaces_do_not():
    assert all(map(ATEN.permits, ("aten::add_.Tensor", "aten::__lshift__", "aten::sum.dim_IntList", "aten::fill_")))
    assert not any(map(ATEN.permits, ("prims::mul", "mkldnn::_linear_pointwise", "aten::silu_", "aten::glu")))
    assert ATEN.permits("aten::sigmoid_backward", gradients=True)
    assert not ATEN.permits("aten::sigmoid_backward")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gated_unit", "You called glu, which is not among the operators"),
        ("gated_unit_backward", "You called glu_backward, which is not among the operators"),
        ("pointwise_linear", "You called _linear_pointwise, which is not among the operators"),
        ("normalised_group_backward", "You called native_group_norm_backward, which is not among the operators"),
        ("running_sum", "You called logcumsumexp, which is not among the operators"),
        ("engine_called_directly", "autograd differentiates sigmoid here"),
        ("gradient_function_called", "autograd differentiates sigmoid here"),
        ("forward_mode", "autograd differentiates"),
    ],
)
def test_the_operator_is_named_with_the_cure(name, sentence):
    trouble = called(attacks()[name]).trouble
    assert trouble.kind == "refused"
    assert trouble.message.startswith(sentence)
    assert "Write it out" in trouble.message or "write its formula" in trouble.message


@pytest.mark.parametrize(
    "name",
    [
        "error_functions",
        "variance_and_einsum",
        "one_hot_and_index_put",
        "logsumexp_in_chunks",
        "compared_while_loading",
    ],
)
def test_an_honest_style_is_left_alone(name):
    outcome = called(honest()[name])
    assert outcome.trouble is None
    assert not outcome.findings


def test_torch_func_differentiates_nothing():
    record = EXERCISES["silu_backward"]

    def silu_backward(dy, x):
        _, back = torch.func.vjp(lambda v: v * torch.sigmoid(v), x)
        return back(dy)[0]

    outcome = InProcess(silu_backward, record.contract, "torch").examine(Call((torch.ones(3), torch.ones(3)))).first
    assert outcome.trouble.kind == "refused"
    assert "the derivative is the exercise" in outcome.trouble.message.lower()


# What PyTorch's operators may do around a kernel, and what they write


PARTIAL_SUMS = """
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(dy_ptr, x_ptr, w_ptr, rstd_ptr, dx_ptr, part_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    mask = o < N
    x = tl.load(x_ptr + row * N + o, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * N + o, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + o, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal, g = x * rstd, dy * w
    dx = rstd * (g - normal * (tl.sum(g * normal) / N))
    tl.store(dx_ptr + row * N + o, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    tl.store(part_ptr + row * N + o, dy * normal, mask=mask)


def rms_norm_backward(dy, x, weight, rstd):
    M, N = x.shape
    dx, part = torch.empty_like(x), torch.empty(M, N, device=x.device)
    partial_kernel[(M,)](dy, x, weight, rstd, dx, part, N, BLOCK=triton.next_power_of_2(N))
    return dx, RESULT
"""


def rms_arguments():
    generator = torch.Generator().manual_seed(1)
    x, dy = (torch.randn(4, 8, generator=generator).half() for _ in range(2))
    return dy, x, torch.linspace(-1, 2, 8).half(), torch.rand(4, generator=generator) + 0.5


def of_text(source, exercise):
    return Answer(exercise, (Cell("answer", source),))


@pytest.mark.parametrize("cast", ["part.sum(0).to(weight.dtype)", "part.sum(0).view(1, N).half().squeeze(0)"])
def test_an_allowed_sum_may_be_converted(cast):
    function = of_text(PARTIAL_SUMS.replace("RESULT", cast), "rms_norm_backward").load()
    outcome = (
        InProcess(function, EXERCISES["rms_norm_backward"].contract, "triton").examine(Call(rms_arguments())).first
    )
    assert outcome.trouble is None
    assert not outcome.findings
    dy, x, _, rstd = (a.double() for a in rms_arguments())
    assert (outcome.outputs[1].double() - (dy * x * rstd[:, None]).sum(0)).abs().max() < 1e-2


@pytest.mark.skipif(BEST in (None, "weak"), reason=f"not run: this machine isolates nothing. {probe()}")
def test_an_allowed_sum_may_be_converted_in_a_replay():
    answer = of_text(PARTIAL_SUMS.replace("RESULT", "part.sum(0).to(weight.dtype)"), "rms_norm_backward")
    with Isolated(
        answer,
        EXERCISES["rms_norm_backward"].contract,
        "triton",
        level=BEST,
    ) as runner:
        args = rms_arguments()
        examined = runner.examine(Call(args, order=1))
        first, again = examined.first, examined.again
    assert first.trouble is None
    assert again.trouble is None
    assert all(one.equal(other) for one, other in zip(first.outputs, again.outputs, strict=True))


def test_what_was_not_summed_is_not_converted():
    function = of_text(PARTIAL_SUMS.replace("RESULT", "part.to(x.dtype)[0]"), "rms_norm_backward").load()
    trouble = (
        InProcess(function, EXERCISES["rms_norm_backward"].contract, "triton")
        .examine(Call(rms_arguments()))
        .first.trouble
    )
    assert trouble.kind == "converted"
    assert "or `copy_` the tensor" in trouble.message


@pytest.mark.parametrize("read", ["int(flag)", "flag.item()", "flag.tolist()[0]"])
def test_one_number_may_be_read_back_where_there_are_labels(read):
    source = f"""
import torch
import triton
import triton.language as tl

@triton.jit
def flag_kernel(labels_ptr, flag_ptr, M, V, ignore_index):
    for row in range(M):
        label = tl.load(labels_ptr + row)
        if (label != ignore_index) & ((label < 0) | (label >= V)):
            tl.store(flag_ptr, row + 1)

def cross_entropy_backward(dloss, logits, labels, lse, ignore_index=-100):
    flag = torch.zeros(1, dtype=torch.int64, device=labels.device)
    flag_kernel[(1,)](labels, flag, len(labels), logits.shape[1], ignore_index)
    bad = {read}
    if bad:
        raise IndexError(f"labels[{{bad - 1}}] is out of range")
    return torch.empty_like(logits)
"""
    function = of_text(source, "cross_entropy_backward").load()
    runner = InProcess(function, EXERCISES["cross_entropy_backward"].contract, "triton")
    args = (torch.ones(2), torch.ones(2, 3), torch.tensor([0, 5]), torch.ones(2))
    trouble = runner.examine(Call(args)).first.trouble
    assert trouble.kind == "raised"
    assert trouble.message == "IndexError: labels[1] is out of range"


POISON = torch.tensor([0x7EA5, 0x3C00, 0x7EA5, 0x7EA5, 0x4000, 0x7EA5], dtype=torch.int16).view(torch.float16)


def filled(fill):
    source = f"import torch\ndef silu_forward(x):\n    out = torch.empty_like(x)\n    {fill}\n    return out"
    runner = InProcess(of_text(source, "silu_forward").load(), EXERCISES["silu_forward"].contract, "torch")
    return runner.examine(Call((POISON,))).first


@pytest.mark.parametrize(
    "fill",
    [
        "out[:3] = x[:3]; out[3:] = x[3:]",
        "out.copy_(x)",
        "torch.mul(x, 1, out=out)",
        "m = x > 1; out[m] = x[m]; out[~m] = x[~m]",
        "i = torch.arange(6); out.index_copy_(0, i, x)",
        "i = torch.arange(6); out.scatter_(0, i, x)",
        "out.fill_(1); out.masked_scatter_(x != 1, x)",
    ],
)
def test_a_nan_that_goes_through_piece_by_piece_is_written(fill):
    outcome = filled(fill)
    assert outcome.trouble is None
    assert outcome.findings == ()


@pytest.mark.parametrize("fill", ["out[:3] = x[:3]", "m = x > 1; out[m] = x[m]", "pass"])
def test_what_no_operator_wrote_is_still_named(fill):
    outcome = filled(fill)
    assert [finding.kind for finding in outcome.findings] == ["unwritten"]


HALF_BY_A_KERNEL = """
import torch
import triton
import triton.language as tl
@triton.jit
def copy_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.load(x_ptr + i))
def silu_forward(x):
    out = torch.empty_like(x)
    copy_kernel[(1,)](x, out)
    out[4:END].copy_(x[4:END])
    return out
"""


@pytest.mark.parametrize(("end", "kinds"), [("6", []), ("5", ["unwritten"])])
def test_what_a_triton_answer_copies_is_written(end, kinds):
    answer = of_text(HALF_BY_A_KERNEL.replace("END", end), "silu_forward").load()
    outcome = InProcess(answer, EXERCISES["silu_forward"].contract, "triton").examine(Call((POISON,))).first
    assert outcome.trouble is None
    assert [finding.kind for finding in outcome.findings] == kinds


LOADED = """
from __future__ import annotations
import torch
torch.silu(torch.ones(2)).add_(
    1
)
def silu_forward(x: Undefined):
    return x / (1 + torch.exp(-x.float())).to(x.dtype)
later = 1 / 0
after = True
"""


def test_a_statement_that_is_stopped_leaves_the_rest(monkeypatch):
    def closed(x):
        raise OperatorRefused("silu is closed")

    monkeypatch.setattr(torch, "silu", closed, raising=False)
    function = of_text(LOADED, "silu_forward").load(go_on=True)
    assert function(torch.zeros(2)).eq(0).all()
    assert function.__globals__["after"]
    assert function.__annotations__ == {"x": "Undefined"}
    assert function.__code__.co_firstlineno == 7
    with pytest.raises(AnswerError, match="Running the code stopped with OperatorRefused: silu is closed"):
        of_text(LOADED, "silu_forward").load()


def test_an_import_that_fails_ends_the_cell():
    source = "import torch_of_tomorrow\ndef silu_forward(x):\n    return torch_of_tomorrow.silu(x)"
    with pytest.raises(AnswerError, match="ModuleNotFoundError"):
        of_text(source, "silu_forward").load(go_on=True)
