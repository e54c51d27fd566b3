"""Requests to a paid embedding service: each with its retries, its limit of time, and the count of what it cost."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from knowledge_mcp.embedders.services.answers import billed_tokens, vectors_of
from knowledge_mcp.embedders.services.errors import CallFailed, failure_of, may_be_repeated, unreadable_answer
from knowledge_mcp.embedders.services.service import Service
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingUsage
from knowledge_mcp.model.errors import InternalError, KnowledgeError
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, retrying

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import CreateEmbeddingResponse

__all__ = ["Requests"]

logger = logging.getLogger(__name__)


class Requests:
    """Ask the service; may be used by many threads.

    Args:
        service: whom.
        count: measures a text in tokens, for answers that do not say what they bill.
        policy: retries; None for some after `pauses` with jitter, which end when this is closed.
        pauses: seconds before each retry.
    """

    def __init__(
        self,
        service: Service,
        count: Callable[[str], int],
        policy: RetryPolicy | None = None,
        pauses: tuple[float, ...] = SPECIFIED.pauses,
    ) -> None:
        self._service = service
        self._count = count
        self._closing = threading.Event()
        self._policy = policy or RetryPolicy(pauses, sleep=self._closing.wait, jitter=0.25)
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._requests = self._tokens = 0
        self.proven = False
        """Whether any request has been answered: the settings are right then."""

    @property
    def usage(self) -> EmbeddingUsage:
        """Count requests, failed ones too, and billed tokens."""
        with self._lock:
            return EmbeddingUsage(requests=self._requests, tokens=self._tokens)

    def ask(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """Embed the texts in one request, tried again as specified.

        Args:
            texts: none blank, none too long, together within the service's limits.
            seconds: how long one try may take.

        Raises:
            CallFailed: with the error of the last try.
        """
        return retrying(
            lambda: self._try(texts, seconds),
            service=self._service.name,
            may_pass=may_be_repeated,
            policy=self._policy,
        )

    def connect(self) -> OpenAI:
        """Give the library's client, made at the first call; makes no request."""
        with self._lock:
            if self._closing.is_set():
                raise InternalError("The embedder is closed.")
            if self._client is None:
                self._client = self._service.connect()
            return self._client

    def close(self) -> None:
        """End pauses and connections; later requests are refused."""
        self._closing.set()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _try(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            client = self.connect()
            with self._lock:
                self._requests += 1
            started = time.perf_counter()
            response = self._post(client, texts, seconds)
            tokens = billed_tokens(response)
            if tokens is None:
                tokens = sum(map(self._count, texts))
            with self._lock:
                self._tokens += tokens  # a wrong answer is billed too
            vectors = vectors_of(response, len(texts), self._service)
        except KnowledgeError as exc:
            raise CallFailed(exc) from exc.__cause__
        self.proven = True
        log_event(
            logger, logging.DEBUG, "embedding_generated",
            texts=len(texts), token_count=tokens,
            latency_ms=round((time.perf_counter() - started) * 1000, 1), model=self._service.model.name,
        )  # fmt: skip
        return vectors

    def _post(self, client: OpenAI, texts: Sequence[str], seconds: float) -> CreateEmbeddingResponse:
        from openai import omit

        try:
            raw = client.embeddings.with_raw_response.create(
                input=list(texts),
                model=self._service.asks_for,
                dimensions=omit if self._service.model.asked is None else self._service.model.asked,
                timeout=seconds,
            )
        except Exception as exc:  # noqa: BLE001 - the library lets its parts' failures through; all are mapped here
            failed = failure_of(exc, self._service)
            if self._closing.is_set():
                failed = CallFailed(InternalError("The embedder was closed while it worked."), echoed=True)
            raise failed from (None if failed.echoed else exc)
        try:
            return _checked(raw.parse())
        except Exception as exc:  # the library checks no types, so anything may go wrong in a strange answer
            try:
                json.loads(raw.http_response.content)
            except ValueError as why:
                raise unreadable_answer(self._service, str(why)) from exc
            details = f"{type(exc).__name__}: {exc}"[:300]
            raise InternalError(f"{self._service.name} answered in an unknown form.", details=details) from exc


def _checked(response: CreateEmbeddingResponse) -> CreateEmbeddingResponse:
    """Make sure that there is a list of items to look at."""
    if not isinstance(cast("object", response.data), list):
        raise TypeError("no list of vectors")
    return response
