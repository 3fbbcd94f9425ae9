"""Kernels that Triton's compiler would refuse as well, as a program meets it there."""

from typing import NoReturn

import triton
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import InterpreterError, OutOfResources

from .findings import EmulatorError, Finding, current_place


class RefusedLaunch(EmulatorError, triton.CompilationError, InterpreterError):  # type: ignore[misc]  # without types
    """A launch that was stopped, as Triton stops it: a test that expects the compiler's error gets one, and one that
    has seen that kernels are interpreted, the interpreter's.
    """

    def __init__(self, finding: Finding):
        Exception.__init__(self, finding.message)
        self.finding, self.src, self.node = finding, None, None
        self.message = self.error_message = finding.message


class StaticAssertionError(AssertionError):
    """A `tl.static_assert` is false: with these constants the kernel does not compile."""


class FalseStaticAssertion(RefusedLaunch, CompileTimeAssertionFailure):  # type: ignore[misc]  # likewise
    """A launch with whose constants a `tl.static_assert` is false. An autotuner passes over such a configuration."""


class OutOfSharedMemory(EmulatorError, OutOfResources):  # type: ignore[misc]  # likewise
    """A launch whose programs need more shared memory than there is. An autotuner passes over such a configuration."""

    def __init__(self, finding: Finding):
        Exception.__init__(self, finding.message)
        self.finding = finding

    __str__ = Exception.__str__


class RefusedWarps(EmulatorError, AssertionError):
    """A number of warps that Triton's compiler refuses, as it does."""


class RefusedClusters(EmulatorError, ValueError):
    """The same of a number of blocks in a cluster."""


class UnknownOption(EmulatorError, KeyError):
    """The same of an option that it does not know."""

    __str__ = Exception.__str__  # a KeyError's has the text in quotation marks


def refuse(why: str) -> NoReturn:
    """Ends the launch at the kernel's line under way, which the compiler would refuse. Raises Refused."""
    place = current_place()
    text = f"The kernel does not compile for a GPU, {place}: {why}"
    raise RefusedLaunch(Finding("unsupported", text, line=place.line, source=place.source, file=place.file))
