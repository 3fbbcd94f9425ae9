"""What crosses the wall: tensors as raw memory, and a status that is checked."""

import json
import math

import pytest
import torch
from graded_kernels.autograder.gpu import Finding, KernelLaunch
from graded_kernels.autograder.runner.call.elements import any_numbers
from graded_kernels.autograder.runner.sandbox import status
from graded_kernels.autograder.runner.sandbox.wire import buffers, checked
from graded_kernels.autograder.runner.sandbox.wire.buffers import DTYPES, BufferLayout, Shared

VIEWS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.t(),
    "every second column": lambda t: t[:, ::2],
    "a slice": lambda t: t[1:, 1:],
    "expanded": lambda t: t[:1].expand(7, 6),
    "no dimensions": lambda t: t[0, 0],
    "no elements": lambda t: t[:0],
    "overlapping rows": lambda t: t.reshape(-1).unfold(0, 4, 1),
}


def bytes_of(shared: Shared) -> bytes:
    return bytes(shared.memory)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if not d.is_complex])
def test_a_tensor_arrives_as_it_left(view, dtype):
    tensor = VIEWS[view](torch.randint(0, 2 if dtype == torch.bool else 100, (5, 6)).to(dtype))
    [layout] = buffers.lay_out([tensor])
    with Shared(layout.nbytes) as shared:
        buffers.put(shared, layout, tensor)
        arrived = shared.tensor(BufferLayout.of(json.loads(json.dumps(layout.data()))))
        assert (arrived.dtype, arrived.shape) == (tensor.dtype, tensor.shape)
        assert arrived.equal(tensor)
        assert 0 in tensor.shape or arrived.stride() == tensor.stride()
        assert buffers.same(shared, layout, tensor)


def test_what_lies_between_the_elements_stays_at_home():
    whole = torch.full((4, 6), 7.0)
    tensor = whole[:, ::2]
    [layout] = buffers.lay_out([tensor])
    with Shared(layout.nbytes) as shared:
        buffers.put(shared, layout, tensor)
        there = torch.frombuffer(shared.memory, dtype=torch.float32)[: layout.nbytes // 4]
        assert int((there == 7.0).sum()) == tensor.numel()


@pytest.mark.parametrize(("before", "after"), [(0.0, -0.0), (1.0, math.nan), (1.0, 1.0000001)])
def test_a_changed_bit_is_seen(before, after):
    tensor = torch.tensor([2.0, before, 3.0])
    [layout] = buffers.lay_out([tensor])
    with Shared(layout.nbytes) as shared:
        buffers.put(shared, layout, tensor)
        shared.tensor(layout)[1] = after
        assert not buffers.same(shared, layout, tensor)


def test_the_same_nan_is_no_change():
    tensor = torch.tensor([math.nan, math.inf, -0.0])
    [layout] = buffers.lay_out([tensor])
    with Shared(layout.nbytes) as shared:
        buffers.put(shared, layout, tensor)
        assert buffers.same(shared, layout, tensor)


@pytest.mark.parametrize(
    "layout", [BufferLayout("float32", (2000,), (1,), 0), BufferLayout("float32", (2,), (5000,), 0)]
)
def test_no_tensor_reaches_out_of_its_memory(layout):
    with Shared(100) as shared, pytest.raises(ValueError, match="outside"):
        shared.tensor(layout)


def test_memory_cannot_be_shrunk_under_its_reader():
    import os

    with Shared(100) as shared:
        for size in (0, 1 << 20):
            with pytest.raises(PermissionError):
                os.ftruncate(shared.file, size)


@pytest.mark.parametrize("view", VIEWS)
def test_other_numbers_have_the_same_layout(view):
    chance = torch.Generator().manual_seed(3)
    for tensor in (VIEWS[view](torch.full((5, 6), 7.0)), VIEWS[view](torch.arange(30).reshape(5, 6))):
        other = any_numbers(tensor, chance)
        assert (other.dtype, other.shape, other.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
        if tensor.is_floating_point():
            assert not (other == 7.0).any()
        else:
            assert sorted(other.unique().tolist()) == sorted(tensor.unique().tolist())  # labels stay labels


# Status


def sent(**more) -> bytes:
    return json.dumps({"trouble": None, "outputs": [{"dtype": "float32", "shape": [2]}], **more}).encode()


def test_a_good_status_is_read():
    one = {"kind": "race-read", "message": "t\x1bwo", "kernel": "k", "tensor": "x_ptr", "line": 3}
    one |= {"source": "tl.load(x_ptr)"}
    traffic = {"x_ptr": {"loaded": 8, "stored": 0}, "ins[0][12]": {"loaded": 0, "stored": 4}}
    read = status.read(sent(findings=[one], looser=["exp"], traffic=traffic, peak=12), "")
    assert read.outputs[0].shape == (2,)
    assert read.outputs[0].nbytes == 8
    assert read.findings == (Finding("race-read", "two", "k", "x_ptr", line=3, source="tl.load(x_ptr)"),)
    assert read.looser == ("exp",)
    assert read.traffic == traffic
    assert read.peak == 12


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"\x80\x04\x95",
        b"{" * 100_000,
        b'{"outputs":' * 50_000,
        sent(outputs=3),
        sent(outputs=[{"dtype": "object", "shape": [1]}]),
        sent(outputs=[{"dtype": "float32", "shape": [-1]}]),
        sent(outputs=[{"dtype": "float32", "shape": [True]}]),
        sent(outputs=[{"dtype": "float32", "shape": [2**70]}]),
        sent(outputs=[{"dtype": "float32", "shape": [1] * 100}]),
        sent(outputs=[{"dtype": "float32"}]),
        sent(outputs=[{"value": [1]}]),
        sent(outputs=[{"value": 10**100}]),
        sent(outputs=[[]]),
        sent(trouble="full marks"),
        sent(trouble={"kind": "passed", "message": "", "details": "", "error": ""}),
        sent(trouble={"kind": "raised", "message": 3, "details": "", "error": ""}),
        sent(traffic=[1]),
        sent(traffic={"x": {"loaded": -1, "stored": 0}}),
        sent(traffic={"x": {"loaded": 1.5, "stored": 0}}),
        sent(traffic={"\x1b[2J": {"loaded": 1, "stored": 0}}),
        sent(traffic={"x_ptr, and 12 more": {"loaded": 1, "stored": 0}}),
        sent(traffic={"ins[x]": {"loaded": 1, "stored": 0}}),
        sent(traffic={"[0]": {"loaded": 1, "stored": 0}}),
        sent(findings="one"),
        sent(findings=[1]),
        sent(looser="exp"),
        sent(looser=[["exp"]]),
        sent(launches=[{"kernel": "import os"}]),
        sent(launches=[{"kernel": "k", "signature": {"x": "*fp32"}, "unknown": 1}]),
        sent(launches=[3]),
    ],
)
def test_a_status_of_another_form_is_void(raw):
    with pytest.raises(status.MalformedReport):
        status.read(raw, "")


