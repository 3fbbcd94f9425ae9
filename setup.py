"""Which packages a wheel holds; everything else is in pyproject.toml, which cannot compute.

The folders stay where they are, and only the import name is prefixed, so that nobody's `kernels` or `solutions` is
shadowed. `package/` is `graded_kernels` itself: its version and the mark that it has types. Each folder with an
`__init__.py` below the others is a package; none is listed by hand.
"""

from setuptools import find_packages, setup

FOLDERS = ("autograder", "course", "kernels", "pytest_plugin", "solutions")

found = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])
setup(
    packages=["graded_kernels", *(f"graded_kernels.{name}" for name in found)],
    package_dir={"graded_kernels": "package"} | {f"graded_kernels.{folder}": folder for folder in FOLDERS},
)
