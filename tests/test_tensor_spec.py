"""A tensor as a table describes it: its numbers, dtype and layout, and what describes none."""

import math

import pytest
import torch
from graded_kernels.autograder.instructor.tensor_spec import SpecError, tensor


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ({"values": [[1.0, math.nan], [math.inf, 3]]}, torch.tensor([[1, math.nan], [math.inf, 3]])),
        ({"values": [3, -100]}, torch.tensor([3, -100])),
        ({"values": [3, 2.5]}, torch.tensor([3, 2.5])),
        ({"values": [], "dtype": "float16"}, torch.empty(0).half()),
        ({"values": 3.5}, torch.tensor(3.5)),
        ({"fill": 7, "shape": [2]}, torch.tensor([7, 7])),
        ({"fill": 7, "shape": [2], "dtype": "bfloat16"}, torch.tensor([7, 7]).bfloat16()),
        ({"linspace": [-1, 1], "shape": [3, 1]}, torch.tensor([[-1.0], [0], [1]])),
        ({"fill": 0.0, "shape": [2, 2], "put": [{"at": [1, 0], "value": -0.0}]}, torch.tensor([[0, 0], [-0.0, 0]])),
    ],
)
def test_tensor(table, value):
    made = tensor(table, torch.Generator())
    assert made.dtype == value.dtype
    assert made.shape == value.shape
    assert torch.equal(made.nan_to_num(12345), value.nan_to_num(12345))
    if made.is_floating_point():
        assert torch.equal(made.signbit(), value.signbit())


def test_random_numbers_are_those_of_the_seed():
    for source in ({"normal": [2.0, 0.5]}, {"uniform": [-3, -1]}, {"integers": [5, 9]}):
        table = source | {"shape": [4000]}
        first, again = (tensor(table, torch.Generator().manual_seed(seed)) for seed in (1, 1))
        other = tensor(table, torch.Generator().manual_seed(2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
    assert abs(tensor({"normal": [2.0, 0.5], "shape": [4000]}, torch.Generator()).std() - 0.5) < 0.05
    assert tensor({"integers": [5, 9], "shape": [4000]}, torch.Generator()).unique().tolist() == [5, 6, 7, 8]
    uniform = tensor({"uniform": [-3, -1], "shape": [4000]}, torch.Generator())
    assert -3 <= uniform.min() < -2.9
    assert -1.1 < uniform.max() <= -1


@pytest.mark.parametrize(
    ("layout", "strides"), [("", (3, 1)), ("transposed", (1, 2)), ("strided", (6, 2)), ("expanded", (0, 1))]
)
def test_layout(layout, strides):
    table = {"linspace": [0, 5], "shape": [2, 3]} | ({"layout": layout} if layout else {})
    made = tensor(table, torch.Generator())
    expected = [[0, 1, 2], [0, 1, 2]] if layout == "expanded" else [[0, 1, 2], [3, 4, 5]]
    assert made.stride() == strides
    assert made.tolist() == expected


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"shape": [3]}, "it needs one of values, fill"),
        ({"fill": 1.0, "values": [1.0]}, "values and fill"),
        ({"fill": 1.0}, "it needs a shape"),
        ({"fill": 1.0, "shape": [-1]}, "it needs a shape"),
        ({"fill": 1.0, "shape": [2.5]}, "it needs a shape"),
        ({"values": [1.0], "shape": [1]}, "leave `shape` out"),
        ({"values": [[1.0], [1.0, 2.0]]}, "values: "),
        ({"values": ["one"]}, "values: "),
        ({"fill": 1.0, "shape": [2], "dtype": "float8"}, "no dtype 'float8'; there are float32, float16"),
        ({"normal": 3.0, "shape": [2]}, "normal: "),
        ({"fill": 1.0, "shape": [2], "shap": 3}, "there is no 'shap'"),
        ({"fill": 1.0, "shape": [2], "layout": "transposed"}, "not 'transposed' for 1 dimensions"),
        ({"fill": 1.0, "shape": [2], "put": [{"at": [0, 1], "value": 2}]}, "one index for each of 1 dimensions"),
        ({"fill": 1.0, "shape": [2], "put": [{"at": [7], "value": 2}]}, "fill: index 7 is out of bounds"),
    ],
)
def test_no_tensor(table, message):
    with pytest.raises(SpecError) as caught:
        tensor(table, torch.Generator())
    assert message in str(caught.value)
