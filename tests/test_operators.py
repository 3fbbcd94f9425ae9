"""The operators that a PyTorch answer may call: the list, and what an answer is told that calls another."""

import pytest
import torch
from attacks.table import ATTACKS, HONEST, read
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.operators import GRADIENTS, PERMITTED, is_permitted
from graded_kernels.autograder.runner import InProcess
from graded_kernels.autograder.source import Answer, Cell, load

_ARGUMENTS = {
    "silu_forward": lambda x, g: (x,),
    "silu_backward": lambda x, g: (g, x),
    "gelu_backward": lambda x, g: (g, x),
    "layer_norm_backward": lambda x, g: (g, x, torch.ones(6), x.mean(1), 1 / x.std(1, unbiased=False)),
    "cross_entropy_forward": lambda x, g: (x, torch.tensor([0, 5, -100, 2])),
    "cross_entropy_backward": lambda x, g: (g[:, 0], x, torch.tensor([0, 5, -100, 2]), x.logsumexp(1)),
    "linear_cross_entropy": lambda x, g: (x, g, torch.tensor([0, 3, -100, 2])),
}


def called(path):
    """The outcome of the file's function, called in this process."""
    submission = read(path)
    function = load(Answer(submission.exercise, (Cell(submission.name, path.read_text()),)))
    generator = torch.Generator().manual_seed(3)
    x, g = torch.randn(4, 6, generator=generator), torch.randn(4, 6, generator=generator)
    runner = InProcess(function, EXERCISES[submission.exercise], "torch")
    return runner.call(_ARGUMENTS[submission.exercise](x, g))


def test_every_name_on_the_list_is_an_operator():
    known = {name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    known |= {s.name.split("::")[1] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    assert {name for name in PERMITTED | GRADIENTS if name not in known and f"{name}_" not in known} == set()


def test_in_place_and_overloads_count_as_the_operator_itself_and_other_namespaces_do_not():
    assert all(map(is_permitted, ("aten::add_.Tensor", "aten::__lshift__", "aten::sum.dim_IntList", "aten::fill_")))
    assert not any(map(is_permitted, ("prims::mul", "mkldnn::_linear_pointwise", "aten::silu_", "aten::glu")))
    assert is_permitted("aten::sigmoid_backward", gradients=True) and not is_permitted("aten::sigmoid_backward")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gated_unit", "You called glu, which is not among the operators"),
        ("gated_unit_backward", "You called glu_backward, which is not among the operators"),
        ("pointwise_linear", "You called _linear_pointwise, which is not among the operators"),
        ("normalised_group_backward", "You called native_group_norm_backward, which is not among the operators"),
        ("running_sum", "You called logcumsumexp, which is not among the operators"),
        ("engine_called_directly", "PyTorch differentiates sigmoid here"),
        ("gradient_function_called", "PyTorch differentiates sigmoid here"),
        ("forward_mode", "PyTorch differentiates"),
    ],
)
def test_the_operator_is_named_with_the_cure(name, sentence):
    trouble = called(ATTACKS / f"{name}.py").trouble
    assert trouble.kind == "refused" and trouble.message.startswith(sentence)
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
    outcome = called(HONEST / f"{name}.py")
    assert outcome.trouble is None and not outcome.findings


def test_torch_func_differentiates_nothing():
    record = EXERCISES["silu_backward"]

    def silu_backward(dy, x):
        _, back = torch.func.vjp(lambda v: v * torch.sigmoid(v), x)
        return back(dy)[0]

    outcome = InProcess(silu_backward, record, "torch").call((torch.ones(3), torch.ones(3)))
    assert outcome.trouble.kind == "refused" and "the derivative is the exercise" in outcome.trouble.message.lower()
