"""The words in which a record says what its cases draw."""

import re
from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder.judge.records.inputs import Arguments, also, case, draw
from graded_kernels.autograder.judge.records.record import (
    Case,
    Exercise,
    Large,
    Named,
    Output,
    RecordError,
    Tolerance,
    Witness,
)
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.autograder.judge.records.validation import validate

INF = float("inf")
RECORDS = [record for record in EXERCISES.values() if not isinstance(record, Witness)]


def exercise(oracle, *cases, forward=None) -> Exercise:
    outputs = tuple(Output(name) for name in ("y", "z")[: 1 if forward else 2])
    return Exercise("op", "", oracle, outputs, cases, "", Tolerance(1, 8, "a rounding"), forward=forward)


def two(x, y, scale=1.0, shift=0.0):
    return x * scale + shift, y * scale


def drawn(one, oracle=two, seed=0, forward=None):
    return exercise(oracle, one, forward=forward).cases[0].inputs(torch.Generator().manual_seed(seed))


def by_hand(*sizes, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def x_of(values, seed=0):
    return drawn(case("one", "", x=values), lambda x: (x, x), seed)[0]


def test_arguments_are_drawn_as_written_and_handed_over_in_order():
    generator = torch.Generator().manual_seed(3)
    first, second = torch.randn(4, generator=generator), torch.rand(2, generator=generator)
    x, y = drawn(case("one", "", y=draw.normal(4), x=draw.uniform(2)), seed=3)
    assert x.equal(second)
    assert y.equal(first)


@pytest.mark.parametrize(
    ("more", "handed"),
    [({}, ()), ({"scale": 2.0}, (2.0,)), ({"shift": 3.0}, (1.0, 3.0)), ({"shift": 3.0, "scale": 2.0}, (2.0, 3.0))],
    ids=["none", "first", "last", "both"],
)
def test_what_is_left_at_its_default_is_not_handed_over(more, handed):
    assert drawn(case("one", "", x=draw.normal(2), y=draw.normal(2), **more))[2:] == handed


WORDS = {
    "scale": (draw.normal(3, 4).scale(3), lambda x: x * 3),
    "plus": (draw.normal(3, 4).plus(0.5), lambda x: x + 0.5),
    "clamp": (draw.normal(3, 4).clamp(-0.5, 0.5), lambda x: x.clamp(-0.5, 0.5)),
    "map": (draw.normal(3, 4).map(torch.Tensor.exp), torch.exp),
    "to": (draw.normal(3, 4).to(torch.float16), lambda x: x.to(torch.float16)),
    "in order": (draw.normal(3, 4).scale(3).plus(1.0), lambda x: x * 3 + 1.0),
    "put": (draw.normal(3, 4).put(-INF, 1), lambda x: torch.cat((x[:1], torch.full((1, 4), -INF), x[2:]))),
    "change": (draw.normal(3, 4).change(torch.Tensor.neg_), lambda x: -x),
    "times": (draw.normal(3, 4).times(draw.full(4, value=2.0).scale(3)), lambda x: x * 6),
    "signs": (draw.signs(300).map(torch.unique), lambda x: torch.tensor([-1.0, 1.0])),
    "gradient": (draw.gradient(300).map(lambda x: (x == 0).float().mean() > 0.05), lambda x: torch.tensor(True)),
}


@pytest.mark.parametrize("word", WORDS)
def test_each_word_does_what_it_says(word):
    values, function = WORDS[word]
    assert x_of(values, seed=5).equal(function(by_hand(3, 4, seed=5)))


def test_an_upstream_gradient_is_0_or_not_tiny_at_any_seed():
    dy = x_of(draw.gradient(200_000)).abs()
    assert 20_000 < (dy == 0).sum() < 40_000
    assert dy[dy != 0].min() >= 1e-4


def test_numbers_without_zeros_have_either_sign_and_lie_from_a_half_to_2():
    x = x_of(draw.without_zeros(2000))
    assert 900 < (x < 0).sum() < 1100
    assert 0.5 <= x.abs().min() < 0.51 and 1.99 < x.abs().max() < 2


def test_what_numbers_are_multiplied_with_is_drawn_after_them():
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(4, generator=generator), torch.rand(4, generator=generator)
    assert x_of(draw.normal(4).times(draw.uniform(4))).equal(first * second)


def test_numbers_of_several_places():
    x = x_of(draw.full(3, 4, value=0.0).put((1.0, 2.0), [0, 2], [3, 1]).put(7.0, 1, slice(2)))
    assert x.tolist() == [[0, 0, 0, 1], [7, 7, 0, 0], [0, 2, 0, 0]]


@pytest.mark.parametrize(
    ("sort", "stride"),
    [
        ("transposed", (1, 3)),
        ("every_second", (8, 2)),
        ("with_gaps", (37, 1)),
        ("one_row", (0, 1)),
        ("one_number", (0, 0)),
        ("far_apart", (2**30, 1)),
    ],
)
def test_the_layout_comes_after_all_numbers(sort, stride):
    laid_out = getattr(draw.normal(3, 4), sort)().scale(2)
    assert x_of(laid_out).stride() == stride
    if sort not in ("one_row", "one_number"):
        assert x_of(laid_out).equal(by_hand(3, 4) * 2)


def test_same_goes_on_from_what_was_drawn():
    given = Arguments.named(x=draw.normal(3, 4), y=draw.normal(3, 4).plus("x"))
    x, y = drawn(case("one", "", given.each(draw.same.transposed(), "x", "y"), x=draw.same.scale(2).to(torch.float16)))
    plain = drawn(case("one", "", given))
    assert x.equal((plain[0] * 2).half())
    assert y.equal(plain[1])
    assert x.stride() == y.stride() == (1, 3)


def test_a_change_takes_the_arguments_that_it_names():
    def swap(y, x):
        x[0], y[0] = y[0].clone(), x[0].clone()

    given = Arguments.named(x=draw.normal(3), y=draw.uniform(3))
    plain = drawn(case("one", "", given))
    x, y = drawn(case("one", "", given.change(swap)))
    assert (x[0], y[0]) == (plain[1][0], plain[0][0])
    assert x[1:].equal(plain[0][1:])


def test_a_function_sees_what_is_handed_over():
    x, y = drawn(case("one", "", x=draw.normal(3, 4).one_row(), y=draw.by(lambda x: x.sum(0))))
    assert y.equal(x.sum(0))


def halves(x, mask):
    return (x.where(mask, 0.0) / 2).to(x.dtype), x.sum()


def test_what_the_forward_pass_saves_is_computed_where_it_is_left_out():
    forward = exercise(halves, case("one", "", x=draw.normal(3), mask=draw.tensor([True, False, True])))
    backward = also(forward.cases, dy=draw.gradient(like="y"))
    dy, y = drawn(backward[0], lambda dy, y: dy * y, forward=forward)
    x, mask = forward.cases[0].inputs(torch.Generator().manual_seed(0))
    assert y.equal(x.where(mask, 0.0) / 2)
    assert y.dtype == torch.float32
    assert dy.shape == y.shape


def test_like_takes_shape_and_dtype():
    x, y = drawn(case("one", "", x=draw.normal(3, 4).to(torch.float16), y=draw.normal(like="x")))
    assert (y.shape, y.dtype) == (x.shape, torch.float16)


def test_also_needs_arguments_by_name():
    with pytest.raises(TypeError, match=r"case 'one' does not name its arguments: write it as case\(name, hint, x="):
        also((Case("one", lambda generator: (), ""),), y=draw.normal(1))


def nothing(x):
    x[0] = x[0]


X, Y = draw.normal(5, 40), draw.normal(5, 40)
MISTAKES = {
    "unknown": (case("one", "", x=X, y=Y, u=Y), "op has no parameter u; it takes x, y, scale, shift"),
    "missing": (case("one", "", x=X), "y is missing: op has no default for it"),
    "shape": (case("one", "", x=X.plus(torch.ones(3)), y=Y), "x: RuntimeError: The size of tensor a (40) must match"),
    "place": (case("one", "", x=X, y=Y.put(0.0, 5)), "y: IndexError: index 5 is out of bounds for dimension 0"),
    "another": (case("one", "", x=draw.normal(like="z"), y=Y), "x: z is not among what was drawn before: nothing"),
    "same": (case("one", "", x=draw.same.scale(2), y=Y), "x: x is not among what was drawn before: nothing"),
    "nowhere": (case("one", "", x=X.put(0.0, slice(0)), y=Y), "x: a change touches nothing: there is no number at"),
    "untouched": (case("one", "", x=X.change(nothing), y=Y), "x: a change touches nothing: it leaves every number"),
    "together": (case("one", "", Arguments.named(x=X, y=Y).change(nothing)), "the change nothing: a change touches"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_file_and_line(mistake):
    wrong, says = MISTAKES[mistake]
    with pytest.raises(RecordError) as found:
        validate(exercise(two, wrong))
    place = re.match(rf"{re.escape(__file__)}:(\d+): case 'one': (.*)", str(found.value))
    assert place, str(found.value)
    assert place[2].startswith(says)
    line = open(__file__, encoding="utf-8").read().splitlines()[int(place[1]) - 1]
    assert f'"{mistake}": (case("one"' in line


def test_a_change_that_touches_nothing_at_one_seed_does_not_stop_a_check():
    assert len(drawn(MISTAKES["untouched"][0])) == 2


def test_arguments_are_drawn_and_changed_together():
    def rows(generator):
        return torch.randn(3, generator=generator), torch.tensor([2, 0, 1])

    def sort(generator, x, order):
        return x[order], order.sort().values

    both = Arguments().together(rows, "x", "order").together(sort, "x", "order")
    x, order = both.each(draw.same.map_at_random(lambda a, g: a * torch.randint(2, 3, (), generator=g)), "x")(
        torch.Generator().manual_seed(0)
    )
    assert both.names == ["x", "order"]
    assert x.equal(2 * by_hand(3)[[2, 0, 1]])
    assert order.tolist() == [0, 1, 2]


def test_what_is_done_to_a_list_is_done_to_each_of_its_tensors():
    lists = Arguments.named(x=[draw.normal(2, 3), draw.normal(3, 2)])
    (x,) = lists.each(draw.same.scale(2).transposed(), "x")(torch.Generator().manual_seed(0))
    assert x[0].equal(2 * by_hand(2, 3))
    assert [part.stride() for part in x] == [(1, 2), (1, 3)]


def test_what_is_changed_together_was_laid_out_before_and_is_not_once_more():
    expanded = Arguments.named(x=draw.normal(2, 3).one_number())
    (x,) = expanded.together(lambda generator, x: (x + 1,), "x")(torch.Generator())
    assert x.equal(torch.full((2, 3), -0.7) + 1)


def test_without_an_exercise_arguments_come_as_they_are_written():
    y, x = case("one", "", y=X, x=draw.full(2, value=1.0)).inputs(torch.Generator().manual_seed(0))
    assert x.tolist() == [1.0, 1.0]
    assert y.shape == (5, 40)


def test_a_list_is_drawn_in_order():
    (grads,) = drawn(case("one", "", grads=[draw.normal(3), draw.normal(2, 2).transposed()]), lambda grads: grads)
    generator = torch.Generator().manual_seed(0)
    assert grads[0].equal(torch.randn(3, generator=generator))
    assert grads[1].equal(torch.randn(2, 2, generator=generator))
    assert grads[1].stride() == (1, 2)


def test_a_large_call_names_its_arguments_too():
    large = Large(Arguments.named(y=draw.uniform(2), x=draw.normal(4)), 2, (0,), 0, (1.0, None))
    x, y = replace(exercise(two, case("one", "", x=X, y=Y)), large=large).large.inputs(torch.Generator())
    assert (x.shape, y.shape) == ((4,), (2,))


def test_an_exercise_can_be_replaced():
    record = exercise(two, case("one", "", x=X, y=Y))
    other = replace(record, oracle=lambda y, x: (x, y))
    x, y = record.cases[0].inputs(torch.Generator().manual_seed(0))
    assert [one.tolist() for one in other.cases[0].inputs(torch.Generator().manual_seed(0))] == [y.tolist(), x.tolist()]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_every_change_of_our_records_touches_something(record):
    for one in record.cases:
        if isinstance(one.inputs, Named):
            one.inputs.strictly(torch.Generator().manual_seed(7))
