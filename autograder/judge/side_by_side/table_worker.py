"""``python -m graded_kernels.autograder.judge.side_by_side.table_worker`` takes a job a line and answers with a verdict
a line. Python's garbage collector looks through none of its imports, then or later.
"""

from ...words import no_garbage


def main() -> None:
    """Imports `table_process`, and has it answer."""
    with no_garbage():
        from . import table_process
    table_process.main()


if __name__ == "__main__":
    main()
