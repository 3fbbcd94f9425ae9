"""Attacks on the people who read the graded notebook: feedback in a student's browser, formgrader in the teacher's."""

from tampered import TORCH, WORDS, add, find

from .attack import before_answer, registry

ATTACKS, attack = registry()

EVIL = """<script>alert(1)</script>
<img src=x onerror=alert(1)><svg onload=alert(1)><script>alert(1)</script></svg>
<a href="javascript:alert(1)" onclick="alert(1)">here</a> [there](javascript:alert(1)) [file](evil.html)
<iframe srcdoc="<script>alert(1)</script>"></iframe><object data="data:text/html,<script>alert(1)</script>"></object>
<form action="/formgrader/api/submission"><input name="score" autofocus onfocus=alert(1)></form>
<base href="//example.org/"><meta http-equiv="refresh" content="0;url=//example.org"><style>body{display:none}</style>
<link rel=stylesheet href=//example.org><div class="modal" style="position:fixed;inset:0">You pass.</div>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">
<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript></textarea></title></div></pre>
![x](data:text/html;base64,PHNjcmlwdD4=) ![gone](attachment\\:gone.png) ![a](x"onerror="alert(1)) <kbd>kept</kbd>
"""


def text(source: str, **more) -> dict:
    return {"cell_type": "markdown", "id": f"text-{len(source)}", "metadata": {}, "source": source, **more}


@attack()
def script_in_an_answer(nb):
    """Scripts and handlers in the written answer, which a person grades."""
    find(nb, WORDS)["source"] = EVIL


@attack()
def script_in_a_text(nb):
    """The same in cells of their own, in a table, a list, a heading, a link's title and a formula."""
    for source in (EVIL, f"|a|b|\n|-|-|\n|{EVIL.splitlines()[1]}|x|", f"# {EVIL.splitlines()[0]}", f"- {EVIL}"):
        nb["cells"].append(text(source))
    nb["cells"].append(text('$<img src=x onerror=alert(1)>$ [x](http://a "t\\" onclick=alert(1)")\n\n```html\n' + EVIL))


