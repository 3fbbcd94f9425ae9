"""The judge's commands of `graded-kernels`. Each imports what it needs when it is run."""

from ...words import Commands


def add_to(commands: Commands) -> None:
    """Adds ``list``, ``check``, ``new``, ``compare``, ``neighbours`` and ``verdicts`` to the parser."""
    from ..neighbours import command as neighbours  # which imports from this folder
    from ..side_by_side import command as side_by_side
    from ..verdicts import command as verdicts
    from . import check, listing, new

    for one in (listing, check, new, side_by_side, neighbours, verdicts):
        one.add_to(commands)
