"""Rotary embedding, the sampler and Gemma's norm: what is exact, what the public functions take, and wild results that
were seen in the libraries themselves.
"""

import math

import mpmath
import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.kernels import gumbel_argmax, rotary
from graded_kernels.kernels.wild import gemma_norm as wild_norm
from graded_kernels.kernels.wild import gumbel_argmax as wild_sampler
from graded_kernels.kernels.wild import rotary as wild
from graded_kernels.solutions import rotary as in_pytorch
from library import random

INV_FREQ = 10_000.0 ** (-torch.arange(0, 8, 2) / 8)


@mpmath.workdps(50)
def test_the_angle_of_the_oracle_is_exact():
    positions = torch.tensor([[2**20 - 1, -(2**20) + 3, 777_777]])
    y = EXERCISES["rotary_forward"].oracle(torch.ones(1, 1, 3, 8).double(), positions, INV_FREQ.double())
    for m, position in enumerate(positions[0].tolist()):
        for i, f in enumerate(INV_FREQ.tolist()):
            angle = mpmath.mpf(position) * mpmath.mpf(f)
            assert abs(y[0, 0, m, i].item() - (mpmath.cos(angle) - mpmath.sin(angle))) < 1e-9
            assert abs(y[0, 0, m, i + 4].item() - (mpmath.cos(angle) + mpmath.sin(angle))) < 1e-9


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_score_depends_on_the_difference_of_the_positions(interleaved):
    q, k = random(1, 1, 1, 8, seed=1, dtype=torch.float64), random(1, 1, 1, 8, seed=2, dtype=torch.float64)
    scores = [
        (
            rotary(q, torch.tensor([[p]]), INV_FREQ, interleaved)
            * rotary(k, torch.tensor([[p - 3]]), INV_FREQ, interleaved)
        )
        for p in (3, 500, 1_000_000)
    ]
    for score in scores[1:]:
        torch.testing.assert_close(score.sum(), scores[0].sum(), rtol=1e-8, atol=1e-8)


def test_a_rotation_has_every_derivative():
    """It is linear, and its gradient is a rotation."""
    x, positions = random(1, 2, 3, 4, dtype=torch.float64).requires_grad_(), torch.tensor([[-7, 0, 500]])
    for interleaved in (False, True):
        assert torch.autograd.gradgradcheck(lambda x, i=interleaved: rotary(x, positions, INV_FREQ[:2], i), x)


def test_positions_may_be_those_of_all_sequences():
    x, positions = random(3, 2, 5, 8), torch.arange(5) * 1000
    rows = rotary(x, positions.repeat(3, 1), INV_FREQ)
    assert rotary(x, positions, INV_FREQ).equal(rows)
    assert rotary(x, positions.unsqueeze(0), INV_FREQ).equal(rows)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"x": torch.zeros(2, 3, 8)}, r"x is \(B, H, M, D\) with an even D; it is \(2, 3, 8\) float32"),
        ({"x": torch.zeros(1, 1, 5, 7)}, r"it is \(1, 1, 5, 7\)"),
        ({"positions": torch.zeros(2, 5)}, r"positions are \(2, 5\) int64; they are \(2, 5\) float32"),
        ({"positions": torch.arange(4)}, r"they are \(4,\) int64"),
        ({"inv_freq": INV_FREQ.bfloat16()}, r"it is \(4,\) bfloat16 .*compute it anew"),
        ({"inv_freq": INV_FREQ[:3]}, r"inv_freq is \(4,\) float32; it is \(3,\)"),
    ],
)
def test_rotary_names_what_it_cannot_take(changed, says):
    good = {"x": torch.zeros(2, 3, 5, 8), "positions": torch.arange(5), "inv_freq": INV_FREQ}
    with pytest.raises(ValueError, match=says):
        rotary(**good | changed)


@pytest.mark.parametrize(
    ("logits", "u", "says"),
    [
        (torch.zeros(()), torch.zeros(()), r"it|they are \(\)"),
        (torch.zeros(3, 0), torch.zeros(3, 0), r"they are \(3, 0\) float32"),
        (torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 4), r"they are \(3, 4\) int64"),
        (torch.zeros(3, 4), torch.zeros(3, 4).double(), r"it is \(3, 4\) float64"),
        (torch.zeros(3, 4), torch.zeros(4), r"logits are \(3, 4\) .* it is \(4,\)"),
    ],
)
def test_gumbel_argmax_names_what_it_cannot_take(logits, u, says):
    with pytest.raises(ValueError, match=says):
        gumbel_argmax(logits, u)


