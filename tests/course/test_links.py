"""The links of the texts lead somewhere within this project, and each kind of answer of a server is told apart."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import links
import pytest


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_chapters_and_readme_have_links():
    found = links.links()
    assert found["https://github.com/huggingface/candle/pull/2083"] == "course/chapters/01_silu.md"
    assert "README.md" in found.values()
    assert len(found) > 100


@pytest.mark.parametrize(("status", "says"), [(200, ""), (404, "status 404"), (403, "refused"), (500, "status 500")])
def test_what_a_server_says(server, status, says):
    assert links.answer(f"{server}/{status}") == says


def test_a_server_that_is_not_there():
    assert "refused" != links.answer("http://127.0.0.1:9/") != ""


def test_what_leads_nowhere_is_told_with_its_file(capsys):
    found = {"https://a": "README.md", "https://b": "book/x.md", "https://c": "y.md"}
    assert links.report(found, ["", "status 404", "refused"]) == ["book/x.md: https://b: status 404"]
    assert "3 links to the web; 1 servers" in capsys.readouterr().out


def test_without_a_network_the_web_is_not_run(capsys):
    found = {"https://a": "README.md", "https://b": "book/x.md"}
    assert links.report(found, ["Name or service not known", "timed out"]) == []
    assert "2 links to the web: not run" in capsys.readouterr().out


def test_files_and_headings_of_this_project_are_there():
    assert links.broken_here() == []


def test_a_file_or_a_heading_that_is_not_there_is_told(tmp_path):
    page = (
        '# One, and `two`\n\n[a](#one-and-two) [b](#three) [c](book) [d](gone.md) `[e](code.md)`\n\n<img src="p.png">'
    )
    (tmp_path / "README.md").write_text(page)
    (tmp_path / "book").mkdir()
    told = [f"README.md: {address}: is not there" for address in ("#three", "gone.md", "p.png")]
    assert links.broken_here(tmp_path) == told
