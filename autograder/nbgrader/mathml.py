"""Mathematics as MathML, which browsers draw themselves: a page of feedback must not fetch a script from elsewhere.

latex2mathml passes HTML inside of ``\\text`` through, and ``\\href`` and ``\\style``: its result is read as XML, and
what is not plain mathematics is refused.
"""

import html
from xml.etree import ElementTree

SPACE = "http://www.w3.org/1998/Math/MathML"
_TAGS = "math mfrac mi mn mo mover mroot mrow mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder"
TAGS = frozenset(f"{{{SPACE}}}{tag}" for tag in f"{_TAGS} munderover".split())
_LOOKS = "accent columnalign display displaystyle fence form linethickness mathvariant maxsize minsize movablelimits"
ATTRIBUTES = frozenset(f"{_LOOKS} rowspacing scriptlevel separator stretchy symmetric width".split())
LONGEST = 2_000  # characters of a formula


def mathml(latex: str, *, block: bool) -> str:
    """A ``<math>`` element, or the formula as it was typed where it cannot be converted."""
    from latex2mathml.converter import convert  # when asked for: few pages hold mathematics

    display = "block" if block else "inline"
    try:
        if len(latex) > LONGEST:
            raise ValueError("too long")
        formula = ElementTree.fromstring(convert(latex, display=display))
        for element in formula.iter():
            if element.tag not in TAGS:
                raise ValueError(element.tag)
            element.attrib = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
            element.tag = element.tag.rpartition("}")[2]  # HTML has no prefixes
        return ElementTree.tostring(formula, encoding="unicode")
    except Exception:  # whatever it is, the rest of the page must be shown
        return f"<code>{html.escape(latex)}</code>"