@attack()
def script_in_a_picture(nb):
    """Names, types and data of attachments that end the attribute they are put into."""
    end = '"><script>alert(1)</script>'
    pictures = {
        "a.png": {f"image/png{end}": "AAAA"},
        "b.png": {"image/png": f"AAAA{end}"},
        "c.png": {"text/html": "PHNjcmlwdD4="},
        "d.svg": {"image/svg+xml": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"},
        f"e{end}": {"image/png": "AAAA"},
    }
    shown = " ".join(f"![{name}](<attachment:{name}>) ![{name}](attachment:{name})" for name in pictures)
    nb["cells"].append(text(shown, attachments=pictures))
    find(nb, WORDS).update(source=shown, attachments=pictures)


FETCHED = """![a](http://127.0.0.1:@PORT@/a.png) ![b](b.png) ![c](/formgrader/api/c)
![d](//127.0.0.1:@PORT@/d.png) `alert(1)`

<img src="http://127.0.0.1:@PORT@/e"> <img srcset="http://127.0.0.1:@PORT@/f 2x" src="data:,"> <img src="g.svg#x">
<picture><source srcset="http://127.0.0.1:@PORT@/h"><img src="../h"></picture> <img src="&#104;ttp://127.0.0.1:@PORT@/i">
<video src="http://127.0.0.1:@PORT@/j" poster="http://127.0.0.1:@PORT@/k" autoplay></video>
<audio src="http://127.0.0.1:@PORT@/l" autoplay></audio> <track src="http://127.0.0.1:@PORT@/m">
<svg><image href="http://127.0.0.1:@PORT@/n" xlink:href="http://127.0.0.1:@PORT@/o"/><use href="/p.svg#x"/></svg>
<table background="http://127.0.0.1:@PORT@/q"><tr><td style="background:url(http://127.0.0.1:@PORT@/r)">x</td></tr></table>
<p style="background-image:url('http://127.0.0.1:@PORT@/s')">x</p> <input type="image" src="http://127.0.0.1:@PORT@/t">
<style>@import "http://127.0.0.1:@PORT@/u"; p {background: url(http://127.0.0.1:@PORT@/v)}</style>
<link rel="preload" as="image" href="http://127.0.0.1:@PORT@/w"> <link rel="icon" href="http://127.0.0.1:@PORT@/x">
<embed src="http://127.0.0.1:@PORT@/y"> <object data="http://127.0.0.1:@PORT@/z"></object>
<iframe src="http://127.0.0.1:@PORT@/aa"></iframe> <a href="/shutdown" ping="http://127.0.0.1:@PORT@/bb">link</a>
<blockquote cite="http://127.0.0.1:@PORT@/cc">x</blockquote> <img src="blob:http://127.0.0.1:@PORT@/dd" alt="dd">
"""


@attack()
def pictures_from_elsewhere(nb):
    """Addresses that a browser fetches by itself, with the cookies of whoever reads the page."""
    nb["cells"].append(text(FETCHED))
    nb["cells"].append({"cell_type": "raw", "id": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": FETCHED})
    find(nb, WORDS)["source"] = FETCHED


@attack()
def endless_text(nb):
    """Markdown that takes nbconvert time with the square of its length."""
    nb["cells"].append(text("a|b\n-|-\n" * 20_000))
    nb["cells"].append(text("<div>" * 30_000))
    nb["cells"].append(text("> " * 5_000 + "deep"))


@attack()
def endless_colours(nb):
    """Code that Pygments colours in a time that grows with the square of its length, in a cell and in two fences: all
    of it is on the page. tests/classroom/test_markdown.py holds the time.
    """
    add(nb, TORCH, "a = 'alert(1)'" + "\n\n\n " * 25_000 + "\nb = 2")
    for lexer, line in (("ipython3", "a = 1" + "\n\n\n " * 4_000), ("autohotkey", '%("' * 6_000)):
        nb["cells"].append(text(f"```{lexer}\n{line}\n```"))


@attack({TORCH: 0}, "<script>alert(1)</script>")
def script_in_an_error(nb):
    """Scripts in an error's message, in its name, and in what is printed before it."""
    raises = "raise type('<img src=x onerror=alert(1)>', (Exception,), {})"
    before_answer(nb, f"print({EVIL!r})\n{raises}({EVIL!r})")


@attack({TORCH: 0}, "silu_forward")
def script_in_a_file_name(nb):
    """A traceback through a file whose name is a script."""
    body = "def silu_forward(x):\n    raise ValueError('no')"
    find(nb, TORCH)["source"] = f"exec(compile({body!r}, '<img src=x onerror=alert(1)>', 'exec'))"


@attack({TORCH: 0})
def terminal_codes(nb):
    """Codes that clear a terminal, set its title, and hide what follows."""
    before_answer(nb, "raise ValueError('\\033[2J\\033]0;title\\007\\u202egnp.exe\\u0000\\x9b31m')")


@attack()
def script_in_code(nb):
    """Code that ends the element it is shown in, and a magic, which is quoted in a note."""
    add(nb, TORCH, "'''</pre></div><script>alert(1)</script><img src=x onerror=alert(1)>'''")
    add(nb, TORCH, "%time '</li><script>alert(1)</script><img src=x onerror=alert(1)>'")
    before_answer(nb, "# </pre><script>alert(1)</script>\n%time <script>alert(1)</script>")


@attack({TORCH: 0}, "1000")
def wordy_error(nb):
    """An error with a message of ten million characters."""
    before_answer(nb, "raise ValueError('1000' + 'x' * 10_000_000)")


@attack()
def script_in_an_id(nb):
    """Ids of cells, which pages use as anchors."""
    cell = find(nb, "setup")
    copied = {**cell, "id": '"><script>alert(1)</script>', "source": "x = 1"}
    copied["metadata"] = {"nbgrader": {"grade_id": '"><script>alert(1)</script>', "solution": True, "grade": True}}
    nb["cells"].append(copied)
    nb["metadata"].update(title="</title><script>alert(1)</script>", authors=[{"name": "<script>"}])
