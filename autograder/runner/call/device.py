"""A Triton answer on a real GPU: stray accesses are read from canaries around each tensor."""

from typing import Any

import torch

from ...gpu import Finding, KernelLaunch
from .huge_strides import is_apart

PAD = 4096  # bytes before and after each tensor; a load that strays there reads NaN, a store is found afterwards
CANARY = 0xFF  # NaN in every floating dtype, -1 in every integer


class Device:
    """Stands where the emulator stands when kernels run on the GPU: counts launches, pads tensors, finds strays."""

    hints: tuple[Finding, ...] = ()
    looser: tuple[str, ...] = ()
    undefined = False
    launching = False

    def __init__(self, device: str = "cuda"):
        self.device = device
        self.launches: tuple[str, ...] = ()
        self.traffic: dict[str, dict[str, int]] = {}
        self._padded: list[tuple[str, torch.Tensor]] = []  # (what it is, its bytes with both pads)

    def described(self) -> tuple[KernelLaunch | str, ...]:
        """None: what a GPU ran is not seen."""
        return ()

    def __enter__(self) -> "Device":
        from triton.runtime.jit import JITFunction

        self._run = run = JITFunction.run

        def counted(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("warmup"):
                self.launches += (function.fn.__name__,)
            return run(function, *args, **kwargs)

        JITFunction.run = counted
        return self

    def __exit__(self, *error: object) -> None:
        from triton.runtime.jit import JITFunction

        JITFunction.run = self._run

    def put(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor on the device, same shape, strides and offset, between two pads of canaries. The pads belong to
        another storage in the same memory: its own ends with it.
        """
        storage = tensor.untyped_storage()
        data = torch.empty(0, dtype=torch.uint8).set_(storage.cpu() if storage.device.type != "cpu" else storage)
        memory = torch.full((data.numel() + 2 * PAD,), CANARY, dtype=torch.uint8, device=self.device)
        self._padded.append((name, memory))
        between = torch.empty(0, dtype=torch.uint8, device=self.device)
        if data.numel():
            between = torch.from_dlpack(memory[PAD : PAD + data.numel()])
        typed = torch.empty(0, dtype=tensor.dtype, device=self.device)
        typed.set_(between.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
        if is_apart(tensor.shape, tensor.stride()):
            return typed.copy_(tensor)  # the gigabytes between the rows stay where they are
        between.copy_(data)
        return typed

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """A padded tensor of canaries in the place of one that promised nothing."""
        if tensor.device.type != torch.device(self.device).type or not tensor.numel():
            return tensor
        reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        blank = torch.full((reach * tensor.element_size(),), CANARY, dtype=torch.uint8)
        typed = torch.empty(0, dtype=tensor.dtype).set_(blank.untyped_storage(), 0, tensor.shape, tensor.stride())
        return self.put("a tensor from torch.empty", typed)

    def note_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes nothing: see `unwritten`."""

    def unwritten(self, tensor: torch.Tensor, name: str = "the output") -> None:
        """Reports nothing: an element that was not written still holds a canary, which the comparison finds."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A sentence for every pad that changed. Waits for the device."""
        return tuple(stray for name, memory in self._padded for stray in _strays(name, memory))


def _strays(name: str, memory: torch.Tensor) -> list[Finding]:
    before, after = (memory[:PAD] != CANARY).cpu(), (memory[-PAD:] != CANARY).cpu()
    findings = []
    if before.any():
        findings.append(_stray(name, f"{PAD - int(before.int().argmax())} bytes before the beginning of {name}."))
    if after.any():
        findings.append(_stray(name, f"{int(after.int().argmax())} bytes past the end of {name}: mask the store."))
    return findings


def _stray(name: str, where: str) -> Finding:
    return Finding("out-of-bounds", f"A kernel stored {where}", tensor=name)
