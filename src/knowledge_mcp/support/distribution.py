"""The name under which this package is installed, and the command that adds an extra to it."""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache
from typing import Protocol

__all__ = [
    "Secret",
    "distribution_name",
    "install_command",
]

_COMMAND = "knowledge-mcp"
_PACKAGE = __name__.partition(".")[0]


@lru_cache(maxsize=1)
def distribution_name() -> str | None:
    """Find the installed distribution that brings this package's commands; None where it runs without being installed.

    Takes some 30 ms, once a process: ask only when the name is shown.
    """
    for distribution in importlib.metadata.distributions():
        for entry in distribution.entry_points:
            if entry.group == "console_scripts" and entry.name == _COMMAND and entry.module.startswith(_PACKAGE):
                return distribution.name
    return None


def install_command(extra: str) -> str:
    """Return what a person types to add an extra to this installation.

    The name is read from what is installed: a name that is spelled by hand could be a stranger's on the package index.
    """
    name = distribution_name()
    return f'pip install "{name}[{extra}]"' if name else f'pip install -e ".[{extra}]" (in the folder of the source)'


class Secret(Protocol):
    """Hold a value that does not show itself when it is printed, such as pydantic's `SecretStr`."""

    def get_secret_value(self) -> str: ...
