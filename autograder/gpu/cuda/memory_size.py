"""Says how much memory the simulated GPU has: this machine's, because its tensors lie there."""

from pathlib import Path


def total(root: Path = Path("/")) -> int:
    """The bytes that this process may hold at most: the machine's, or its control group's (version 2)."""
    return min(_of_machine(root)["MemTotal"], *(limit for limit, _ in _of_groups(root)))


def free(root: Path = Path("/")) -> int:
    """The bytes that it could still be given now."""
    return max(0, min(_of_machine(root)["MemAvailable"], *(limit - used for limit, used in _of_groups(root))))


def _of_machine(root: Path) -> dict[str, int]:
    """/proc/meminfo, whose unit is 1024 bytes; no limit where it is hidden, as in the sandbox."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except PermissionError:
        return dict.fromkeys(("MemTotal", "MemAvailable"), 1 << 62)
    return {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines)}


def _of_groups(root: Path) -> list[tuple[int, int]]:
    """Limit and use, in bytes, of the process's control group and those around it, cached files not counted."""
    limits: list[tuple[int, int]] = [(1 << 62, 0)]
    try:
        (path,) = (line[3:] for line in (root / "proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        group = root / "sys/fs/cgroup" / path.lstrip("/")
        for folder in [group, *group.parents][: len(Path(path).parts)]:
            limit, used = ((folder / f"memory.{name}") for name in ("max", "current"))
            if limit.is_file() and (number := limit.read_text().strip()) != "max":
                cached = next(
                    int(line.split()[1])
                    for line in (folder / "memory.stat").read_text().splitlines()
                    if line.startswith("inactive_file ")
                )
                limits.append((int(number), int(used.read_text()) - cached))
    except (OSError, ValueError, StopIteration):
        pass  # no such groups here, or they are hidden from this process
    return limits
