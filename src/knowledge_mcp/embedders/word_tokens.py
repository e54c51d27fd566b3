"""Tokens of a text word by word: a tokenizer of the BERT kind cuts each word by itself, so each is cut once.

Counting a passage so takes a tenth of the time, and passages are counted several times until they fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

__all__ = ["WordTokens", "stands_alone"]

_REMEMBERED = 65_536
"""Words remembered: some megabytes; at more all are forgotten."""
_LONGEST = 64
"""Longest word that is remembered, in code points."""
_WORD = re.compile(r"\S+")
_JOINING = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
"""Blanks to Python that such a tokenizer drops, so that what stands around them is one word to it."""

Spans = Sequence[tuple[int, int]]


def stands_alone(tokenizer: Tokenizer) -> bool:
    """Tell whether a tokenizer cuts each word between blanks as if it stood alone."""
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
    """Count and locate the tokens of texts; each word is cut once. Thread-safe.

    Args:
        cut: gives `[start, end)` of each token of a text, in code points; it must cut each word as if it stood alone.
    """

    def __init__(self, cut: Callable[[str], Spans]) -> None:
        self._cut = cut
        self._known = _Known(cut)

    def count(self, text: str) -> int:
        """Count the tokens."""
        if _JOINING.search(text):
            return len(self._cut(text))
        return sum(map(len, map(self._known.__getitem__, text.split())))

    def spans(self, text: str) -> Spans:
        """List each token's `[start, end)` in code points."""
        if _JOINING.search(text):
            return self._cut(text)
        found: list[tuple[int, int]] = []
        for word in _WORD.finditer(text):
            place = word.start()
            found += [(place + start, place + end) for start, end in self._known[word.group()]]
        return tuple(found)


class _Known(dict[str, Spans]):
    """Map words to the places of their tokens, worked out where they are not known."""

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
