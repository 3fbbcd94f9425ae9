"""Hides Triton from this process, as on a machine for which it has no packages; import it before anything else."""

import sys
from importlib.machinery import PathFinder


class WithoutTriton(PathFinder):
    """Python's own finder of packages, which does not find Triton."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "triton" else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutTriton
