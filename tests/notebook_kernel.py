"""A real IPython kernel to run cells in, as JupyterLab would."""

import re
from collections.abc import Callable

from jupyter_client.manager import start_new_kernel

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

    def run(self, code: str, on: Callable[[dict], None] = lambda message: None) -> list[dict]:
        """The messages of a cell's outputs: ``type``, ``data``, ``metadata``, ``text`` (printed, shown, traceback)."""
        number, found = self.client.execute(code), []
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

    def said(self, code: str, **options) -> str:
        return "\n".join(message["text"] for message in self.run(code, **options))
