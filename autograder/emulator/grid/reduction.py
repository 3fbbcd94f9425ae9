"""Reductions and scans of many programs: a block's axes begin behind the programs'."""

from ..reduction import StrictReduce, StrictScan


class GridReduce(StrictReduce):
    programs = 1


class GridScan(StrictScan):
    programs = 1
