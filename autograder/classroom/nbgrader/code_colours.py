"""Code on the pages that people read in a browser, in colours where that takes a bounded time.

Pygments colours a learner's code in the process that writes the pages of a whole class. It has hundreds of lexers; of
some, and of Python's where blank lines follow one another, the time grows with the square of the length.
"""

import html
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

LONGEST = 20_000  # characters: `coloured` takes up to half a second for so many
_BLANK = re.compile(r"\s{200}")


def coloured(source: str, language: str | None = None, metadata: object = None) -> str:
    """Returns the HTML of nbconvert's filter ``highlight_code``, whose place it takes: the colours of Python, whatever
    a notebook calls its language; the code as it is where it is longer than `LONGEST`, or where 200 blanks and line
    ends follow one another.
    """
    formatter = HtmlFormatter(cssclass=" highlight hl-ipython3")
    if len(source) > LONGEST or _BLANK.search(source):
        return f'<div class=" highlight hl-ipython3"><pre>{html.escape(source)}</pre></div>\n'
    page: str = highlight(source or " ", PythonLexer(), formatter)
    return page
