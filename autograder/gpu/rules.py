"""Says what each kind of finding means, and what to do about it: one table for emulator, check, terminal, JSON and
SARIF.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """Holds what a kind of finding means; the kind is its code, and its id in SARIF.

    level: in a program: ``fault`` decides the exit status, ``unable`` means that the emulator could not judge, ``hint``
        is a suspicion.
    title, cure: for people.
    in_check: in a check of a result: ``fault`` by itself; ``explains`` a wrong result, and is nothing beside a right
        one; "" is not said by itself: other lanes are tried, or a GPU promises what is done.
    cause: as the cause of failed cases, a sentence with a {place}; "" where the message says it.
    memory: whether it is about what a launch accesses, which a GPU may let pass.
    undefined: whether a GPU computes another number, or any, so that values that are right here are not those of a GPU.
    """

    level: Literal["fault", "unable", "hint"]
    title: str
    cure: str
    in_check: Literal["fault", "explains", ""] = "fault"
    cause: str = ""
    memory: bool = False
    undefined: bool = False


RULES: dict[str, Rule] = {
    "out-of-bounds": Rule(
        "fault",
        "An access outside its tensor",
        "Mask the lanes that are outside, compute the mask from the tensor's size, and pass the tensor's own strides.",
        cause="The launch reaches outside of {place}.",
        memory=True,
    ),
    "store-conflict": Rule(
        "fault",
        "Different values stored to one element",
        "Let one program and one lane own each element, or use an atomic: `tl.atomic_add`, `tl.atomic_max`.",
        cause="Programs or lanes store different values to one element of {place}.",
        memory=True,
    ),
    "race-read": Rule(
        "fault",
        "A program loads what another one stores in the same launch",
        "Split the work into two launches, or order the programs with a lock or an atomic.",
        cause="A program loads what another one stores into {place}.",
        memory=True,
    ),
    "race-write": Rule(
        "fault",
        "A program stores what another one loads in the same launch",
        "Write to another tensor.",
        cause="A program stores what another one loads from {place}.",
        memory=True,
    ),
    "unordered-launches": Rule(
        "fault",
        "Two launches that a GPU may run at the same time reach one element",
        "Have the second stream wait for the first, or the dependent launch with `gdc_wait`, before.",
    ),
    "own-store": Rule(
        "fault",
        "A program loads what its other lanes have stored",
        "Put `tl.debug_barrier()` between the store and the load.",
        in_check="explains",
    ),
    "own-load": Rule(
        "fault",
        "A program stores what its other lanes have loaded",
        "Put `tl.debug_barrier()` between the load and the store, or write to another tensor.",
        in_check="explains",
    ),
    "unwritten": Rule(
        "fault",
        "A result that the kernel never wrote is read",
        "Check that the grid covers the whole tensor and that no mask cuts off its end.",
        cause="Elements of {place} are never written.",
        memory=True,
    ),
    "uninitialised-read": Rule(
        "fault",
        "A kernel loads memory that was never written",
        "Write it before it is loaded; allocate with `torch.zeros` what a kernel accumulates into.",
        in_check="explains",
    ),
    "masked-load": Rule(
        "fault",
        "The result depends on masked-off lanes of a load without `other`",
        "Add `other=` with the neutral element of what follows: 0 for a sum, -inf for a maximum.",
        in_check="",
        cause="A load with a mask and no `other`: {place}.",
    ),
    "gathered-outside": Rule(
        "fault",
        "`tl.gather` outside its block",
        "Keep the indices within the block: clamp those of lanes that a `tl.where` leaves out.",
        in_check="explains",
    ),
    "left-state": Rule(
        "fault",
        "A result of an autotuned kernel that depends on the configurations tried before",
        "Give the autotuner `reset_to_zero=` or `restore_value=` with the tensor, or every configuration a `pre_hook`.",
    ),
    "saved-tensor": Rule(
        "fault",
        "A kernel stores over what autograd has saved",
        "Store to a new tensor, or save a copy: what was saved has to be there when the backward pass reads it.",
    ),
    "undeclared-store": Rule(
        "fault",
        "A custom operator changes an argument that its schema calls unchanged",
        "Name the argument in `mutates_args=`.",
    ),
    "freed-memory": Rule(
        "fault",
        "A CUDA graph replayed on memory that was freed since its capture",
        "Keep the tensor as long as the graph is replayed, or allocate it within the capture.",
    ),
    "division-by-zero": Rule(
        "fault",
        "An integer divided by zero",
        "Leave out the programs that divide by zero, or make the divisor at least 1.",
        undefined=True,
    ),
    "not-associative": Rule(
        "fault",
        "A reduction or scan whose combining function is not associative",
        "Combine with an associative function, or loop in the order that is meant.",
        undefined=True,
    ),
    "endless-wait": Rule(
        "fault",
        "A program waits for a value that no program stores",
        "Store the value before, or in a program with a smaller number; wait for the value that is stored.",
    ),
    "grid": Rule("fault", "A grid that a GPU refuses", "Pass a tuple of one to three integers within a GPU's limits."),
    "unsupported": Rule("fault", "What Triton's compiler or launcher refuses", "Change the line as the message says."),
    "resources": Rule(
        "fault",
        "More shared memory than the GPU has",
        "Take smaller blocks or fewer stages, or name the GPU that the kernel is for with --device.",
    ),
    "assertion": Rule("fault", "An assertion in the kernel fails", "Fix the kernel, or the call."),
    "kernel-error": Rule(
        "unable",
        "The kernel cannot be interpreted",
        "Change the line as the message says, or leave this kernel to a GPU.",
    ),
    "not-emulated": Rule(
        "unable",
        "What the emulator does not do",
        "Change it as the message says, or leave it to a GPU.",
    ),
    "equal-stores": Rule(
        "hint",
        "Several programs store one value to one element",
        "Let one program store it, as with `mask=tl.program_id(0) == 0`.",
        in_check="",
    ),
    "misleading-hint": Rule(
        "fault",
        "A hint to the compiler that is false, and reaches an address",
        "Remove `tl.multiple_of` and the like, or claim what is true.",
    ),
    "false-hint": Rule(
        "hint",
        "A hint to the compiler that is false",
        "Remove `tl.multiple_of` and the like, or claim what is true.",
    ),
    "configuration": Rule(
        "hint",
        "An autotuner chose another configuration than its first",
        "Run the kernel with this configuration alone.",
        in_check="explains",
    ),
    "wrapped-integer": Rule(
        "hint", "A 32-bit integer wrapped around", "Make one factor 64-bit: `x.to(tl.int64)`.", in_check="explains"
    ),
    "tf32": Rule(
        "hint", "A float32 product in TF32", 'Pass `input_precision="ieee"` to `tl.dot`.', in_check="explains"
    ),
}
