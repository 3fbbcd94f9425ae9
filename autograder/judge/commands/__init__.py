"""The judge's commands of `graded-kernels`. Each imports what it needs when it is run."""

from ...words import Commands


def add_to(commands: Commands) -> None:
    """Adds ``list``, ``check``, ``new``, ``compare``, ``neighbours`` and ``verdicts`` to the parser."""
    from . import check_command as check
    from . import compare_command as side_by_side
    from . import listing, new
    from . import neighbours_command as neighbours  # which imports from this folder
    from . import verdicts_command as verdicts

    for module in (listing, check, new, side_by_side, neighbours, verdicts):
        module.add_to(commands)
