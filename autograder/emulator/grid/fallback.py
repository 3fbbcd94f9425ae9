"""Why a pass gives up."""


class Fallback(BaseException):
    """The launch must run one program at a time; the text says why.

    No `Exception`: nothing between the access and the launch, neither Triton's wrappers nor a kernel, may catch it.
    """


class TooWide(BaseException):
    """The arrays of this pass would exceed the budget: fewer programs must run together."""
