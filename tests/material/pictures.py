"""The pictures of the README, made from what they show: ``python tests/material/pictures.py``.

Needs Playwright (``pip install -e .[browser]``) and Debian's Chromium. What each picture shows is kept as text in
``course/images/pictures.json``: a test compares it with what there is today, and fails until the pictures are made
again.
"""

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from graded_kernels.autograder import check
from graded_kernels.course.build import ROOT
from graded_kernels.kernels.wild.silu import silu_backward_divide_back
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat import NotebookNode

IMAGES = ROOT / "course" / "images"
KEPT = IMAGES / "pictures.json"
CHAPTER = ROOT / "course" / "source" / "01_silu" / "01_silu.ipynb"
SECTION = "## See it"  # of the chapter: its picture shows it up to the end of the paragraph below the figure
WIDTH = 572  # in points of two pixels
STYLE = """
body { margin: 16px; background: white; color: #111; font: 15px/1.45 system-ui, sans-serif; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.45 ui-monospace, monospace; }
.jp-Cell, .jp-Notebook, main { padding: 0 !important; margin: 0 !important; }
.jp-InputPrompt, .jp-OutputPrompt { display: none !important; }
"""


def main() -> int:
    """Makes every picture, and keeps what each shows. Returns an exit status."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("not made: needs chromium (apt install chromium)", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    texts = shown()
    pages = {
        "chapter": chapter_page(),
        "report": bare(check("silu_backward", silu_backward_divide_back, backend="torch")._repr_html_()),
        "sanitize": bare(f"<pre>{html.escape(texts['sanitize'])}</pre>"),
    }
    with sync_playwright() as play:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=chromium, args=[*flags, "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 400}, device_scale_factor=2)
        for name, text in pages.items():
            page.set_content(text)
            page.screenshot(path=IMAGES / f"{name}.png", full_page=True)
            print(f"made {IMAGES / name}.png")
        browser.close()
    KEPT.write_text(json.dumps(texts, indent=1) + "\n", encoding="utf-8")
    return 0


def shown() -> dict[str, str]:
    """Returns what each picture is to show, as text."""
    report = check("silu_backward", silu_backward_divide_back, backend="torch")
    cells = "\n\n".join(cell.source for cell in section())
    return {"chapter": cells, "report": str(report), "sanitize": sanitized()}


def section() -> list[NotebookNode]:
    """The three cells that the picture of a chapter shows: a heading with its text, code, and a paragraph."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    at = next(number for number, cell in enumerate(cells) if SECTION in cell.source)
    head, code, below = cells[at : at + 3]
    head.source = SECTION + head.source.partition(SECTION)[2]
    below.source = below.source.partition("\n\n")[0]
    return [head, code, below]


def chapter_page() -> str:
    """The section as HTML, run."""
    setup = next(cell for cell in nbformat.read(CHAPTER, as_version=4).cells if cell.cell_type == "code")
    notebook = nbformat.v4.new_notebook(cells=[setup, *section()])
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=None, resources={"metadata": {"path": folder}}).execute()
    notebook.cells = notebook.cells[1:]
    text, _ = HTMLExporter(
        template_name="lab", exclude_input_prompt=True, exclude_output_prompt=True
    ).from_notebook_node(notebook)
    return str(text).replace("</head>", f"<style>{STYLE}</style></head>", 1)


def sanitized() -> str:
    """What a terminal shows of `graded-kernels sanitize`, of the example without the mask of its store."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("scaled.py", "demo.py"):
            text = (ROOT / "examples" / "scaled" / name).read_text(encoding="utf-8")
            text = text.replace("values * factors, mask=inside)", "values * factors)")
            text = text.replace("import scaled\n", "import scaled\n\ntorch.manual_seed(0)\n")
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [str(Path(sys.executable).with_name("graded-kernels")), "sanitize", "demo.py"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"COLUMNS": "68"})
    findings = ran.stdout[ran.stdout.index("scaled.py:") :]  # what stands above names this machine's memory
    return f"$ graded-kernels sanitize demo.py\n\n{findings.strip()}"


def bare(body: str) -> str:
    """An HTML page of the body alone."""
    return f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style><body>{body}"


if __name__ == "__main__":
    sys.exit(main())
