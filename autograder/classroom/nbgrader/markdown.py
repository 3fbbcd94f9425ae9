"""Markdown for the pages that people read in a browser: feedback, and formgrader inside the teacher's Jupyter server.

nbconvert passes HTML in Markdown through as it is, scripts included. Here only tags that format are, and nothing that a
browser would fetch by itself. Mathematics becomes MathML, which browsers draw themselves: a page of feedback must not
fetch a script from elsewhere.
"""

import html
import re
import secrets
from typing import Any
from xml.etree import ElementTree

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from .code_colours import coloured

_PYTHON = ("python", "python3", "py", "ipython3")
LONGEST = 20_000  # characters; the time that some Markdown takes grows with the square of its length,
EMPHASES = 1_000  # and with the cube of the number of its stars and underscores
SHOWN_TWICE = 2  # times the size of a cell's attachments, of which every reference makes a copy
_TEXT = "abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li mark ol p pre q s samp"
_MORE = "section small span strong sub summary sup tt u ul var a img caption figcaption figure"
_TABLE = "table tbody td tfoot th thead tr"
TAGS = frozenset(f"{_TEXT} {_MORE} {_TABLE}".split())
_ATTRIBUTES = {"a": ("title",), "img": ("alt", "title", "width", "height"), "ol": ("start",), "details": ("open",)}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_COLOURS = re.compile(r"(highlight|hll|anchor-link|language-[\w+-]+|[a-z][a-z0-9]{0,2})( (highlight|hl-[\w+-]+))*")
_LINK = re.compile(r"https?://|mailto:|#")
# What a picture shows is in the page. From an address it would be fetched as soon as the page is open, with the cookies
# of whoever reads it: in formgrader a teacher's, who may do anything. nbconvert puts attachments into the page.
_PICTURE = re.compile(r"data:image/[a-z.+-]+;base64,[A-Za-z0-9+/=\s]*", re.I)
MATHML = "http://www.w3.org/1998/Math/MathML"
_MATH_TAGS = "math mfrac mi mn mo mover mroot mrow mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder"
MATH_TAGS = frozenset(f"{{{MATHML}}}{tag}" for tag in f"{_MATH_TAGS} munderover".split())
_MATH_LOOKS = "accent columnalign display displaystyle fence form linethickness mathvariant maxsize minsize"
MATH_ATTRIBUTES = frozenset(
    f"{_MATH_LOOKS} movablelimits rowspacing scriptlevel separator stretchy symmetric width".split()
)
PRIMES = ("\N{PRIME}", "\N{DOUBLE PRIME}")
LONGEST_FORMULA = 2_000  # characters of a formula


@pass_context
def safe_markdown(context: Context, source: str) -> str:
    """Returns the HTML of nbconvert's filter ``markdown2html``, whose place it takes, less what a browser would run.

    A text that cannot be rendered, or only in a long time, is shown as it was typed.
    """
    attachments = context.get("cell", {}).get("attachments", {})
    try:
        if len(source) > LONGEST or source.count("*") + source.count("_") > EMPHASES:
            raise ValueError("too long")
        renderer = _Renderer(attachments)
        clean = bleach.clean(
            MarkdownWithMath(renderer=renderer).render(source),
            tags=TAGS,
            attributes=_may_stay,
            protocols={"http", "https", "mailto", "data"},
            css_sanitizer=CSSSanitizer(allowed_css_properties=["text-align"]),
        )
        return renderer.with_formulas(clean)
    except Exception:  # whatever it is, the rest of the page must be shown
        return f"<pre>{html.escape(source)}</pre>"


class _Renderer(IPythonRenderer):
    """nbconvert's, which gives up where the pictures of a cell are shown so often that they fill the memory.

    It leaves marks for formulas, which are put in when all else is cleaned: a sanitizer for HTML that lets ``<math>``
    through has been a hole before.
    """

    def __init__(self, attachments: dict[str, Any]):
        super().__init__(escape=False, attachments=attachments)
        size = sum(len(text) for bundle in attachments.values() for text in bundle.values())
        self._left = LONGEST + SHOWN_TWICE * size
        self._formulas: list[str] = []
        self._mark = secrets.token_hex(16)  # which no text can hold

    def image(self, text: str, url: str, title: str | None = None) -> str:
        shown = super().image(text, url, title)
        self._left -= len(shown)
        if self._left < 0:
            raise ValueError("its pictures are too large")
        return shown

    def block_code(self, code: str, info: str | None = None) -> str:
        """A fence: in colours where it says that it is Python (`coloured`)."""
        language = (info or "").strip().partition(" ")[0]
        return coloured(code) if language in _PYTHON else f"<pre><code>{html.escape(code)}</code></pre>\n"

    def block_math(self, body: str) -> str:
        return self._formula(body, block=True)

    def inline_math(self, body: str) -> str:
        return self._formula(body, block=False)

    def latex_environment(self, name: str, body: str) -> str:
        return self._formula(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

    def _formula(self, latex: str, *, block: bool) -> str:
        self._formulas.append(mathml(latex, block=block))
        return f"{self._mark}-{len(self._formulas) - 1}-"

    def with_formulas(self, page: str) -> str:
        return re.sub(rf"{self._mark}-(\d+)-", lambda mark: self._formulas[int(mark[1])], page)


def _may_stay(tag: str, name: str, value: str) -> bool:
    if name == "href":
        return tag == "a" and bool(_LINK.match(value))
    if name == "src":
        return tag == "img" and bool(_PICTURE.fullmatch(value))
    if name == "class":
        return bool(_COLOURS.fullmatch(value))
    if name == "id":
        return tag in _HEADINGS
    if name == "style":  # alignment in tables
        return tag in ("td", "th")
    return name in _ATTRIBUTES.get(tag, ())


def mathml(latex: str, *, block: bool) -> str:
    """A ``<math>`` element, or the formula as it was typed where it cannot be converted.

    latex2mathml passes HTML inside of ``\\text`` through, and ``\\href`` and ``\\style``: its result is read as XML,
    and what is not plain mathematics is refused.
    """
    from latex2mathml.converter import convert  # when asked for: few pages hold mathematics

    display = "block" if block else "inline"
    try:
        if len(latex) > LONGEST_FORMULA:
            raise ValueError("too long")
        formula = ElementTree.fromstring(convert(latex, display=display))
        for element in formula.iter():
            if element.tag not in MATH_TAGS:
                raise ValueError(element.tag)
            element.attrib = {name: value for name, value in element.attrib.items() if name in MATH_ATTRIBUTES}
            element.tag = element.tag.rpartition("}")[2]  # HTML has no prefixes
            if element.tag == "msup" and element[1].text in PRIMES:
                element.tag = "mrow"  # the character is a superscript by itself, and a speck as one of a smaller size
        if block:
            formula.set("tabindex", "0")  # a wide one scrolls, by the keyboard, too
        return ElementTree.tostring(formula, encoding="unicode")
    except Exception:  # whatever it is, the rest of the page must be shown
        return f"<code>{html.escape(latex)}</code>"
