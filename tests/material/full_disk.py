"""A disk of its own for a test, small enough to be filled. Only root can mount one."""

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

BALLAST = ".ballast"
NOT_HERE = "not run: needs root, a loop device and mkfs.ext4, to mount a small disk"


def can_mount(folder: Path) -> bool:
    """Whether this process can mount a disk, found out by doing it."""
    try:
        with mounted(folder / "tried", 1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Path]:
    """An empty ext4 file system at ``folder``, from a sparse file beside it."""
    folder.mkdir()
    image = folder.with_name(f"{folder.name}.ext4")
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    run = lambda *line: subprocess.run(line, check=True, capture_output=True)  # noqa: E731
    run("mkfs.ext4", "-q", "-m", "0", str(image))
    run("mount", "-o", "loop", str(image), str(folder))
    try:
        (folder / "lost+found").rmdir()
        yield folder
    finally:
        run("umount", "--lazy", str(folder))
        image.unlink()


def fill(folder: Path) -> Path:
    """A file that takes what the disk of ``folder`` has left, to the last byte. Nothing is written, so it is quick."""
    path = folder / BALLAST
    with open(path, "wb") as file:
        for size in (1 << 26, 1 << 20, 4096):
            try:
                while True:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return path


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """No byte is free on the disk of ``folder`` until the end."""
    path = fill(folder)
    try:
        yield
    finally:
        path.unlink()
