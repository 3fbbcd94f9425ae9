"""A piece of the plan: the device and the versions that everything else was measured with."""

import os
from importlib.metadata import PackageNotFoundError, version

import torch

from .timing import COPIED, copy_bandwidth

PACKAGES = ("triton", "liger-kernel", "quack-kernels")


def machine(name: str, simulated: bool) -> dict:
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": f"{properties.name}, simulated" if simulated else properties.name,
        "capability": f"sm_{properties.major}{properties.minor}",
        "memory": properties.total_memory,
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "none",
        "copy": copy_bandwidth(1 << 20 if simulated else COPIED),
    } | {package: installed(package) for package in PACKAGES}


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
