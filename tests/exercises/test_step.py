"""AdamW, the norm and random rounding: the oracles, and what the functions of a training script promise."""

import copy
import re
import sys

import pytest
import torch
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.runner import Tree
from graded_kernels.course import gpt
from graded_kernels.kernels import adamw, gradient_norm
from graded_kernels.solutions import adamw as in_pytorch
from turns import in_turn

STEP, NORM = EXERCISES["adamw_step"], EXERCISES["global_norm"]


def drawn(seed: int = 0, dtype=torch.float32, shape=(6, 7)):
    """param, grad, m and v, the last two float32."""
    generator = torch.Generator().manual_seed(seed)
    param, grad, m, v = (torch.randn(shape, generator=generator) for _ in range(4))
    return param.to(dtype), grad.to(dtype), m, v.square()


def test_the_oracle_is_pytorchs_adamw():
    """257 steps in float64, each from the state that the one before left."""
    p, _, m, v = (t.double() for t in drawn())
    m, v = m * 0, v * 0
    theirs = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.AdamW([theirs], lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)
    for step in range(1, 258):
        theirs.grad = drawn(step)[1].double()
        optimizer.step()
        p, m, v = STEP.oracle(p, theirs.grad, m, v, step, 0.02, 0.8, 0.95, 1e-3, 0.1)
        torch.testing.assert_close(p, theirs.detach(), rtol=1e-12, atol=1e-12)


def test_random_bits_round_to_the_number_itself_on_average():
    bits = torch.arange(2**16, dtype=torch.int32)
    for value in (1.2345, -3.3e-7, 7e-40, 2.0**100 * 1.001, 0.0):
        x = torch.tensor(value)
        y = EXERCISES["stochastic_round"].oracle(x.expand(2**16), bits)
        assert y.mean() == x.double()
        assert len(y.unique()) <= 2


@pytest.mark.parametrize("number", range(len(STEP.cases)), ids=[case.name for case in STEP.cases])
def test_a_step_on_either_device_is_its_answers(number, monkeypatch):
    """Bit for bit: PyTorch's on a CPU, and Triton's, in the emulator, where a GPU would be."""
    args = STEP.cases[number].inputs(torch.Generator().manual_seed(number))
    for answer, by_triton in ((in_pytorch.adamw_step, False), (adamw.adamw_step, True)):
        module = sys.modules[kernels.adamw_step.__module__]
        monkeypatch.setattr(module, "use_triton", lambda x, by_triton=by_triton: by_triton)
        with Emulator() as emulator:
            found, right = (STEP.contract.results_of(one, args) for one in (kernels.adamw_step, answer))
        assert emulator.findings == ()
        for one, other in zip(found, right, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_weights_of_any_strides_are_written():
    param, grad, m, v = drawn()
    right = STEP.contract.results_of(kernels.adamw_step, (param, grad, m, v, 3))
    others = [param.t().contiguous().t(), grad, torch.stack((m, m), -1)[..., 0], v.t().contiguous().t()]
    kernels.adamw_step(*others, 3)
    for one, other in zip((others[0], *others[2:]), right, strict=True):
        assert one.equal(other)


def test_weights_of_float64_have_a_state_of_float64():
    args = [t.double() for t in drawn()]
    right = STEP.oracle(*Tree(tuple(args)).map(torch.clone), 5)
    kernels.adamw_step(*args, 5)
    torch.testing.assert_close((args[0], *args[2:]), right, rtol=1e-14, atol=1e-14)


def test_parameters_that_need_gradients_are_stepped():
    param, grad, m, v = drawn()
    kernels.adamw_step(torch.nn.Parameter(param), grad, m, v, 1)
    assert not m.requires_grad


P, G, M, V = drawn()
META = torch.empty(6, 7, device="meta")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"m": M.half()}, "m must be torch.float32 for weights of torch.float32; it is torch.float16"),
        ({"v": V.double()}, "v must be torch.float32 for weights of torch.float32; it is torch.float64"),
        ({"v": V[:3]}, r"param is \(6, 7\) float32 on cpu, so v must be .*; it is \(3, 7\) float32 on cpu"),
        ({"grad": G.t()}, r"so grad must be of its shape and on its device; it is \(7, 6\) float32 on cpu"),
        ({"grad": META}, r"so grad must be of its shape and on its device; it is \(6, 7\) float32 on meta"),
        ({"grad": G.int()}, "they are torch.float32 and torch.int32"),
        ({"param": P[:1].expand(6, 7)}, r"param is expanded, with strides \(0, 1\): make it contiguous first"),
        ({"step": 0}, "step is an integer, 1 at the first call; it is 0"),
        ({"step": 2.0}, "it is 2.0"),
        ({"step": torch.tensor(3)}, r"it is tensor\(3\)"),
        ({"beta1": 1.0}, "beta1 must be 0 or more and less than 1; it is 1.0"),
        ({"beta2": -0.1}, "beta2 must be 0 or more and less than 1; it is -0.1"),
        ({"beta2": float("nan")}, "it is nan"),
        ({"lr": -1e-3}, "lr must be 0 or more; it is -0.001"),
        ({"eps": -1.0}, "eps must be 0 or more; it is -1.0"),
        ({"weight_decay": float("nan")}, "weight_decay must be 0 or more; it is nan"),
    ],
)
def test_a_step_names_what_does_not_fit_and_writes_nothing(changed, says):
    args = {"param": P, "grad": G, "m": M, "v": V, "step": 4} | changed
    before = {name: copy.deepcopy(value) for name, value in args.items()}
    with pytest.raises(ValueError, match=says) as error:
        kernels.adamw_step(**args)
    assert re.fullmatch(r"adamw_step: [^\n]+", str(error.value))
    for name, value in args.items():
        if isinstance(value, torch.Tensor) and value.device.type == "cpu":
            assert value.equal(before[name])


