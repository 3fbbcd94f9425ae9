"""What a code means, in a sentence: the one table of them. Nothing but what is read depends on it."""

from itertools import permutations

VALUES, ROUNDING = "values", "rounding"
_KINDS = {"nan": "NaN", "number": "a number", "infinity": "an infinity"}
OF_KINDS = {
    f"{got}-for-{right}": f"{{place}} is {_KINDS[got]} where {_KINDS[right]} belongs."
    for got, right in permutations(_KINDS, 2)
}
SENTENCES = OF_KINDS | {
    "other-infinity": "{place} is the other infinity.",
    VALUES: "{place} is wrong.",
    ROUNDING: "{place} is off by a few ulp more than rounding once costs.",
    "out-of-bounds": "The launch reaches outside of {place}.",
    "store-conflict": "Programs or lanes store different values to one element of {place}.",
    "race-read": "A program loads what another one stores into {place}.",
    "race-write": "A program stores what another one loads from {place}.",
    "unwritten": "Elements of {place} are never written.",
    "neighbours": "The result of a row of {place} depends on the rows beside it.",
    "masked-load": "A load with a mask and no `other`: {place}.",
    "lanes": "The result depends on masked-off lanes, since a load has a mask and no `other`: {place}.",
}


def sentence(code: str, place: str) -> str:
    """The sentence for a code and a place; "" where the code has none of its own."""
    return SENTENCES[code].format(place=place) if code in SENTENCES else ""