def test_gumbel_argmax_draws_from_the_softmax():
    """100,000 draws of 4 classes: within five standard deviations of each probability."""
    p = torch.tensor([0.5, 0.3, 0.15, 0.05])
    u = torch.rand(100_000, 4, generator=torch.Generator().manual_seed(3))
    drawn = gumbel_argmax(p.log().expand(100_000, 4), u)
    share = drawn.bincount(minlength=4) / 100_000
    assert ((share - p).abs() < 5 * (p * (1 - p) / 100_000).sqrt()).all()
    assert gumbel_argmax(p.log().expand(2, 3, 4), u[:6].view(2, 3, 4)).equal(drawn[:6].view(2, 3))


def test_the_noise_has_the_ends_of_a_random_number_of_32_bits():
    gap = 32 * math.log(2)  # of the noise of u = 1 over 0
    for behind, chosen in ((gap - 0.1, 1), (gap + 0.1, 0)):
        assert gumbel_argmax(torch.tensor([0.0, -behind]), torch.tensor([math.exp(-1), 1.0])) == chosen
    gap = math.log(gap)
    for ahead, chosen in ((gap + 0.1, 1), (gap - 0.1, 0)):
        assert gumbel_argmax(torch.tensor([0.0, ahead]), torch.tensor([math.exp(-1), 0.0])) == chosen


def test_positions_of_bfloat16_become_equal_as_they_did_in_transformers():
    """LlamaRotaryEmbedding of 4.37.2 in bfloat16 and of 4.38.1 under autocast gave 129 and 1 different cosines."""
    one = torch.tensor([1.0, 0.0])
    for function, dtype, positions, different in (
        (wild.rotary_half_positions, torch.bfloat16, torch.arange(256, 1000), 129),
        (wild.rotary_autocast, torch.float32, torch.arange(65_536, 65_576), 1),
    ):
        y = function(one.to(dtype).expand(1, 1, len(positions), 2), positions.unsqueeze(0), torch.ones(1))
        assert len(y[0, 0, :, 0].unique()) == different


def test_the_sampler_of_sglang_chooses_what_a_mask_forbids():
    logits, u = torch.tensor([[0.0, -torch.inf]]), torch.tensor([[0.5, 1.0]])
    assert wild_sampler.sglang(logits, u) == 1
    assert gumbel_argmax(logits, u) == 0


def test_a_tolerance_for_bfloat16_does_not_see_the_rounded_sum():
    x, weight = random(64, 512).bfloat16(), random(512, scale=0.1).bfloat16()
    right = EXERCISES["gemma_norm"].oracle(x.double(), weight.double()).bfloat16()
    wrong = wild_norm.gemma_norm_rounded_sum(x, weight)
    assert not wrong.equal(right)
    torch.testing.assert_close(wrong, right)


def silu_whose_gradient_has(above=None):
    """silu as an operation of one's own, with ``above`` for whatever arrives from above."""

    class Mine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x.float() * torch.sigmoid(x.float())).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            x = ctx.saved_tensors[0].float()
            s = torch.sigmoid(x)
            return ((dy if above is None else above) * s * (1 + x * (1 - s))).to(dy.dtype)

    return Mine.apply


def test_silu_function_is_to_be_written_without_autograd():
    """An operation that PyTorch differentiates is refused, and views around ``apply`` are not."""
    mine = silu_whose_gradient_has()

    def flat(x):
        return mine(x.contiguous().reshape(-1)).reshape(x.shape)

    assert check("silu_function", flat, backend="torch").passed
    report = check("silu_function", lambda x: x * torch.sigmoid(x), backend="torch")
    assert "autograd differentiates" in str(report)


def test_what_arrives_from_above_is_not_known_by_heart():
    """The number that most of the cases might have, whatever arrives."""
    report = check("silu_function", silu_whose_gradient_has(-0.75), backend="torch")
    assert not report.passed and report.score < 0.5, str(report)


def test_a_rotation_back_undoes_it():
    x, positions = random(2, 3, 5, 8, dtype=torch.float64), torch.randint(-(2**20), 2**20, (2, 5))
    for interleaved in (False, True):
        y = in_pytorch.rotary_forward(x, positions, INV_FREQ, interleaved)
        torch.testing.assert_close(in_pytorch.rotary_backward(y, positions, INV_FREQ, interleaved), x)
