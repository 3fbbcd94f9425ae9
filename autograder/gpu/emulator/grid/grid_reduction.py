"""Reductions and scans of many programs: a block's axes begin behind the programs'."""

from ..reduction import StrictReduce, StrictScan


class GridReduce(StrictReduce):
    """`tl.reduce` for many programs."""

    programs = 1


class GridScan(StrictScan):
    """`tl.associative_scan` for many programs."""

    programs = 1