@pytest.mark.parametrize(("number", "by_triton"), in_turn(range(len(NORM.cases)), (False, True)))
def test_clipping_on_either_device(number, by_triton, monkeypatch):
    """The norm before, and gradients whose norm is the limit afterwards, where it was above."""
    (given,) = Tree(NORM.cases[number].inputs(torch.Generator().manual_seed(number))).copied()
    grads = [g.clone() for g in given]  # elements in one place cannot be written
    monkeypatch.setattr(sys.modules[kernels.clip_by_global_norm.__module__], "use_triton", lambda x: by_triton)
    right = NORM.oracle([g.double() for g in grads])
    with Emulator() as emulator:
        norm = kernels.clip_by_global_norm(grads, 0.75)
    assert emulator.findings == ()
    torch.testing.assert_close(norm.double(), right, rtol=1e-5, atol=0, equal_nan=True)
    assert [g.dtype for g in grads] == [g.dtype for g in given]
    if right.isfinite():
        after, wanted = NORM.oracle([g.double() for g in grads]), min(right, torch.tensor(0.75).double())
        torch.testing.assert_close(after, wanted, rtol=5e-3, atol=0)
    else:
        assert all(g.isnan().all() for g in grads)


def test_clipping_is_pytorchs_where_the_norm_is_finite():
    generator = torch.Generator().manual_seed(0)
    grads = [torch.randn(shape, generator=generator) for shape in ((5, 7), (300,))]
    for limit in (0.0, 0.3, 1e3):
        theirs = torch.nn.Linear(1, 1, bias=True)
        theirs.weight, theirs.bias = (torch.nn.Parameter(torch.zeros_like(g)) for g in grads)
        theirs.weight.grad, theirs.bias.grad = (g.clone() for g in grads)
        ours = [g.clone() for g in grads]
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit)
        torch.testing.assert_close(kernels.clip_by_global_norm(ours, limit), norm)
        torch.testing.assert_close(ours, [theirs.weight.grad, theirs.bias.grad])


