"""Nothing of a sandbox is left when its set-up is interrupted: bubblewrap is then two processes, and the second one
waits for the first for ever.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from graded_kernels.autograder.runner.sandbox import Compiler, bubblewrap, host, launcher, paths, probe

PROBE = sys.modules[probe.__module__]  # the package shows the function under the module's name
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="not run: isolation needs Linux")


class SettingUp:
    """The command of a program that is still setting up its sandbox."""

    def __init__(self, folder):
        self.noted = folder / "second"
        script = f"trap '' INT; sleep 300 & echo $! > {folder}/first; mv {folder}/first {self.noted}; sleep 300"
        self.command = ["/bin/sh", "-c", script]

    def second(self) -> int:
        while not self.noted.exists():
            time.sleep(0.01)
        return int(self.noted.read_text())


@pytest.fixture
def setting_up(tmp_path):
    return SettingUp(tmp_path)


def runs(pid: int) -> bool:
    """Whether a process runs still, or soon no more."""
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":  # dead; its new parent has not asked for it yet
                    return False
        except OSError:
            return False
        time.sleep(0.01)
    return True


def test_a_worker_that_does_not_end_is_killed_with_all_that_it_is(setting_up, monkeypatch):
    monkeypatch.setattr(host, "_GRACE", 0.01)
    role = SimpleNamespace(
        command=lambda level, control: setting_up.command, environment={"PATH": "/usr/bin:/bin"}, folder=""
    )
    worker = host.Host("weak", role)
    worker.start()
    worker._waiting = False  # as after its imports
    second = setting_up.second()
    worker.close()
    assert not runs(second)


def test_a_worker_that_is_not_ready_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(host, "_GRACE", 600.0)
    with Compiler() as compiler:
        compiler.start()
        process = compiler._worker._process
    assert process.returncode == -signal.SIGKILL


def test_an_interrupted_probe_leaves_nothing_running(setting_up, monkeypatch):
    def interrupted(self, *args, **kwargs):
        setting_up.second()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    monkeypatch.setattr(bubblewrap, "command", lambda *args: setting_up.command)
    monkeypatch.setattr(paths, "view", lambda: paths.FileView((), ()))
    with pytest.raises(KeyboardInterrupt):
        PROBE._tried({}, ("bubblewrap",), walled=True)
    assert not runs(setting_up.second())


OWNER = """
import sys, time
from graded_kernels.autograder.runner.sandbox import Compiler
compiler = Compiler(sys.argv[1])
compiler._ready()
print(compiler._folder.name, flush=True)
time.sleep(300)
"""


@pytest.mark.parametrize("level", [probe().level, pytest.param("good", marks=pytest.mark.exhaustive)])
def test_the_compilers_folder_goes_with_a_process_that_is_killed(level):
    """A notebook's kernel that is killed, say."""
    if not level:
        pytest.skip("not run: nothing is isolated here")
    with subprocess.Popen([sys.executable, "-c", OWNER, level], stdout=subprocess.PIPE, text=True) as owner:
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()
        owner.kill()
    for _ in range(500):
        if not folder.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{folder} is left")


def test_a_compiler_that_ended_starts_again_in_its_folder():
    with Compiler() as compiler:
        first = compiler._ready()
        first._control.close()
        first._process.wait(60)
        folder = Path(compiler._folder.name)
        assert compiler._ready() is first
        assert first.starts == 2
        assert folder.is_dir()
    assert not folder.exists()


def test_a_folder_that_another_account_made_is_not_taken(tmp_path, monkeypatch):
    launcher.make_again(str(tmp_path))
    monkeypatch.setattr(launcher.os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    with pytest.raises(PermissionError, match="another account's"):
        launcher.make_again(str(tmp_path))
