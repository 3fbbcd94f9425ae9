"""A real IPython kernel to run cells or a whole notebook in, as JupyterLab would."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

SETUP = """
from graded_kernels.autograder import check

import torch
import triton
import triton.language as tl
"""
ENDLESS = 120  # seconds without a message, after which a test fails
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Notebook:
    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, on: Callable[[dict], None] = lambda message: None, cell: str = "") -> list[dict]:
        """The messages of a cell's outputs: ``type``, ``data``, ``metadata``, ``text`` (printed, shown, traceback).

        cell: its id, as JupyterLab and VS Code send it.
        """
        number, found = self._sent(code, cell), []
        while True:
            message = self.client.get_iopub_msg(timeout=ENDLESS)
            if message["parent_header"].get("msg_id") != number:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return found
            if kind in ("status", "execute_input"):
                continue
            text = content.get("text") or content.get("data", {}).get("text/plain")
            text = "\n".join(content.get("traceback", [])) if text is None else text
            data, metadata = content.get("data", {}), content.get("metadata", {})
            found.append({"type": kind, "text": ESCAPES.sub("", text), "data": data, "metadata": metadata})
            on(found[-1])

    def _sent(self, code: str, cell: str) -> str:
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        metadata = {"cellId": cell} if cell else None
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def outcome(self, code: str, **options) -> str:
        return "\n".join(message["text"] for message in self.run(code, **options))


def read(path: Path):
    return nbformat.read(path, as_version=4)


def execute(path: Path, tmp_path: Path) -> tuple[list[dict], list[str]]:
    """Run a notebook as a learner does. Its reports, in order, and whatever it wrote to stderr. An error raises."""
    notebook = read(path)
    probe = "[r.to_dict() for r in Out.values() if type(r).__name__ == 'Report']"
    notebook.cells.append(nbformat.v4.new_code_cell(f"import json\nprint(json.dumps({probe}))"))
    NotebookClient(
        notebook,
        timeout=None,  # a cell may take as long as the machine needs
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    noise = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    printed = "".join(
        output.text for output in notebook.cells[-1].outputs if output.get("name") == "stdout"
    )  # in parts
    return json.loads(printed), [text for text in noise if "IPKernelApp" not in text]
