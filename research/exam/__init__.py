"""The exam that checkers of GPU kernels take: programs of which it is known what is wrong, or that nothing is.

    python -m research.exam --checker NAME [--kind KIND] [--family FAMILY] [--again]
    python -m research.exam --page

`rows/` and `computed_rows.py` have the table, a row a program; `checkers/` an adapter a checker; `results/` what each
said; README.md is the page of results.
"""