def test_the_source_of_a_launch_is_the_parents():
    launch = {"kernel": "k", "signature": {"x_ptr": "*fp32"}, "source": "import os"}
    assert status.read(sent(launches=[launch]), "the text").launches == (
        KernelLaunch("k", "the text", {"x_ptr": "*fp32"}),
    )


def test_text_is_cleaned_and_shortened():
    assert checked.clean("a\x1b[31m\x07\u202eb\ud800\tc\nd\0") == "a[31mb\tc\nd"
    assert len(checked.clean("x" * 10_000_000, 100)) < 200


@pytest.mark.parametrize(
    ("read", "value", "wanted"),
    [
        (checked.loads, b"\x80\x04", "This is not JSON"),
        (checked.loads, b"[" * 100_000, "This is not JSON"),
        (checked.loads, b"9" * 5_000, "This is not JSON"),
        (checked.loads, b"[1]", "There should be an object, and there is a list."),
        (checked.items, {"0": 1}, "There should be a list, and there is a dict."),
        (checked.text, None, "There should be text, and there is a NoneType."),
        (checked.name, "x; import os\x1b[2J", r"There should be a name, and there is 'x; import os\\x1b\[2J'."),
        (checked.name, "x" * 101, "There should be a name"),
        (checked.count, True, "There should be a count, and there is a bool."),
        (checked.count, -1, "There should be a count"),
        (checked.count, 2**62, "There should be a count"),
        (checked.count, 1.0, "There should be a count, and there is a float."),
        (checked.number, 2**64, "There should be a number, and there is a int."),
        (checked.number, "1", "There should be a number, and there is '1'."),
    ],
)
def test_a_malformed_message_ends_in_one_sentence(read, value, wanted):
    with pytest.raises(checked.Malformed, match=wanted) as caught:
        read(value)
    sentence = str(caught.value)
    assert sentence.count("\n") == 0
    assert len(sentence) < 120
    assert sentence.endswith(".")


def nested(depth: int):
    value = 1
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


@pytest.mark.parametrize(
    "value", [nested(400), nested(9), {"tuple": [1] * 5_000}, "a" * 5_000, 10**4_000], ids=lambda v: str(v)[:20]
)
def test_a_constant_of_a_launch_is_small(value):
    with pytest.raises(ValueError, match="constant C of kernel kernel is not plain data"):
        KernelLaunch("kernel", "", {}, {"C": value})
    result = {"launches": [{"kernel": "kernel", "signature": {}, "constants": {"C": value}}]}
    with pytest.raises(status.MalformedReport):
        status.read(json.dumps(result).encode(), "")


def test_a_launch_of_a_thousand_levels_is_garbled():
    result = '{"launches": [{"kernel": "k", "signature": {}, "constants": {"C": %s1%s}}]}'
    for depth in (300, 800, 2_000, 100_000):
        with pytest.raises(status.MalformedReport):
            status.read((result % ('{"tuple": [' * depth, "]}" * depth)).encode(), "")
