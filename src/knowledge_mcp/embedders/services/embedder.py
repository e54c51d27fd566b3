"""The embedder on a paid service: parallel batches, limited by count and tokens; refused texts are isolated."""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from knowledge_mcp.embedders.cache import OnAnswer, refuse_blanks
from knowledge_mcp.embedders.services.service import Service
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InternalError, needing
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy
from knowledge_mcp.support.workers import WorkerPool

if TYPE_CHECKING:
    from knowledge_mcp.embedders.services.requests import CallFailed, Requests

MOST_TOKENS = 8191
"""Maximum number of tokens that the service reads of one text."""

REMEMBERED_TEXTS = 2048
REMEMBERED_LENGTH = 8192
SURROGATE = re.compile("[\ud800-\udfff]")


class _Library(Protocol):
    def get_encoding(self, name: str) -> _Encoding: ...


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...
    def decode_single_token_bytes(self, id: int) -> bytes: ...


class RemoteTokenizer:
    """Counts and locates the tokens of any text; strings that look like control tokens are ordinary text. Thread-safe.

    If the bytes of a character are spread over several tokens, the character belongs to each of them, and their spans
    overlap.

    Raises:
        ConfigError: the tokenizer library is not installed.
    """

    def __init__(self) -> None:
        self._encoding = _encoding()
        self._length = cache(self._bytes_of)
        self._remembered = lru_cache(REMEMBERED_TEXTS)(self._count)

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return self._remembered(text) if len(text) <= REMEMBERED_LENGTH else self._count(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """List each token's `[start, end)` in characters."""
        text = sendable(text)
        owner: Sequence[int] = (
            range(len(text))
            if text.isascii()
            else [place for place, letter in enumerate(text) for _ in range(_width(letter))]
        )
        spans: list[tuple[int, int]] = []
        start = 0
        for token in self._encoding.encode_ordinary(text):
            end = start + self._length(token)
            spans.append((owner[start], owner[end - 1] + 1))
            start = end
        return spans

    def head(self, text: str, most: int = MOST_TOKENS) -> str:
        """Cut a text to at most `most` tokens, between two characters."""
        while True:
            spans = self.spans(text)
            if len(spans) <= most:
                return text
            # the last word may be tokenised differently than in the whole text, so count again
            first = spans[:most]
            following = spans[most][0]
            text = text[: min(first[-1][1], following)]

    def _bytes_of(self, token: int) -> int:
        return len(self._encoding.decode_single_token_bytes(token))

    def _count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(sendable(text)))


