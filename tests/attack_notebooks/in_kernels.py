"""Attacks by a kernel on its compiler, in a chapter that asks for one."""

from tampered import TRITON, find

from .attack import NO_FILES, registry

ATTACKS, attack = registry(chapter="both")


def in_a_dead_branch(nb: dict, line: str) -> None:
    """A right kernel with a line that no program runs, and that the compiler reads."""
    cell = find(nb, TRITON)
    first = next(line for line in cell["source"].split("\n") if "tl.program_id" in line)
    indent = first[: len(first) - len(first.lstrip())]
    cell["source"] = cell["source"].replace(first, f"{first}\n{indent}if tl.program_id(0) < 0:\n{indent}    {line}", 1)


@attack({TRITON: 0}, "str_to_ty is not part of Triton's language", weak=NO_FILES)
def type_that_writes_the_gradebook(nb):
    """Triton evaluates the end of a type's text as Python: another student's grade in one line."""
    code = "open('@COURSE@/gradebook.db','w').write('100%')"
    in_a_dead_branch(nb, f'tl.str_to_ty("tensordesc<fp32[16],{code}".value, None)')


@attack({TRITON: 1.88}, "the compiler died of it")
def ends_the_compiler(nb):
    """A constraint of inline assembly that LLVM does not know ends its process."""
    asm = '"mov $0, $1;", "=q,q", [tl.zeros([16], tl.float32)], dtype=tl.float32, is_pure=False, pack=1'
    in_a_dead_branch(nb, f"tl.inline_asm_elementwise({asm})")
