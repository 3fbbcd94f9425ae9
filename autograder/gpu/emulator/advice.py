"""Says what to do about the errors that Triton and Python raise for the commonest mistakes in a kernel."""

import re

_LONGEST = 300

# (pattern in the message, pattern in the line, what to do)
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
    (
        r"'(str|torch\.dtype|dtype)' object (has no attribute 'scalar'|is not callable)",
        "",
        "Convert with Triton's dtypes, as in `x.to(tl.float32)`; a number of one is `tl.full((), 0.0, tl.float32)`.",
    ),
    (
        r"'int' object has no attribute '(to|dtype|type|shape|cast)'",
        "",
        "Triton compiles an integer argument that is 1, as a stride is, into the kernel, where it is a number of "
        "Python's: write `tl.cast(value, tl.int64)`, or `@triton.jit(do_not_specialize=[...])` with its name.",
    ),
    (
        r"\bvoid\b",
        "",
        "`tl.store` returns nothing: name the value before it is stored.",
    ),
    (
        r"axis .* out of bounds for shape|_semantic",
        r"\.(max|min)\(",
        "`tl.max` and `tl.min` reduce one block over an axis. Of two values take `tl.maximum(a, b)` or `tl.minimum`.",
    ),
    (
        r"argument: 'dtype'|'int' object is not iterable",
        r"\.(zeros|full)\(",
        "A shape is a tuple or a list, and the dtype is given: `tl.zeros([BLOCK], dtype=tl.float32)`.",
    ),
    (
        r"'(int|tensor)' object is not iterable|does not support item assignment|unsupported tensor index",
        r"\[",
        "Elements of a pointer are reached with `tl.load(ptr + offset)` and `tl.store(ptr + offset, value)`; a block "
        "takes only `:` and `None` as an index.",
    ),
    (
        r"Expected pointer argument to have shape \[\S+, .*\] but got \[[^,]*\]",
        "",
        "The value or the mask has two dimensions and the offsets have one: write them as `rows[:, None] * stride + "
        "cols[None, :]`, or reduce the tile first, as in `tl.sum(tile, axis=1)`.",
    ),
    (
        r"incompatible dimensions at index [1-9]",
        "",
        "A block of one dimension runs along the last dimension of a tile. To let it run along the rows, write "
        "`block[:, None]`.",
    ),
    (
        r"incompatible dimensions at index 0",
        "",
        "Blocks that are combined have the same length, or 1: take offsets of the same `tl.arange`.",
    ),
    (
        r"Value argument cannot be block type",
        "",
        "A block goes to as many addresses, as in `y_ptr + offsets`. For one number, reduce it first: `tl.sum(block)`.",
    ),
    (
        r"(Mask|Other) argument cannot be block type",
        "",
        "The pointer is one address: add the offsets, as in `x_ptr + offsets`.",
    ),
    (
        r"for \*\* or pow|'__pow__'",
        "",
        "A kernel has no `**`: write `x * x * x`, or `tl.sqrt(x)` for `x**0.5`; a power whose exponent is an argument "
        "the launcher computes, and hands over.",
    ),
    (r"for @:|MatMult", "", "A kernel has no `@`: write `tl.dot(a, b)`."),
    (
        r"must have equal ranks >= 2",
        "",
        "`tl.dot` multiplies tiles of two dimensions. For two blocks of one, write `tl.sum(a * b)`.",
    ),
    (
        "is not string|of type <class 'str'> to tensor",
        r"\bprint\(",
        "Python's print of a block works only in the emulator: remove it, or write "
        '`tl.device_print("name", block)`, which works on a GPU as well.',
    ),
    (r"unexpected keyword argument 'dim'", "", "Triton names it `axis`, as in `tl.sum(x, axis=0)`."),
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
        r"Scalar (\d+) is out of range for type int32",
        "",
        "A bit pattern of 32 bits with the highest one set is a negative int32: write -65536 for 0xFFFF0000.",
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
_IN_TRITON = {  # PyTorch's functions and methods
    "mean": "tl.sum(x) / N",
    "square": "x * x",
    "pow": "x * x * x",
    "relu": "tl.maximum(x, 0)",
    "matmul": "tl.dot(a, b)",
    "mm": "tl.dot(a, b)",
    "unsqueeze": "x[:, None]",
    "float": "x.to(tl.float32)",
    "half": "x.to(tl.float16)",
    "bfloat16": "x.to(tl.bfloat16)",
    "int": "x.to(tl.int32)",
    "long": "x.to(tl.int64)",
}
_MISSING = (  # by the interpreter and by the compiler
    r"'tensor' object has no attribute '(\w+)'",
    r"module 'triton\.language[\w.]*' has no attribute '(\w+)'",
    r"^\.(\w+): tensors, dtypes and constants have no such attribute",
    r"^triton\.language\.(\w+) is not part of Triton's language",
)
_OTHERS = {"np": "numpy does not run on a GPU", "math": "Python's math takes single numbers"}
_OTHERS |= {"numpy": _OTHERS["np"], "torch": "PyTorch does not run in a kernel"}


def shorten(text: str) -> str:
    """One line of a message that may hold a whole array."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} ..."


def on(message: str, source: str) -> str:
    """A sentence to add to an error that Triton's interpreter, its compiler or Python raises at the line ``source``;
    empty where there is nothing to say.
    """
    for pattern, line, do in _KNOWN:
        if re.search(pattern, message) and re.search(line, source):
            return do
    missing = next((match for pattern in _MISSING if (match := re.search(pattern, message))), None)
    return _of_tl(message, source) or (instead(missing.group(1)) if missing else "")


def on_nothing(names: list[str]) -> str:
    """A sentence on names that hold what `tl.store` returns; empty where there are none."""
    if not names:
        return ""
    return f"`{names[0]}` is what `tl.store` returned, and it returns nothing: name the value before it is stored."


def instead(name: str) -> str:
    """Returns what a kernel calls in place of a function or method that Triton does not have; empty where it is
    unknown.
    """
    import triton.language as tl  # a report is read where Triton is not installed, too
    from triton.language.extra.cuda import libdevice

    if name in _IN_TRITON:
        return f"Write `{_IN_TRITON[name]}`."
    if hasattr(tl, name):
        return f"Write `tl.{name}(x)`."
    if hasattr(libdevice, name):
        return f"libdevice has it: `from triton.language.extra import libdevice`, then `libdevice.{name}(x)`."
    return ""


def _of_tl(message: str, source: str) -> str:
    """Returns what a kernel calls in place of a function of another module that takes no block."""
    other = re.search(r"\b(np|numpy|math|torch)\.(\w+)", source)
    refused = r"size 1|real number|must be Tensor, not tensor|'torch|is Python for the CPU|name 'math'|numpy|np"
    if not other or not (re.search(refused, message) or other.group(1) in ("np", "numpy")):
        return ""
    import triton.language as tl

    module, name = other.groups()
    instead = f"write `tl.{name}`" if hasattr(tl, name) else "use the functions of `tl`"
    return f"{_OTHERS[module]}: {instead}."
