"""A reranker behind an address: `POST {model, query, documents, top_n}`, the form that most such services share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol, cast

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    RateLimitedError,
)
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ranking.reordering import Clock, late, reordered, text_of
from knowledge_mcp.support.distribution import Secret, install_command

__all__ = ["ApiOptions", "ApiReranker", "from_options"]


class ApiOptions(Protocol):
    """Name the settings that this reranker reads."""

    @property
    def reranker_url(self) -> str | None: ...
    @property
    def reranker_api_key(self) -> Secret | None: ...
    @property
    def reranker_model(self) -> str | None: ...


def from_options(options: ApiOptions) -> ApiReranker:
    """Build it from the settings; asks nobody.

    Raises:
        ConfigError: RERANKER_URL is not set.
    """
    if not options.reranker_url:
        raise ConfigError(
            "RERANKER is 'api', but RERANKER_URL is not set.",
            suggestion="Set it to the whole address, such as https://rerank.example.com/v1/rerank.",
        )
    return ApiReranker(options.reranker_url, options.reranker_api_key, options.reranker_model or "")


class ApiReranker:
    """Ask a service for relevance scores (`ports.Reranker`); thread-safe.

    Args:
        url: where to post.
        key: sent as bearer token; None for none.
        model: named in each request; empty for the service's own.
    """

    def __init__(self, url: str, key: Secret | None = None, model: str = "") -> None:
        self._url = url
        self._key = key
        self._model = model
        self._lock = threading.Lock()
        self._client: Any = None

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Order the hits by the service's scores, which lie in 0..1; it is asked once.

        Raises:
            TimedOutError: it did not answer before the deadline (`time.monotonic()` seconds).
            KnowledgeError: it cannot be reached, refuses, or answers something else.
        """
        clock = Clock(deadline)
        httpx, client = self._opened()
        if not clock.left:
            raise late()
        asked: dict[str, Any] = {"query": query, "documents": [text_of(hit) for hit in hits], "top_n": len(hits)}
        if self._model:
            asked["model"] = self._model
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key is not None else {}
        try:
            answer = client.post(self._url, json=asked, headers=headers, timeout=clock.left)
        except httpx.TimeoutException as exc:
            raise late() from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ConnectionFailedError(
                "The reranker could not be reached.", details=type(exc).__name__, suggestion="Check RERANKER_URL."
            ) from exc
        if answer.status_code != 200:
            raise _refused(answer.status_code, answer.text)
        if not clock.left:
            raise late()
        try:
            told = answer.json()
        except ValueError as exc:
            raise InternalError("The reranker's answer is no JSON.") from exc
        return reordered(hits, _scores(told, len(hits)))

    def warm_up(self) -> None:
        """Load the library; nobody is asked."""
        self._opened()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> tuple[Any, Any]:
        try:
            import httpx
        except ImportError as exc:
            raise ConfigError(
                "The library that talks to the reranker is not installed.",
                details=str(exc),
                suggestion=f"Run: {install_command('remote')}",
            ) from exc
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(follow_redirects=False)
            return httpx, self._client


def _scores(told: Any, count: int) -> list[float]:
    """Read one score for each passage.

    Raises:
        InternalError: the answer has another form, or leaves a passage out.
    """
    results = cast("dict[str, Any]", told).get("results") if isinstance(told, dict) else None
    scores: dict[int, float] = {}
    try:
        for each in cast("list[dict[str, Any]]", results):
            scores[int(each["index"])] = float(each["relevance_score"])
    except (TypeError, ValueError, KeyError, AttributeError) as exc:
        raise InternalError(
            "The reranker's answer has another form than expected.",
            details="expected {results: [{index, relevance_score}]}",
        ) from exc
    if scores.keys() != set(range(count)):
        raise InternalError("The reranker left passages out.", details=f"{len(scores)} of {count} have a score")
    return [scores[place] for place in range(count)]


def _refused(status: int, words: str) -> KnowledgeError:
    details = f"HTTP {status}: {words[:300]}"
    if status in {401, 403}:
        return AuthError("The reranker refused the key.", details=details, suggestion="Check RERANKER_API_KEY.")
    if status == 429:
        return RateLimitedError("The reranker asks to wait.", details=details)
    if status >= 500:
        return ConnectionFailedError("The reranker failed.", details=details)
    return InvalidInputError(
        "The reranker refused the request.", details=details, suggestion="Check RERANKER_URL and RERANKER_MODEL."
    )
