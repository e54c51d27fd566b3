"""How many cores this process may use."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["usable_cores"]

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota_file: Path = CPU_QUOTA) -> int:
    """Count the cores that this process may use: its affinity, or a container's CPU quota where that is less."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or `max`: no quota
        return cores
