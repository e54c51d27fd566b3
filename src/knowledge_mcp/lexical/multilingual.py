"""The analyser of all stores: each passage is analysed in its own language, a question in all of them.

A passage in a recognised language gives the Snowball stems of its words, each with a leading `_`, and identifiers and
numbers as usual. Everything else, above all English, is analysed by `EnglishAnalyser`, so its terms never collide with
those of another language. A question looks for each of its words as English and as every other language would stem it.
Terms that occur in no passage cost nothing, and nothing needs to be known about the collection.

| passage | terms |
|---|---|
| `Die Anforderungen gelten für das Lager nach REQ-12.` | `_anforder`, `_gelt`, `_lag`, `req_12`, `req`, `12` |
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Mapping
from typing import Any

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.lexical.analyser import (
    CHUNK,
    LONGEST_TERM,
    MEMO_ENTRIES,
    UNSPACED,
    EnglishAnalyser,
    fold,
    without_note_letters,
)

STEMMED: Mapping[str, str] = {
    "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch",
    "sv": "swedish", "no": "norwegian", "da": "danish", "fi": "finnish", "ru": "russian",
}  # fmt: skip
"""Snowball's names of the languages other than English, by ISO 639-1 code."""

_PLAIN = re.compile(r"[^\W\d_]+(?:[-‐‑/'’][^\W\d_]+)*")
_JOINTS = re.compile(r"[-‐‑/'’]")
_ANY = frozenset[str]().union(*FUNCTION_WORDS.values())
_VERSION = "multilingual-3"


class MultilingualAnalyser(EnglishAnalyser):
    """Turns text into terms, depending on its language. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._stemmers = _Stemmers()
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}
        words = hashlib.sha256("\n".join(" ".join(sorted(FUNCTION_WORDS[each])) for each in STEMMED).encode())
        self._full_version = f"{_VERSION}-snowball-{words.hexdigest()[:8]}"

    @property
    def version(self) -> str:
        return self._full_version

    def document_terms(self, text: str) -> list[str]:
        code = language_of(text)
        if code not in STEMMED:
            return super().document_terms(text)
        known, terms = self._known, list[str]()
        for chunk in CHUNK.findall(unicodedata.normalize("NFC", without_note_letters(text))):
            found = known.get((code, chunk))
            terms.extend(self._learn(code, chunk) if found is None else found)
        return terms

    def _learn(self, code: str, chunk: str) -> tuple[str, ...]:
        words = _words(chunk)
        if words is None:
            terms = self._analyse(fold(chunk), single_characters=True)
        else:
            terms = tuple(self._stemmers.term(code, word) for word in words if word not in FUNCTION_WORDS[code])
        if len(self._known) >= MEMO_ENTRIES:
            self._known = {}
        self._known[code, chunk] = terms
        return terms

    def _words_of_query(self, text: str) -> list[tuple[str, ...]]:
        """List the words of a question in order, each with its terms: the English ones, then those of other languages.

        Function words are left out: those of the question's language, or of any language if it was not recognised. Only
        the English analysis decides how many words an English question has.
        """
        code = language_of(text)
        foreign = code in STEMMED
        dropped = FUNCTION_WORDS.get(code, _ANY)
        folded, printed = CHUNK.findall(fold(text)), CHUNK.findall(unicodedata.normalize("NFC", text))
        asked: list[tuple[str, ...]] = []
        for plain, chunk in zip(folded, printed if len(printed) == len(folded) else folded, strict=True):
            own = [(term,) for term in self._analyse(plain, single_characters=False)]
            words = _words(chunk) or []
            others = [self._stemmers.terms(word) for word in words if word not in dropped]
            if (words and not others) if foreign else not own:
                continue
            asked += _paired(own, others)
        return asked


def _paired(own: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Combine the terms of other languages with the English ones of the same words; surplus terms go to the last."""
    if not own:
        return others
    paired = [one + other for one, other in zip(own, others, strict=False)] + own[len(others) :]
    left = [term for other in others[len(own) :] for term in other]
    paired[-1] = (*paired[-1], *left)
    return paired


def _words(chunk: str) -> list[str] | None:
    """Split a chunk that consists of words only, in lower case; None for identifiers, numbers and unspaced scripts."""
    if not _PLAIN.fullmatch(chunk) or UNSPACED.search(chunk):
        return None
    words = _JOINTS.split(chunk)
    return [each.lower() for each in words] if all(map(_is_one, words)) else None


def _is_one(word: str) -> bool:
    """Return whether this is one word, unlike `camelCase`."""
    return word.islower() or word.istitle() or word.isupper() or not word.isascii()


class _Stemmers:
    """Stems words with a lock, since Snowball's stemmers are not thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}
        self._query_stems: dict[str, tuple[str, ...]] = {}

    def term(self, code: str, word: str) -> str:
        """Return the term of a lower-case word; accents are folded after stemming, because they distinguish endings."""
        with self._lock:
            if code not in self._ready:
                import Stemmer

                module: Any = Stemmer
                self._ready[code] = module.Stemmer(STEMMED[code], 0)
            stem = str(self._ready[code].stemWord(word[:LONGEST_TERM]))
        return f"_{fold(stem).lower()}"[:LONGEST_TERM]

    def terms(self, word: str) -> tuple[str, ...]:
        """List the distinct terms of a word in all languages."""
        known = self._query_stems.get(word)
        if known is None:
            known = tuple(dict.fromkeys(self.term(code, word) for code in STEMMED))
            if len(self._query_stems) >= MEMO_ENTRIES // 10:
                self._query_stems = {}
            self._query_stems[word] = known
        return known
