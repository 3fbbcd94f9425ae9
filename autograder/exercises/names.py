"""What exercises are called now, and what they were called in notebooks that were handed out."""

FORMER_NAMES = {"linear_cross_entropy": "linear_cross_entropy_forward_backward"}  # former: present


def present_name(exercise: str) -> str:
    """What the exercise of this name, which may be a former one, is called now."""
    return FORMER_NAMES.get(exercise, exercise)


def names_of(exercise: str) -> list[str]:
    """This name, and the others that the same exercise has or had."""
    name = present_name(exercise)
    every = [name, *(former for former, present in FORMER_NAMES.items() if present == name)]
    return sorted(every, key=lambda one: one != exercise)
