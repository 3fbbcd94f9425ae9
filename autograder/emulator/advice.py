"""What to do about the errors that Triton and Python raise for the commonest mistakes in a kernel."""

import re

from triton.language.extra.cuda import libdevice

_LONGEST = 300

# (pattern in "Type: message", pattern in the line, what to do)
_KNOWN = (
    (r"must be a power of (2|two)", "", "Take `triton.next_power_of_2(n)` and mask what is beyond n."),
    (
        r"arange's arguments must be of type tl\.constexpr",
        "",
        "A block's size is known when the kernel is compiled: declare the parameter `BLOCK: tl.constexpr` and pass an "
        "int.",
    ),
    (
        r"[Ss]hape element .* must (be|have) .*constexpr",
        "",
        "A block's shape is known when the kernel is compiled: declare its sizes `tl.constexpr`.",
    ),
    (
        r"'tuple' object has no attribute '(append|extend|pop|insert|sort)'",
        "",
        "Triton reads a list as a tuple of fixed length. Keep the values in variables, or add them up in a block.",
    ),
    (r"", r"\b(np|numpy)\.\w", "numpy does not run on a GPU: use the functions of `tl`."),
    (
        r"must be Tensor, not tensor|'torch",
        r"\btorch\.",
        "PyTorch does not run in a kernel: use the functions of `tl`.",
    ),
    (
        r"size 1|real number|must be a real",
        r"\bmath\.",
        "Python's math takes single numbers: use the functions of `tl`.",
    ),
    (
        r"'(int|tensor)' object is not iterable|does not support item assignment|unsupported tensor index",
        r"\[",
        "Elements of a pointer are reached with `tl.load(ptr + offset)` and `tl.store(ptr + offset, value)`; a block "
        "takes only `:` and `None` as an index.",
    ),
    (
        r"[Uu]nsupported ptr type",
        "",
        "The first argument is pointer plus offsets, as in `x_ptr + offsets`.",
    ),
    (
        r"pointer<",
        "",
        "A tensor reaches the kernel as a pointer: load from it with `tl.load`, or pass a Python number (`.item()`).",
    ),
    (
        r"Expected dtype \['fp32', 'fp64'\]|KeyError: \(.*triton\.language\.(float16|bfloat16)",
        "",
        "It takes float32: convert first, as in `x.to(tl.float32)`.",
    ),
    (
        r"UnboundLocalError|referenced before assignment",
        "",
        "Give it a value before the loop or the branch, as in `acc = tl.zeros([BLOCK], dtype=tl.float32)`.",
    ),
    (
        r"NameError: name 'tl' is not defined",
        "",
        "Add `import triton.language as tl`.",
    ),
)


def shorten(text: str) -> str:
    """One line of a message that may hold a whole array."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} ..."


def on(error: BaseException, source: str) -> str:
    """A sentence to add to an error raised at the line ``source``; empty where there is nothing to say."""
    message = f"{type(error).__name__}: {error}"
    missing = re.search(r"module 'triton\.language[\w.]*' has no attribute '(\w+)'", message)
    if missing:
        name = missing.group(1)
        return (
            f"libdevice has it: `from triton.language.extra import libdevice`, then `libdevice.{name}(x)`."
            if hasattr(libdevice, name)
            else ""
        )
    found = (do for pattern, line, do in _KNOWN if re.search(pattern, message) and re.search(line, source))
    return next(found, "")
