"""Attacks by a kernel on its compiler, in a chapter that asks for one."""

from tampered import TRITON, find

from .attack import NO_FILES, from_file, registry

ATTACKS, attack = registry(chapter="both")


def in_a_dead_branch(nb: dict, line: str) -> None:
    """A right kernel with a line that no program runs, and that the compiler reads."""
    cell = find(nb, TRITON)
    first = next(line for line in cell["source"].split("\n") if "tl.program_id" in line)
    indent = first[: len(first) - len(first.lstrip())]
    cell["source"] = cell["source"].replace(
        first, f"{first}\n{indent}if tl.program_id(0) > 2_000_000_000:\n{indent}    {line}", 1
    )


@attack({TRITON: 0}, "str_to_ty is not part of Triton's language", weak=NO_FILES)
def type_that_writes_the_gradebook(nb):
    """Triton evaluates the end of a type's text as Python: another student's grade in one line."""
    code = "open('@COURSE@/gradebook.db','w').write('100%')"
    in_a_dead_branch(nb, f'tl.str_to_ty("tensordesc<fp32[16],{code}".value, None)')


@attack({TRITON: 1.4}, "the compiler crashed on it")
def ends_the_compiler(nb):
    """A constraint of inline assembly that LLVM does not know ends its process."""
    asm = '"mov $0, $1;", "=q,q", [tl.zeros([16], tl.float32)], dtype=tl.float32, is_pure=False, pack=1'
    in_a_dead_branch(nb, f"tl.inline_asm_elementwise({asm})")


# What the grader reads of it: constants beside a kernel, and launches


from_file(attack, TRITON, "constant_of_a_billion_digits")
from_file(attack, TRITON, "constant_by_many_ways")
from_file(attack, TRITON, "constant_that_doubles", {TRITON: 0})
from_file(attack, TRITON, "deep_constant")
from_file(attack, TRITON, "launch_of_many_levels", {TRITON: 0})
from_file(attack, TRITON, "forged_record", {TRITON: 0})


@attack({TRITON: 0})
def text_that_doubles(nb):
    """A string of 2^40 letters, for whoever writes out what a kernel's name stands for."""
    doubled = "\n".join(f"S{i + 1} = S{i} + S{i}" for i in range(40))
    cell = find(nb, TRITON)
    cell["source"] = f'S0 = "a"\n{doubled}\nLETTERS = tl.constexpr(len(S40))\n\n\n' + cell["source"]
    in_a_dead_branch(nb, "LETTERS + 1")
