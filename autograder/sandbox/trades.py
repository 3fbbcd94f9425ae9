"""What a worker may be for, answers or compiling, and how one is started on a rung of isolation."""

import glob
import os
from dataclasses import dataclass

from . import bubblewrap, launcher, paths
from .probe import RUNGS, probe


@dataclass(frozen=True)
class Trade:
    """module: its side of the work, in this package. folder: one to write to, and ``programs``: those that it may
    start, if any. hidden: what it must not see (`paths.view`).
    """

    module: str
    environment: dict[str, str]
    folder: str = ""
    programs: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def command(self, rung: str, control: int) -> list[str]:
        """How a worker starts that takes its orders from the socket ``control``."""
        found, view, confined = probe(), paths.view(self.hidden), rung != RUNGS[0]
        rules = None
        if confined and found.has("landlock"):
            writable = [self.folder, "/dev/null"] if self.folder else []
            rules = (*view.rules(), writable, self.programs)
        settings = launcher.locations() | {"trade": self.module, "folder": self.folder}
        settings |= {"socket": control, "rules": rules, "seccomp": confined}
        walled = rung == "strong" or (rung == "good" and not found.has("landlock"))
        wall = bubblewrap.command(view, paths.interpreter(), self.environment, self.folder) if walled else []
        return wall + launcher.python(settings)


def answering(hidden: tuple[str, ...] = ()) -> Trade:
    return Trade("answering", launcher.environment(), hidden=hidden)


def compiling(folder: str, hidden: tuple[str, ...] = ()) -> Trade:
    """Of kernels, in ``folder``: the one work that takes other programs, Triton's assemblers and disassemblers."""
    plain = {name: v for name, v in launcher.environment().items() if not name.startswith(("TRITON", "TORCH"))}
    written = dict.fromkeys(("TRITON_CACHE_DIR", "TRITON_HOME", "TMPDIR"), folder)
    return Trade("compiling", plain | written, folder, tools(), hidden)


def tools() -> tuple[str, ...]:
    """The programs in Triton's package, and what loads them."""
    found = [path for site in paths.site_folders() for path in glob.glob(f"{site}/triton/backends/*/bin/*")]
    found += glob.glob("/lib64/ld-linux*.so.*") + glob.glob("/lib/ld-linux*.so.*")
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found if os.path.isfile(path)))
