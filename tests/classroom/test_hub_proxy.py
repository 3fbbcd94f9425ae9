"""Nothing is left of a JupyterHub that did not start: `hub.end_proxy`."""

import signal
import subprocess
import sys

import hub
import pytest


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "ends"), [("configurable-http-proxy", True), ("another program", False)])
def test_the_proxy_of_a_failed_hub_is_ended_and_no_other_process(tmp_path, name, ends):
    command = [sys.executable, "-c", "print(flush=True); input()", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        (tmp_path / "jupyterhub-proxy.pid").write_text(str(process.pid))
        hub.end_proxy(tmp_path)
        if not ends:
            process.communicate("\n")
        assert process.wait() == (-signal.SIGTERM if ends else 0)


def test_a_hub_without_a_proxy_has_none_to_end(tmp_path):
    hub.end_proxy(tmp_path)
    (tmp_path / "jupyterhub-proxy.pid").write_text("999999999")
    hub.end_proxy(tmp_path)
