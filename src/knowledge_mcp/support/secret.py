"""What a credential looks like to whoever only hands it on, so that no room needs pydantic for it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Secret"]


class Secret(Protocol):
    """Hold a value that does not show itself when it is printed, such as pydantic's `SecretStr`."""

    def get_secret_value(self) -> str: ...
