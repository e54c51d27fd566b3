"""The name under which this package is installed, and the command that adds an extra to it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shlex
import sys
from functools import lru_cache
from pathlib import Path
from typing import Protocol

_COMMAND = "knowledge-mcp"
_PACKAGE = __name__.partition(".")[0]
_IN_THE_IMAGE = "/opt/knowledge-mcp/venv"
_SIGNS = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
"""Files that these tools write into the environments they create."""
_CACHES = frozenset({"cache", "caches", ".cache"})
_UV_CACHES = ("archive-v", "environments-v")
"""Folders in uv's cache: `uvx` runs from one, and `uv cache clean` removes it."""


@lru_cache(maxsize=1)
def distribution_name() -> str | None:
    """Return the installed distribution that provides this package's commands; None if it is not installed.

    Takes about 30 ms, once per process: call it only when the name is shown.
    """
    for distribution in importlib.metadata.distributions():
        for entry in distribution.entry_points:
            if entry.group == "console_scripts" and entry.name == _COMMAND and entry.module.startswith(_PACKAGE):
                return distribution.name
    return None


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, for the tool that created it.

    The name is read from the installed metadata: a hard-coded name could be another project's on the package index.
    """
    name = distribution_name()
    if name is None:
        return f'pip install -e ".[{extra}]" (in the folder of the source)'
    prefix, requirement = Path(sys.prefix), f'"{name}[{extra}]"'
    if prefix.as_posix() == _IN_THE_IMAGE:
        return f"podman build --build-arg EXTRAS={extra},… (as deploy/Containerfile says: this is its image)"
    if is_in_cache(prefix):
        return f"uvx --from {requirement} {_COMMAND}"
    for sign, command in _SIGNS.items():
        if (prefix / sign).is_file():
            return f"{command} {requirement}"
    if sys.prefix == sys.base_prefix:
        return f"pip install {requirement}"
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {shlex.quote(sys.prefix)} {requirement}"
    return f"{shlex.quote(sys.executable)} -m pip install {requirement}"


def is_in_cache(prefix: Path) -> bool:
    """Return whether an environment is in a cache, as those of `uvx` and `pipx run` are; it is not permanent."""
    return any(part.lower() in _CACHES or part.startswith(_UV_CACHES) for part in prefix.parts)


class Secret(Protocol):
    """A value that is not shown when printed, such as pydantic's `SecretStr`."""

    def get_secret_value(self) -> str: ...