def test_a_small_coefficient_is_not_rounded_to_half_precision():
    grads = [torch.full((400,), 3e4, dtype=torch.float16), torch.full((4,), 1.0)]
    kernels.clip_by_global_norm(grads, 1e-2)
    torch.testing.assert_close(grads[0].double(), torch.full((400,), 5e-4).double(), rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    ("grads", "limit", "says"),
    [
        ([G], -1.0, "max_norm must be 0 or more; it is -1.0"),
        ([G], float("nan"), "max_norm must be 0 or more; it is nan"),
        ([G, META], 1.0, r"grads\[1\] must be on the device of grads\[0\], cpu; it is \(6, 7\) float32 on meta"),
        ([G, G.int()], 1.0, r"grads\[1\] must be floating point; it is \(6, 7\) int32 on cpu"),
        ([G, G[:1].expand(6, 7)], 1.0, r"grads\[1\] is expanded, with strides \(0, 1\): make it contiguous first"),
    ],
)
def test_clipping_names_what_does_not_fit_and_writes_nothing(grads, limit, says):
    before = G.clone()
    with pytest.raises(ValueError, match=says) as error:
        kernels.clip_by_global_norm(grads, limit)
    assert re.fullmatch(r"clip_by_global_norm: [^\n]+", str(error.value))
    assert G.equal(before)


class Optimizer(torch.optim.Optimizer):
    """What a training script makes of the two functions."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "step": 0})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            group["step"] += 1
            kernels.clip_by_global_norm([w.grad for w in group["params"]], 1.0)
            for w in group["params"]:
                m, v = self.state[w].setdefault("means", torch.zeros(2, *w.shape))
                kernels.adamw_step(w, w.grad, m, v, group["step"], group["lr"])


class Clipped(torch.optim.AdamW):
    """PyTorch's."""

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.param_groups[0]["params"], 1.0)
        super().step()


def losses(optimizer_of, steps: int) -> torch.Tensor:
    """Of a small GPT on the diary."""
    torch.manual_seed(0)
    text, found = gpt.encode(gpt.corpus(300)), []
    model = gpt.GPT(vocab=50, context=16, width=16, layers=1, heads=2)
    optimizer = optimizer_of(model.parameters(), lr=3e-3)
    for _ in range(steps):
        window = text[torch.randint(len(text) - 17, (4, 1)) + torch.arange(17)]
        loss = torch.nn.functional.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return torch.tensor(found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("by_triton", [False, True])
def test_a_model_learns_as_with_pytorchs_adamw(by_triton, monkeypatch):
    """300 steps, and three where each launch is emulated."""
    for function in (kernels.adamw_step, kernels.clip_by_global_norm):
        monkeypatch.setattr(sys.modules[function.__module__], "use_triton", lambda x: by_triton)
    steps = 3 if by_triton else 300
    with Emulator() as emulator:
        ours = losses(Optimizer, steps)
    theirs = losses(Clipped, steps)
    assert emulator.findings == ()
    assert bool(emulator.launches) == by_triton
    assert by_triton or ours[-1] < ours[0] / 1.3
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=0)


@pytest.mark.exhaustive
def test_both_compile_without_a_graph_break():
    def both(param, grad, m, v, step):
        norm = kernels.clip_by_global_norm([grad], 1.0)
        kernels.adamw_step(param, grad, m, v, step)
        return norm

    eager, compiled = drawn(), drawn()
    torch.compiler.reset()
    compile_of = torch.compile(both, fullgraph=True, backend="aot_eager")
    for step in (1, 2, 3):
        torch.testing.assert_close(compile_of(*compiled, step), both(*eager, step))
    torch.testing.assert_close(compiled, eager)


def test_pytorchs_own_counter_is_float32_whatever_the_default():
    """As chapter 08 says."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        weight = torch.nn.Parameter(torch.zeros(3))
        weight.grad = torch.ones_like(weight)
        optimizer = torch.optim.AdamW([weight])
        optimizer.step()
    finally:
        torch.set_default_dtype(torch.float32)
    assert optimizer.state[weight]["step"].dtype == torch.float32


def test_the_norm_of_nothing_is_zero():
    assert kernels.clip_by_global_norm([], 1.0) == 0
    assert gradient_norm.global_norm([]) == 0
