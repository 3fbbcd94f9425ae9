# kind: kernel
# exercise: silu_forward
# backend: triton
"""Statements of a kernel that computes SiLU, between its load and its store."""

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
