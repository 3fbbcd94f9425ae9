"""Attacks on the measurement of memory, in a chapter whose answer may not hold all logits at once."""

from tampered import LIMITED

from .attack import from_file, registry

ATTACKS, attack = registry(chapter="memory")
LESS, TOO_MUCH = {LIMITED: 4}, "not efficient peak memory In a process with memory for the"

from_file(attack, LIMITED, "memory_patched_peak", LESS, TOO_MUCH)
from_file(attack, LIMITED, "memory_of_numpy", LESS, TOO_MUCH)
from_file(attack, LIMITED, "memory_of_the_c_library", {LIMITED: 0})
