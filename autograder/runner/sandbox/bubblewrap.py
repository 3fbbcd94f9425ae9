"""The command line of bubblewrap: a file system with only what a worker needs, no network, no other processes."""

import os
import shutil
import subprocess

from .paths import FileView

_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")


def command(view: FileView, executable: str, environment: dict[str, str], folder: str = "") -> list[str]:
    """Arguments to put before a Python command. folder: the one that can be written to, if any. Raises
    FileNotFoundError if bubblewrap is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bubblewrap (bwrap) is not installed")
    arguments = [program, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    arguments += ["--unshare-cgroup-try", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "grader"]
    arguments += ["--disable-userns"] if "--disable-userns" in _help(program) else []
    arguments += ["--tmpfs", "/tmp"]  # before the binds: a virtual environment may live under /tmp
    for link in _LINKS:
        if os.path.islink(link):
            arguments += ["--symlink", os.readlink(link), link]
    arguments += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind", executable, executable]
    for path in sorted(view.readable, key=len):  # outer folders first: a later bind would cover what lies beneath it
        arguments += ["--ro-bind", path, path]
    for path in view.hidden:
        arguments += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    arguments += ["--bind", folder, folder] if folder else []
    arguments += ["--proc", "/proc", "--dev", "/dev", "--chdir", "/"]
    for path in ("/dev", "/tmp", "/"):  # read-only: one answer must not leave anything for another
        arguments += ["--remount-ro", path]
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    return arguments


def _help(program: str) -> str:
    return subprocess.run([program, "--help"], capture_output=True, text=True).stdout
