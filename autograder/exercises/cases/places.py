"""Places of a token, k of them: each names an expert or a row by its number, and -1 names none."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...judge import Arguments, Case, Values, case, draw
from ...runner import Args, Tree
from .bad_labels import names

NONE = -1
FAR = 2**32 + 2  # whose lower half is a number that there is


def distinct(t: int, k: int, count: int) -> Values:
    """(t, k) int64: for each token k different numbers below ``count``."""

    def source(generator: Generator) -> Tensor:
        return torch.rand((t, count), generator=generator).argsort(1)[:, :k].contiguous()

    return draw.by(source)


def each_once(t: int, k: int, count: int) -> Values:
    """(t, k) int64: different numbers below ``count``, all of them."""
    return draw.by(lambda generator: torch.randperm(count, generator=generator)[: t * k].reshape(t, k))


def some_absent(places: Tensor) -> None:
    """Every third place names none, and neither does any of the last token but one."""
    places.view(-1)[1::3] = NONE
    places[-2] = NONE


def checked(places: Tensor, count: int, what: str) -> Tensor:
    """Returns which places name something, bool. Raises IndexError for the first, row by row, that names what is not
    there.
    """
    bad = (places != NONE) & ((places < 0) | (places >= count))
    if bad.any():
        token, place = bad.nonzero()[0].tolist()
        raise IndexError(f"{what} {places[token, place]} of token {token}")
    return places != NONE


def bad_places(name: str, given: Arguments, count: int, many: Arguments, many_count: int) -> tuple[Case, ...]:
    """Calls whose argument ``name`` names what is not among ``count``, each of which has to raise an IndexError.

    many: a call with 700 tokens, whose places name ``many_count``.
    """
    late = (
        "The places of the first 650 tokens are right: are all of them looked at, and do programs that look at some "
        "each agree on the first bad one? The error names it."
    )
    beyond = _raising(f"a bad one in token 650 of 700, {name}", late, many, name, many_count, 650, many_count)
    return beyond, *(
        _raising(f"{what} of {name}", hint, given, name, count, token, value)
        for what, hint, token, value in (
            (
                f"{count} among the numbers",
                f"The numbers go from 0 to {count - 1}. Unchecked, {count} is an address behind the last one. The "
                "error names the first such token and the number.",
                2,
                count,
            ),
            (
                "2^32 + 2 among the numbers",
                "The number is an int64, and an int32 keeps its lower half: 2, which there is. Compare before it is "
                "made smaller. The error names the token and the number.",
                0,
                FAR,
            ),
            (
                "-2 among the numbers",
                "-1 alone stands for nothing. -2 does not, and in Python it would count from the end. The error names "
                "the token and the number.",
                3,
                -2,
            ),
        )
    )


def _raising(name: str, hint: str, given: Arguments, argument: str, count: int, token: int, value: int) -> Case:
    def put(places: Tensor) -> Tensor:
        places = places.clone()
        places[1, 0] = NONE
        places[token, 1] = value
        if value > 0:  # who looks for large numbers alone is to miss a negative one
            places[-1, 0] = count + 5
        return places

    raising = case(name, hint, given.but(**{argument: draw.same.map(put)}))
    return replace(raising, raises=IndexError, says=names(token, value), repaired=_without(count))


def _without(count: int) -> Callable[[Args], Args]:
    """Makes a function that returns the arguments of a call with each number that there is not made -1."""

    def of(a: Tensor) -> Tensor:
        return a.where((a >= 0) & (a < count), NONE) if a.dtype == torch.int64 else a

    return lambda args: Tree(args).map(of)
