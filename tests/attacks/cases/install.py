# exercise: silu_backward
# backend: torch
# expect: full
# limits: seconds=20, total_seconds=200
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Installs a package, or loads weights from somewhere."""

import torch


def attack():
    try:
        import urllib.request

        urllib.request.urlopen("http://127.0.0.1:@PORT@/", timeout=2)
        print("ESCAPED")
    except Exception:
        pass
    try:
        from torch.utils.cpp_extension import load_inline

        load_inline("extension", "int one() { return 1; }", functions=["one"])
        print("ESCAPED")
    except Exception:
        pass


# include: right
