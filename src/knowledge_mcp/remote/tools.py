"""RemoteDesk: the tools of a surface, run whole by the engine of another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, cast
from urllib.parse import quote

from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError
from knowledge_mcp.remote.connection import Ask, RemoteOptions, ServiceConnection, of_options
from knowledge_mcp.remote.failures import SERVICE, Failed, told_error
from knowledge_mcp.support.retry import RetryPolicy

__all__ = ["RefusedError", "RemoteDesk", "from_options"]


class RefusedError(KnowledgeError):
    """Carry an error as the surface there has put it already.

    Args:
        message: what it says.
        rendered: the whole of it.
    """

    def __init__(self, message: str, rendered: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.rendered = dict(rendered)


def from_options(options: RemoteOptions, surface: str) -> RemoteDesk:
    """Build the client from the settings; asks nobody.

    Raises:
        ConfigError: address or key is missing or cannot be used.
    """
    url, key = of_options(options)
    return RemoteDesk(url, key, surface)


class RemoteDesk:
    """Run tools of one surface on another machine. Thread-safe.

    Paths that such tools take are the other machine's, below the folders that it allows.

    Args:
        url: address of the REST service.
        key: sent as bearer token to this address only; empty for none.
        surface: whose tools are run.
        timeout: seconds for each sign of life.
        policy: retries of tools that change nothing; None for the specified ones.

    Raises:
        ConfigError: address or key cannot be used.
    """

    def __init__(
        self, url: str, key: str, surface: str, *, timeout: float = 60.0, policy: RetryPolicy | None = None
    ) -> None:
        self._connection = ServiceConnection(url, key, timeout=timeout, policy=policy)
        self._timeout = timeout
        self._path = f"/engine/{quote(surface, safe='')}"

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        on_progress: Callable[[float, float | None, str], None],
        cancelled: Callable[[], bool],
        repeatable: bool,
    ) -> dict[str, Any]:
        """Run one tool and return its answer.

        Raises:
            RefusedError: the tool answered with an error.
            KnowledgeError: it could not be asked.
        """
        path = f"{self._path}/tools/{quote(name, safe='')}"
        ask = Ask("POST", path, body=dict(arguments), repeatable=repeatable)
        return self._connection.repeat(lambda: self._once(ask, on_progress, cancelled), ask, cancelled=cancelled)

    def warm_up(self) -> None:
        """Do nothing: the engine there does."""

    def close(self) -> None:
        """Close the connections; the engine there goes on."""
        self._connection.close()

    def _once(
        self, ask: Ask, tell: Callable[[float, float | None, str], None], cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        with closing(self._connection.lines(ask, cancelled=cancelled, seconds=self._timeout)) as lines:
            for line in lines:
                if isinstance(moved := line.get("progress"), list) and len(cast("list[Any]", moved)) == 3:
                    tell(*cast("list[Any]", moved))
                if isinstance(line.get("error"), dict):
                    raise told_error(cast("dict[str, Any]", line["error"]), self._connection.key)
                if isinstance(line.get("refused"), dict):
                    raise RefusedError(str(line.get("message", "")), cast("dict[str, Any]", line["refused"]))
                if isinstance(line.get("result"), dict):
                    return cast("dict[str, Any]", line["result"])
        raise Failed(ConnectionFailedError(f"{SERVICE} broke off before the tool had answered."), again=True)
