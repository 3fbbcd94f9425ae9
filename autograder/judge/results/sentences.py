"""Says what a code of wrong values means, in a sentence; that of a finding is in its rule. No point depends on it."""

from itertools import permutations

from ...gpu import RULES

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
    "neighbours": "The result of a row of {place} depends on the rows beside it.",
    "lanes": "The result depends on masked-off lanes, since a load has a mask and no `other`: {place}.",
}
SENTENCES |= {kind: rule.cause for kind, rule in RULES.items() if rule.cause}


def sentence(code: str, place: str) -> str:
    """The sentence for a code and a place; "" where the code has none of its own."""
    return SENTENCES[code].format(place=place) if code in SENTENCES else ""
