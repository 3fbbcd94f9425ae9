"""A machine on which kernels run on a device, for a runner: the device is the CPU's memory, between pads."""

from graded_kernels.autograder.runner.call import runner
from graded_kernels.autograder.runner.call.device import Device


def on_a_device(monkeypatch, device=lambda: Device("cpu")) -> None:
    """Has every runner that is made call its function on ``device()``, without the emulator."""
    monkeypatch.setattr(runner, "mode", lambda: "device")
    monkeypatch.setattr(runner, "Device", device)
