"""One paid embedding service: how to reach it, what to call its parts in messages, and the time limits of a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from knowledge_mcp.embedders.remote_models import RemoteModel
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.secret import Secret

if TYPE_CHECKING:
    import ssl
    from types import ModuleType

    import httpx2
    from openai import DefaultHttpxClient, OpenAI

__all__ = ["Service", "http_client", "openai_library"]


@dataclass(frozen=True, slots=True)
class Service:
    """Describe a service to whoever makes requests and words its failures.

    Attributes:
        name: for people and logs, e.g. `OpenAI`.
        provider: as in an embedding space.
        model: what is asked for.
        asks_for: the name in each request: the model, or the deployment.
        connect: make the library's client; makes no request.
        key: the credential, so that it can be struck out of whatever the service says.
        key_setting, model_setting, address_setting: the variables to change.
        billing: where used-up quotas are looked at.
    """

    name: str
    provider: str
    model: RemoteModel
    asks_for: str
    connect: Callable[[], OpenAI]
    key: Secret = field(repr=False)
    key_setting: str
    model_setting: str
    address_setting: str
    billing: str


def openai_library() -> ModuleType:
    """Import the official library.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import openai
    except ImportError as exc:
        raise ConfigError(
            "The library that talks to OpenAI and Azure OpenAI is not installed.",
            details=str(exc),
            suggestion=f"Run: {install_command('openai')}",
        ) from exc
    return openai


def http_client() -> DefaultHttpxClient:
    """Make the HTTP client for the library: its own, with a limit on the whole answer.

    The library's limit of time holds for each wait for bytes; an answer that drips would never end.
    """
    import httpx2
    from openai import DefaultHttpxClient

    class _Limited(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream, request: httpx2.Request, deadline: float) -> None:
            self._stream, self._request, self._deadline = stream, request, deadline

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                if time.monotonic() > self._deadline:
                    raise httpx2.ReadTimeout("the answer took too long as a whole", request=self._request)
                yield piece

        def close(self) -> None:
            self._stream.close()

    def begin(request: httpx2.Request) -> None:
        limit = _seconds(request)
        if limit is not None:
            request.extensions["deadline"] = time.monotonic() + limit

    def limit(response: httpx2.Response) -> None:
        deadline = response.request.extensions.get("deadline")
        if deadline is not None and isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Limited(response.stream, response.request, deadline)

    return DefaultHttpxClient(verify=_certificates(), event_hooks={"request": [begin], "response": [limit]})


@cache
def _certificates() -> ssl.SSLContext:
    """Load the certificates that are trusted, once for all clients."""
    import httpx2

    return httpx2.create_ssl_context()


def _seconds(request: httpx2.Request) -> float | None:
    limits: dict[str, float | None] = request.extensions.get("timeout", {})
    return limits.get("read")
