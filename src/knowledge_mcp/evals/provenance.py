"""Which build was measured: the commit of the checkout that the package runs from, where it runs from one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import knowledge_mcp

__all__ = ["commit_of_build"]

_SECONDS = 10.0


def commit_of_build(folder: Path | None = None) -> str:
    """Name the commit in 12 hex digits, with `+` where tracked files differ; empty outside a checkout.

    Args:
        folder: inside the checkout; without it, the package's own. An installed package is in none, whatever folder
            its environment lies in: it must be tracked there.
    """
    here = folder or Path(knowledge_mcp.__file__).parent
    if _git(here, "ls-files", "--error-unmatch", "--", ".") is None:
        return ""
    commit = _git(here, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return ""
    changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}+" if changed else commit


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git; returns what it says, None where it fails or is not there."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
