"""A JupyterHub on this machine, as `course/hub/jupyterhub_config.py` has it, with system accounts made for it alone."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from graded_kernels.course.build import ROOT

GRADER, TEACHER, LEARNER = "gk-grader", "gk-teacher", "gk-ada"
PASSWORD = "only on the loopback interface"
SECONDS = 300  # a bound for what hangs; nothing is measured
# What differs from the published configuration: who is who, and where; passwords are not those of the accounts.
HERE = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.ConfigurableHTTPProxy.command = ["{chp}"]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "{password}"
c.Spawner.environment = {variables}
c.JupyterHub.services[0]["environment"] = {variables}
"""


def proxy() -> str | None:
    """The program `configurable-http-proxy`, which npm installs."""
    return shutil.which("configurable-http-proxy")


def ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def accounts(folder: Path) -> Iterator[None]:
    """Three of the system, with their homes in ``folder``."""
    made = []
    try:
        for name in (GRADER, TEACHER, LEARNER):
            subprocess.run(["useradd", "--create-home", "--base-dir", str(folder), name], check=True)
            made.append(name)
        yield
    finally:
        for name in made:
            subprocess.run(["userdel", "--force", name], check=True, capture_output=True)


def reachable_python(folder: Path) -> Path:
    """An environment with this one's packages that other accounts can run: this process's own interpreter often lies in
    root's home, so a copy of it is made.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    left_out = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a", "share", "include")
    own = shutil.copytree(sys.base_prefix, folder / "python", symlinks=True, ignore=left_out)
    subprocess.run([own / "bin" / version, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    packages = next(path for path in map(Path, sys.path) if (path / "nbgrader").is_dir())
    site = folder / "env" / "lib" / version / "site-packages"
    (site / "course.pth").write_text(f"import site; site.addsitedir({str(packages)!r})\n")
    return folder / "env" / "bin" / "python"


def configuration(folder: Path, course: Path, python: Path) -> tuple[str, str]:
    """Its text, and the address of the hub."""
    text = (ROOT / "course" / "hub" / "jupyterhub_config.py").read_text()
    port, hub, proxy_port, formgrader = ports(4)
    for line, here in {
        'COURSE_ROOT = "/home/grader/course"': f"COURSE_ROOT = {str(course)!r}",
        'GRADER = "grader"': f"GRADER = {GRADER!r}",
        'TEACHERS = ["teacher"]': f"TEACHERS = [{TEACHER!r}]",
        'LEARNERS = ["ada"]': f"LEARNERS = [{LEARNER!r}]",
        "SERVER = [sys.executable,": f"SERVER = [{str(python)!r},",
        "127.0.0.1:9999": f"127.0.0.1:{formgrader}",
    }.items():
        assert text.count(line) == 1, line
        text = text.replace(line, here)
    share = Path(sys.prefix, "share", "jupyter")
    variables = {
        "JUPYTER_PATH": str(share),
        "JUPYTERLAB_DIR": str(share / "lab"),
        "JUPYTER_CONFIG_PATH": f"{folder / 'etc'}:{Path(sys.prefix, 'etc', 'jupyter')}",
        "PATH": f"{python.parent}:{Path(sys.prefix, 'bin')}:/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",
        "LD_LIBRARY_PATH": str(folder / "python" / "lib"),  # of the copied interpreter
    }
    more = {"port": port, "hub": hub, "proxy": proxy_port, "chp": proxy(), "password": PASSWORD}
    return text + HERE.format(**more, variables=variables), f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def running(folder: Path, course: Path) -> Iterator[str]:
    """The address of a hub for the course, which becomes the grader's. The exchange is ``folder / "exchange"``."""
    folder.chmod(0o755)
    python = reachable_python(folder)
    (folder / "exchange").mkdir()
    (folder / "exchange").chmod(0o777)
    (folder / "etc").mkdir()
    everybody = f"c.Exchange.root = {str(folder / 'exchange')!r}\nc.CourseDirectory.course_id = 'graded-kernels'\n"
    (folder / "etc" / "nbgrader_config.py").write_text("c = get_config()\n" + everybody)
    text, address = configuration(folder, course, python)
    (folder / "jupyterhub_config.py").write_text(text)
    with accounts(folder), (folder / "hub.log").open("w") as log:
        subprocess.run(["chown", "-R", f"{GRADER}:", str(course)], check=True)
        state = folder / "hub"
        state.mkdir(mode=0o700)
        command = [sys.executable, "-m", "jupyterhub", "-f", str(folder / "jupyterhub_config.py")]
        hub = subprocess.Popen(command, cwd=state, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(hub, f"{address}/hub/health", folder / "hub.log")
            yield address
        finally:
            hub.send_signal(signal.SIGINT)  # it ends its proxy, its service and everybody's servers
            hub.wait(60)
            end_proxy(state)
            for name in (GRADER, TEACHER, LEARNER):
                subprocess.run(["pkill", "-KILL", "-u", name])


def end_proxy(state: Path) -> None:
    """The proxy of a hub that failed before it would have ended it: JupyterHub keeps its id in the hub's folder."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        pid = int((state / "jupyterhub-proxy.pid").read_text())
        if b"configurable-http-proxy" in Path(f"/proc/{pid}/cmdline").read_bytes():  # and no later process of this id
            os.kill(pid, signal.SIGTERM)


def wait_for(hub: subprocess.Popen, url: str, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and hub.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text())


def missing() -> str:
    """What a machine lacks for a hub; "" where it lacks nothing."""
    if os.geteuid():
        return "not run: needs root, to make accounts"
    if not proxy():
        return "not run: needs configurable-http-proxy (npm install -g configurable-http-proxy)"
    return ""
