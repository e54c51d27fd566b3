"""A paid embedding service: how to reach it, how to name it in messages, and the timeouts of a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import Secret

if TYPE_CHECKING:
    import ssl

    import httpx2
    from openai import DefaultHttpxClient, OpenAI

DEFAULT_MODEL = "text-embedding-3-small"
FEWEST_DIMENSIONS = 256


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model as it is used.

    Attributes:
        name: as the provider spells it.
        dimensions: components of the requested vectors.
        requested_dimensions: the value sent in each request; None if it is the model's default, or cannot be chosen.
        price: USD per million tokens; None if unknown.
    """

    name: str
    dimensions: int
    requested_dimensions: int | None
    price: float | None


@dataclass(frozen=True, slots=True)
class _KnownModel:
    dimensions: int
    shortens: bool
    price: float


MODELS = {
    "text-embedding-3-small": _KnownModel(1536, shortens=True, price=0.02),
    "text-embedding-3-large": _KnownModel(3072, shortens=True, price=0.13),
    "text-embedding-ada-002": _KnownModel(1536, shortens=False, price=0.10),
}
"""Components of the full vector, whether shorter ones can be requested, and the list price in USD."""


def choose_model(name: str, dimensions: int | None, price: float | None = None) -> RemoteModel:
    """Check the requested dimensions against what the model supports.

    Args:
        name: the model.
        dimensions: as requested; None for the model's default.
        price: USD per million tokens, if it differs from the list price.

    Raises:
        ConfigError: the model does not support these dimensions, or it is unknown and no dimensions are given.
    """
    ability = MODELS.get(name)
    if ability is None:
        if dimensions is None:
            raise ConfigError(
                f"The dimensions of the vectors of '{name}' are unknown.",
                details=f"Known models: {', '.join(MODELS)}.",
                suggestion="Set EMBEDDING_DIMENSIONS to that of the model, or choose a known EMBEDDING_MODEL.",
            )
        return RemoteModel(name, dimensions, None, price)
    chosen = ability.dimensions if dimensions is None else dimensions
    if not ability.shortens and chosen != ability.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {chosen}, but {name} always gives {ability.dimensions}.",
            suggestion="Unset EMBEDDING_DIMENSIONS, or choose text-embedding-3-small or text-embedding-3-large.",
        )
    if not FEWEST_DIMENSIONS <= chosen <= ability.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {chosen}, but {name} gives {FEWEST_DIMENSIONS} to {ability.dimensions}.",
            suggestion="Choose a number in that range, or unset EMBEDDING_DIMENSIONS.",
        )
    requested_dimensions = None if chosen == ability.dimensions else chosen
    return RemoteModel(name, chosen, requested_dimensions, ability.price if price is None else price)


def known_name(answered: str) -> str | None:
    """Return the known model for a name such as `text-embedding-ada-002-v2`, or None."""
    return next((name for name in MODELS if answered == name or answered.startswith(f"{name}-")), None)


@dataclass(frozen=True, slots=True)
class Service:
    """A service, for making requests and wording errors.

    Attributes:
        name: for messages and logs, e.g. `OpenAI`.
        provider: as in an embedding space.
        model: the model to use.
        asks_for: the name in each request: model or deployment.
        connect: creates the library's client; makes no request.
        key: the API key, needed to remove it from messages of the service.
        key_setting, model_setting, address_setting: the environment variables to change.
        billing: where to look at used-up quotas.
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


def http_client() -> DefaultHttpxClient:
    """Create the HTTP client for the library: the library's own, with a timeout for the whole answer.

    The library's timeout applies to each wait for bytes, so an answer that drips would never end.
    """
    import httpx2
    from openai import DefaultHttpxClient

    class _TimedStream(httpx2.SyncByteStream):
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
        limits: dict[str, float | None] = request.extensions.get("timeout", {})
        limit = limits.get("read")
        if limit is not None:
            request.extensions["deadline"] = time.monotonic() + limit

    def limit(response: httpx2.Response) -> None:
        deadline = response.request.extensions.get("deadline")
        if deadline is not None and isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _TimedStream(response.stream, response.request, deadline)

    return DefaultHttpxClient(verify=_certificates(), event_hooks={"request": [begin], "response": [limit]})


@cache
def _certificates() -> ssl.SSLContext:
    """Load the trusted certificates, once for all clients."""
    import httpx2

    return httpx2.create_ssl_context()
