"""Why a pass gives up."""


class Fallback(BaseException):
    """The launch must run one program at a time; the text says why.

    It is not an `Exception`, so that neither Triton's wrappers nor a kernel catch it on its way to the launch.
    """


class Defect(Exception):
    """A pass ended in an error of the emulator's own (``__cause__``), and is undone. Unless the kernel fails one
    program at a time, too, nothing is wrong with it, and the error is to be raised.
    """


class Traced(BaseException):
    """The pass begins anew and remembers what it loads of a tensor that it turned out to store to."""


class InOrder(BaseException):
    """The launch begins anew and has its passes in the order in which one program at a time would run."""


class NoLockstep(BaseException):
    """One array cannot hold the variables of programs that wait for each other: in this launch they part for good."""


class TooWide(BaseException):
    """The arrays of this pass would exceed the budget: fewer programs must run together."""