def sendable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, with the replacement character; the length stays the same."""
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


def _width(letter: str) -> int:
    return 1 if letter < "\x80" else 2 if letter < "\u0800" else 3 if letter < "\U00010000" else 4


def _encoding() -> _Encoding:
    with needing("openai", "The tokens of OpenAI's models cannot be counted: a package is missing."):
        import quicktok
    return cast("_Library", quicktok).get_encoding("cl100k_base")


logger = logging.getLogger(__name__)

MOST_TEXTS_OF_A_REQUEST = 2048
MOST_TOKENS_OF_A_REQUEST = 300_000
REMEMBERED_QUERIES = 256
QUERY_SECONDS = 10.0
PROBE = "probe"
"""Sent once, to distinguish a refusal of all requests from a refusal of one text."""


class RemoteEmbedder:
    """Embeds texts with OpenAI or Azure OpenAI; implements `ports.Embedder`. Thread-safe.

    Nothing is imported and no request is made before the first use. Only the beginning of a text with more than
    `max_tokens` tokens is embedded, which is logged.

    Args:
        service: the service and model.
        batch_size: maximum number of texts per request.
        concurrency: maximum number of concurrent requests of `embed_documents`.
        retries: None for retries after `pauses` with jitter, which end when this is closed.
        pauses: seconds before each retry.
        query_seconds, batch_seconds: timeout of one attempt.
    """

    def __init__(
        self,
        service: Service,
        *,
        batch_size: int = 100,
        concurrency: int = 4,
        retries: RetryPolicy | None = None,
        pauses: tuple[float, ...] = SPECIFIED.pauses,
        query_seconds: float = QUERY_SECONDS,
        batch_seconds: float = 60.0,
    ) -> None:
        model = service.model
        self.space = EmbeddingSpace(provider=service.provider, model=model.name, dimensions=model.dimensions)
        self.price = model.price
        self.max_tokens = MOST_TOKENS
        self._service = service
        self._batch_size = max(1, min(batch_size, MOST_TEXTS_OF_A_REQUEST))
        self._retries = retries
        self._pauses = pauses
        self._query_seconds = query_seconds
        self._batch_seconds = batch_seconds
        self._workers = WorkerPool(
            max(1, concurrency), "embed-remote", lambda: InternalError("The embedder is closed.")
        )
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._tokenizer: RemoteTokenizer | None = None
        self._requests: Requests | None = None
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._repeated = 0
        self._closed = False

    @property
    def usage(self) -> EmbeddingUsage:
        usage = self._requests.usage if self._requests is not None else EmbeddingUsage()
        return EmbeddingUsage(requests=usage.requests, tokens=usage.tokens, cached=self._repeated)

    def count_tokens(self, text: str) -> int:
        return self._tokens().count(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokens().spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return self.embed_each(texts, lambda _texts, _vectors: None)

    def embed_each(self, texts: Sequence[str], on_answer: OnAnswer) -> list[Vector]:
        """Like `embed_documents`, reporting each answer at once; a text that occurs twice is sent once."""
        self._refuse_when_closed()
        refuse_blanks(texts)
        readable = self._readable(texts, logging.WARNING)
        originals = dict(zip(reversed(readable), reversed(texts), strict=True))

        def embed(batch: Sequence[str]) -> list[Vector | CallFailed]:
            return self._embed(batch, lambda some, vectors: on_answer([originals[text] for text in some], vectors))

        batches = list(self._batches(list(dict.fromkeys(readable))))
        answers = self._workers.map(embed, batches)
        found = {
            text: each
            for batch, some in zip(batches, answers, strict=True)
            for text, each in zip(batch, some, strict=True)
        }
        return self._vectors_or_raise([found[text] for text in readable])

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        del texts
        return {}

    def embed_query(self, text: str) -> Vector:
        self._refuse_when_closed()
        refuse_blanks([text])
        with self._lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
                self._repeated += 1
                return known
        (vector,) = self._embed_for_query(self._readable([text], logging.INFO))
        with self._lock:
            self._queries[text] = vector
            if len(self._queries) > REMEMBERED_QUERIES:
                self._queries.popitem(last=False)
        return vector

    def warm_up(self) -> None:
        """Load the tokenizer and the library; makes no request and costs nothing."""
        self._tokens()
        self._service_requests().connect()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            requests = self._requests
        if requests is not None:
            requests.close()
        self._workers.close()

    # ---- what is sent

    def _readable(self, texts: Sequence[str], level_of_truncation: int) -> list[str]:
        """Return what the service accepts of each text: without lone surrogates, cut at the maximum length."""
        tokens = self._tokens()
        readable: list[str] = []
        longest = cut = 0
        for text in map(sendable, texts):
            length = tokens.count(text)
            if length > MOST_TOKENS:
                longest, cut = max(longest, length), cut + 1
                text = tokens.head(text)  # noqa: PLW2901
            readable.append(text)
        if cut:
            log_event(
                logger, level_of_truncation, "text_truncated",
                texts=cut, longest=longest, max_tokens=MOST_TOKENS, model=self._service.model.name,
            )  # fmt: skip
        return readable

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Split the texts into requests within the service's limits on texts and tokens."""
        tokens = self._tokens()
        batch: list[str] = []
        tokens_in_batch = 0
        for text in texts:
            count = tokens.count(text)
            if batch and (len(batch) >= self._batch_size or tokens_in_batch + count > MOST_TOKENS_OF_A_REQUEST):
                yield batch
                batch, tokens_in_batch = [], 0
            batch.append(text)
            tokens_in_batch += count
        if batch:
            yield batch

    # ---- asking

    def _embed_for_query(self, texts: Sequence[str]) -> list[Vector]:
        """Make the request for a query."""
        requests = self._service_requests()
        from knowledge_mcp.embedders.services.requests import CallFailed

        try:
            return requests.ask(texts, self._query_seconds)
        except CallFailed as failed:
            self._check_settings(failed)
            raise failed.error from failed.__cause__

    def _embed(self, batch: Sequence[str], on_answer: OnAnswer) -> list[Vector | CallFailed]:
        """Request a batch; if the service refuses it, request its halves, down to the texts that are refused."""
        requests = self._service_requests()
        from knowledge_mcp.embedders.services.requests import CallFailed

        try:
            vectors = requests.ask(batch, self._batch_seconds)
        except CallFailed as failed:
            if not failed.refused:
                raise failed.error from failed.__cause__
            self._check_settings(failed)
            if len(batch) == 1:
                return [failed]
            middle = len(batch) // 2
            return self._embed(batch[:middle], on_answer) + self._embed(batch[middle:], on_answer)
        on_answer(batch, vectors)
        return list(vectors)

    def _check_settings(self, refused: CallFailed) -> None:
        """Raise ConfigError if the service refuses a harmless text too, so would refuse any text."""
        from knowledge_mcp.embedders.services.requests import CallFailed, wrong_settings

        requests = self._service_requests()
        if not refused.refused or refused.certain:
            return
        with self._probing:
            if requests.proven:
                return
            try:
                requests.ask([PROBE], self._query_seconds)
            except CallFailed as failed:
                if failed.refused:
                    raise wrong_settings(failed.details, failed.words, self._service) from failed.__cause__
                raise failed.error from failed.__cause__

    def _vectors_or_raise(self, found: Sequence[Vector | CallFailed]) -> list[Vector]:
        vectors = [each if isinstance(each, bytes) else None for each in found]
        reasons = {
            index: each.words or each.error.message for index, each in enumerate(found) if not isinstance(each, bytes)
        }
        if reasons:
            raise ContentRefusedError(
                f"{self._service.name} refused {len(reasons)} of {len(found)} texts.",
                vectors=vectors,
                reasons=reasons,
                details="; ".join(sorted(set(reasons.values())))[:500],
            )
        return [vector for vector in vectors if vector is not None]

    # ---- parts

    def _service_requests(self) -> Requests:
        """Return what makes the requests; called before anything that needs the library is imported.

        Raises:
            ConfigError: the library is not installed.
        """
        with self._lock:
            self._refuse_when_closed()
            if self._requests is None:
                with needing("openai", "The client library for OpenAI and Azure OpenAI is not installed."):
                    from knowledge_mcp.embedders.services.requests import Requests
                self._requests = Requests(self._service, self.count_tokens, self._retries, self._pauses)
            return self._requests

    def _tokens(self) -> RemoteTokenizer:
        tokenizer = self._tokenizer
        if tokenizer is None:
            self._refuse_when_closed()
            tokenizer = self._tokenizer = RemoteTokenizer()
        return tokenizer

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise InternalError("The embedder is closed.")
