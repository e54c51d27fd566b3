"""The model's own tokenizer: counts and spans for chunking, token ids for the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from knowledge_mcp.embedders.local.model_config import ModelConfig
from knowledge_mcp.model.errors import ConfigError

_REMEMBERED = 65_536
"""Number of cached words: some megabytes; the cache is cleared when it is full."""
_LONGEST = 64
"""Maximum length of cached words, in characters."""
_WORD = re.compile(r"\S+")
_JOINING = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
"""Characters that are whitespace in Python but that the tokenizer removes, joining the words around them."""

Spans = Sequence[tuple[int, int]]


def stands_alone(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer splits each word between spaces independently of the text around it."""
    return (
        isinstance(tokenizer.model, WordPiece)
        and isinstance(tokenizer.normalizer, BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        and not any(
            each.lstrip or each.rstrip or each.single_word or _WORD.fullmatch(each.content) is None
            for each in tokenizer.get_added_tokens_decoder().values()
        )
    )


class WordTokens:
    """Counts and locates the tokens of texts; each word is tokenised once. Thread-safe.

    Args:
        cut: returns `[start, end)` of each token of a text, in characters; it must tokenise each word independently.
    """

    def __init__(self, cut: Callable[[str], Spans]) -> None:
        self._cut = cut
        self._spans_of_words = _SpansOfWords(cut)

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        if _JOINING.search(text):
            return len(self._cut(text))
        return sum(map(len, map(self._spans_of_words.__getitem__, text.split())))

    def spans(self, text: str) -> Spans:
        """List each token's `[start, end)` in characters."""
        if _JOINING.search(text):
            return self._cut(text)
        found: list[tuple[int, int]] = []
        for word in _WORD.finditer(text):
            place = word.start()
            found += [(place + start, place + end) for start, end in self._spans_of_words[word.group()]]
        return tuple(found)


class _SpansOfWords(dict[str, Spans]):
    """Maps words to the spans of their tokens, computed on demand."""

    def __init__(self, cut: Callable[[str], Spans]) -> None:
        super().__init__()
        self._cut = cut

    def __missing__(self, word: str) -> Spans:
        spans = self._cut(word)
        if len(word) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = spans
        return spans


REMEMBERED_TEXTS = 2048
REMEMBERED_LENGTH = 8192
"""Maximum length of texts whose count and spans are cached, in characters."""
LONG, PIECE = 100, 16
"""A word of more than `LONG` characters is one unknown token to the model. It is counted in pieces of `PIECE`, so that
an embedded picture or key does not make one passage of millions of characters.
"""
LONG_RUN = re.compile(rf"\S{{{LONG + 1}}}")
SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class ModelTokenizer:
    """Tokenises like the model; only the input of the model is truncated.

    Attributes:
        window: maximum number of tokens of a text with its prefix, without special tokens.
        room: the same for a document without its prefix.

    Raises:
        ConfigError: the file is not a tokenizer of this library, or the prefix leaves no room for text.
    """

    def __init__(self, path: Path, config: ModelConfig) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as exc:  # the library raises nothing more precise
            raise ConfigError(
                f"{path} is not a tokenizer.",
                details=str(exc),
                suggestion="Run `knowledge models fetch` to get the model again.",
            ) from exc
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._words = WordTokens(self._offsets) if stands_alone(self._tokenizer) else None
        self._remembered_count = lru_cache(REMEMBERED_TEXTS)(self._count)
        self._remembered_spans = lru_cache(REMEMBERED_TEXTS // 16)(self._spans)
        self.window = config.max_seq_length - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.room = self.window - self._count(config.document_prefix)
        if self.room < 1:
            raise ConfigError(
                f"The model reads {config.max_seq_length} tokens, which leaves no space beside its prefix."
            )

    def count(self, text: str) -> int:
        """Return the number of tokens, without special tokens."""
        return self._remembered_count(text) if len(text) <= REMEMBERED_LENGTH else self._count(text)

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each token's `[start, end)` in characters."""
        return self._remembered_spans(text) if len(text) <= REMEMBERED_LENGTH else self._spans(text)

    def encode(self, text: str) -> tuple[Encoding, int]:
        """Encode a text: its first `window` tokens with special tokens for the model; also return its token count."""
        encoding = self._encode(text)
        length = len(encoding)
        if length > self.window:
            encoding.truncate(self.window)
        return self._tokenizer.post_process(encoding, None, add_special_tokens=True), length

    def _count(self, text: str) -> int:
        if self._words is not None:
            return self._words.count(text)
        return len(self._offsets(text)) if LONG_RUN.search(text) else len(self._encode(text))

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._offsets(text) if self._words is None else self._words.spans(text)

    def _offsets(self, text: str) -> Sequence[tuple[int, int]]:
        spans = self._encode(text).offsets
        if not LONG_RUN.search(text):
            return tuple(spans)
        return tuple(
            (place, min(place + step, end))
            for start, end in spans
            for step in (PIECE if end - start > LONG else max(1, end - start),)
            for place in range(start, max(end, start + 1), step)
        )

    def _encode(self, text: str) -> Encoding:
        """Encode without special tokens; a lone surrogate, which UTF-8 cannot encode, counts as an unknown token."""
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):
            return self._tokenizer.encode(text.translate(SURROGATES), add_special_tokens=False)
