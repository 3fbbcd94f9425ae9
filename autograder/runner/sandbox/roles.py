"""The two roles of a worker, running answers and compiling kernels, and the command that starts one at a level of
isolation.
"""

import glob
import os
from dataclasses import dataclass

from . import bubblewrap, launcher, paths
from .probe import LEVELS, probe


@dataclass(frozen=True)
class Role:
    """module: in `sandbox.worker`, what the process runs. folder: the only one that it may write to, if any. programs:
    those that it may start. hidden: what it must not see (`paths.view`).
    """

    module: str
    environment: dict[str, str]
    folder: str = ""
    programs: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def command(self, level: str, control: int) -> list[str]:
        """The command of a worker that takes requests from the socket ``control``."""
        machine, view, confined = probe(), paths.view(self.hidden), level != LEVELS[0]
        rules = basic = None
        if confined and machine.has("landlock"):
            writable = [self.folder, "/dev/null"] if self.folder else []
            rules = (*view.rules(), writable, self.programs)
            basic = None if self.programs else (*view.rules(composed=False), writable)
        settings = launcher.locations() | {"role": self.module, "folder": self.folder}
        settings |= {"socket": control, "rules": rules, "basic": basic, "seccomp": confined}
        walled = level == "strong" or (level == "good" and not machine.has("landlock"))
        wall = bubblewrap.command(view, paths.interpreter(), self.environment, self.folder) if walled else []
        return launcher.removing(self.folder) + wall + launcher.python(settings)


def answering(hidden: tuple[str, ...] = ()) -> Role:
    """Calls answers. PyTorch puts tensors of 2 MiB and more on large pages: these are given back when they are freed,
    and page by page that took a large call as long as its arithmetic.
    """
    return Role("answering", launcher.environment() | {"THP_MEM_ALLOC_ENABLE": "1"}, hidden=hidden)


def compiling(folder: str, hidden: tuple[str, ...] = ()) -> Role:
    """Compiles kernels in ``folder``: the one role that starts programs, Triton's assemblers and disassemblers."""
    plain = {name: v for name, v in launcher.environment().items() if not name.startswith(("TRITON", "TORCH"))}
    written = dict.fromkeys(("TRITON_CACHE_DIR", "TRITON_HOME", "TMPDIR"), folder)
    return Role("compiling", plain | written, folder, tools(), hidden)


def tools() -> tuple[str, ...]:
    """The programs in Triton's package, and the dynamic loaders that they need."""
    files = [path for site in paths.site_folders() for path in glob.glob(f"{site}/triton/backends/*/bin/*")]
    files += glob.glob("/lib64/ld-linux*.so.*") + glob.glob("/lib/ld-linux*.so.*")
    return tuple(dict.fromkeys(os.path.realpath(path) for path in files if os.path.isfile(path)))
