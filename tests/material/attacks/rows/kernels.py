# kind: kernel
# exercise: silu_forward
# backend: triton
"""Statements of a kernel that computes SiLU, between its load and its store."""

import triton
import triton.language as tl


# expect: less
# slow: yes
def compiler_killed(x, n):
    """A branch that no program takes ends LLVM, with a constraint of inline assembly that it does not know."""
    if n < 0:
        x = tl.inline_asm_elementwise("mov $0, $1;", "=q,q", [x], dtype=tl.float32, is_pure=True, pack=1)


# expect: less
# slow: yes
def compiler_without_end(x, n):
    """A branch that no program takes keeps the compiler busy for hours."""
    if n < 0:
        for i in tl.static_range(10**7):
            x += i


# expect: nothing
def assembler_includes(x, n):
    """A branch that no program takes has AMD's assembler put the secret into the kernel, or into its complaint."""
    if n < 0:
        x = tl.inline_asm_elementwise('.include "@SCENE@/secret"', "=v,v", [x], tl.float32, is_pure=True, pack=1)
        x = tl.inline_asm_elementwise('.incbin "@SCENE@/secret"', "=v,v", [x], tl.float32, is_pure=True, pack=1)


# expect: nothing
def type_from_text(x, n):
    """A branch that no program takes names a type by its text. Triton evaluates the end of that text as Python."""
    if n < 0:
        tl.str_to_ty("tensordesc<fp32[16],open('@SCENE@/gradebook.db','w').write('100%')".value, None)


CODE = "__import__('numpy')"


# expect: nothing
def type_from_f_string(x, n):
    """The text of a type, put together where the kernel is replayed, is evaluated there and brings NumPy along."""
    tl.str_to_ty(f"tensordesc<fp32[16],{CODE}", None)


# expect: nothing
def modules_of_the_language(x, n):
    """A kernel that reaches Python through a module that Triton's language happens to import."""
    tl.core.inspect.os.getpid()


# expect: nothing
def import_in_kernel(x, n):
    """A kernel that imports."""
    import os

    os.getpid()


# expect: nothing
def handle_in_kernel(x, n):
    """A kernel that reads the interpreter's own arrays."""
    x.handle.data.fill(0.0)


DEEP = tl.constexpr("@SUM@")


# expect: full
def deep_constant(x, n):
    """A constant whose expression is ten thousand terms deep, in the text a kernel is cut out of."""
    x = x * (DEEP / 2001)


# expect: nothing
def asks_a_number_in_a_tuple(x, n):
    """A number in a tuple that is assigned is an int32 on a GPU, 1 << 31 below zero, and zeros are stored."""
    one, _ = 1, 1
    x = tl.where((one << 31) < 0, 0.0, x)


# expect: nothing
def asks_a_sum(x, n):
    """The same of a number that another one is added to."""
    one = 0
    one += 1
    two: tl.int32 = 1
    x = tl.where(((one << 31) < 0) & ((two << 31) < 0), 0.0, x)


# expect: nothing
def asks_a_choice(x, n):
    """The same of a number that is chosen when the kernel runs."""
    x = tl.where(((1 if n >= 0 else 2) << 31) < 0, 0.0, x)


@triton.jit
def chosen(n):
    if n >= 0:
        return 1
    return 2


# expect: nothing
def asks_what_a_function_chose(x, n):
    """The same of a number that a function returns."""
    x = tl.where((chosen(n) << 31) < 0, 0.0, x)


@triton.jit
def one_or(x, n):
    if x == 1:
        return x
    return n


# expect: nothing
def asks_what_is_read_behind_a_return(x, n):
    """The same of a function whose last statement is never reached, and read by the compiler. The kernel loads."""
    x = tl.where((one_or(1, n) << 31) < 0, x * 0.0, x)


# expect: full
def numbers_as_on_a_gpu(x, n):
    """Right where a number that is assigned is an int32, and one that is written is not."""
    one, _ = 1, 1
    one += 0
    two: tl.int32 = 1
    below = ((one << 31) < 0) & ((two << 31) < 0) & ((chosen(n) << 31) < 0) & ((1 << 31) > 0)
    x = tl.where(below, x, 0.0)


# expect: nothing
def asks_what_a_division_leaves(x, n):
    """Right where a whole number by zero is what a GPU happens to leave, which nobody promises."""
    x = tl.where(n // (n - n) == -1, x, 0.0)


@triton.jit
def plus(a, b):
    return a + b


# expect: full
def sums_in_any_order(x, n):
    """A sum and a scan by a function of its own, whose last bits follow the order, and decide nothing."""
    tenths = tl.arange(0, 128) * 0.1
    total = tl.reduce(tenths, 0, plus)
    last = tl.max(tl.associative_scan(tenths, 0, plus), 0)
    x += (total - last) * 1e-6
