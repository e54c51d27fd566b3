"""Tokens of the embedding models of OpenAI (cl100k_base), counted offline, without the service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol, cast

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import install_command

MOST_TOKENS = 8191
"""Tokens that the service reads of one text."""

REMEMBERED_TEXTS = 2048
REMEMBERED_LENGTH = 8192
SURROGATE = re.compile("[\ud800-\udfff]")


class _Library(Protocol):
    def get_encoding(self, name: str) -> _Encoding: ...


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...
    def decode_single_token_bytes(self, id: int) -> bytes: ...


class RemoteTokenizer:
    """Count and place the tokens of any text; words that look like control tokens are ordinary text.

    A character whose bytes are spread over several tokens belongs to each of them: their spans overlap there. May be
    used by many threads.

    Raises:
        ConfigError: the library that knows the tokens is not installed.
    """

    def __init__(self) -> None:
        self._encoding = _encoding()
        self._length = cache(self._bytes_of)
        self._remembered = lru_cache(REMEMBERED_TEXTS)(self._count)

    def count(self, text: str) -> int:
        """Count the tokens."""
        return self._remembered(text) if len(text) <= REMEMBERED_LENGTH else self._count(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """List each token's `[start, end)` in code points."""
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
        """Cut a text to its beginning of at most so many tokens, between two characters."""
        while True:
            spans = self.spans(text)
            if len(spans) <= most:
                return text
            # the last word may be cut into other tokens than it had in the whole text, hence once more round
            kept = spans[:most]
            following = spans[most][0]
            text = text[: min(kept[-1][1], following)]

    def _bytes_of(self, token: int) -> int:
        return len(self._encoding.decode_single_token_bytes(token))

    def _count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(sendable(text)))


def sendable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 text holds, by the replacement character; the length stays."""
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


def _width(letter: str) -> int:
    return 1 if letter < "\x80" else 2 if letter < "\u0800" else 3 if letter < "\U00010000" else 4


def _encoding() -> _Encoding:
    try:
        import quicktok
    except ImportError as exc:
        raise ConfigError(
            "The tokens of OpenAI's models cannot be counted: a package is missing.",
            details=str(exc),
            suggestion=f"Run: {install_command('openai')}",
        ) from exc
    return cast("_Library", quicktok).get_encoding("cl100k_base")
