"""The analyser of every store: each passage in its own language, a question in all of them.

A passage in a language that is recognised gives the Snowball stems of its words, each with `_` before it, and
identifiers and numbers as everywhere. All else, English first of all, is analysed as `EnglishAnalyser` does, so its
terms never meet those of another language by chance. A question asks for each of its words as English and as every
language would write it: what no passage holds costs nothing, and nothing has to be known of a collection.

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
    Asked,
    EnglishAnalyser,
    add_terms,
    fold,
    words_of,
)

STEMMED: Mapping[str, str] = {
    "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch",
    "sv": "swedish", "no": "norwegian", "da": "danish", "fi": "finnish", "ru": "russian",
}  # fmt: skip
"""Snowball's names of the languages beside English, by ISO 639-1 code."""

_PLAIN = re.compile(r"[^\W\d_]+(?:[-‐‑/'’][^\W\d_]+)*")
_JOINTS = re.compile(r"[-‐‑/'’]")
_ANY = frozenset[str]().union(*FUNCTION_WORDS.values())
_VERSION = "multilingual-2"


class MultilingualAnalyser(EnglishAnalyser):
    """Turn text into terms by the language of the text; safe for many threads."""

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
        for chunk in CHUNK.findall(unicodedata.normalize("NFC", text)):
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

    def _asked_by(self, text: str) -> Asked:
        """List the words asked for, each with its terms: the English one, then those of the other languages.

        Words without a subject of their own are left out: those of the question's language, or of any where that is
        not told. English alone decides how many words an English question has.
        """
        code = language_of(text)
        foreign = code in STEMMED
        dropped = FUNCTION_WORDS.get(code, _ANY)
        folded, printed = CHUNK.findall(fold(text)), CHUNK.findall(unicodedata.normalize("NFC", text))
        asked: dict[str, dict[str, None]] = {}
        every: dict[str, float] = {}
        for plain, chunk in zip(folded, printed if len(printed) == len(folded) else folded, strict=True):
            shares = self._shares(plain)
            own = words_of(shares)
            words = _words(chunk) or []
            others = [self._stemmers.terms(word) for word in words if word not in dropped]
            if (words and not others) if foreign else not own:
                continue
            for terms in _paired(own, others):
                asked.setdefault(terms[0], {}).update(dict.fromkeys(terms))
                add_terms(every, dict.fromkeys(terms, 1.0) | {term: shares[term] for term in terms if term in shares})
            add_terms(every, shares)
        return Asked(tuple(map(tuple, asked.values())), every)


def _paired(own: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Put the terms of other languages beside the English ones of the same words; what is left over to the last."""
    if not own:
        return others
    paired = [one + other for one, other in zip(own, others, strict=False)] + own[len(others) :]
    left = [term for other in others[len(own) :] for term in other]
    paired[-1] = (*paired[-1], *left)
    return paired


def _words(chunk: str) -> list[str] | None:
    """Take apart what is words and nothing else, in small letters; None for identifiers, numbers and other scripts."""
    if not _PLAIN.fullmatch(chunk) or UNSPACED.search(chunk):
        return None
    words = _JOINTS.split(chunk)
    return [each.lower() for each in words] if all(map(_is_one, words)) else None


def _is_one(word: str) -> bool:
    """Tell a word from `camelCase`, which is several."""
    return word.islower() or word.istitle() or word.isupper() or not word.isascii()


class _Stemmers:
    """Stem words, one language at a time: a stemmer of Snowball's serves one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}
        self._query_stems: dict[str, tuple[str, ...]] = {}

    def term(self, code: str, word: str) -> str:
        """Give the term of a word in small letters: accents are folded last, because they tell endings apart."""
        with self._lock:
            if code not in self._ready:
                import Stemmer

                module: Any = Stemmer
                self._ready[code] = module.Stemmer(STEMMED[code], 0)
            stem = str(self._ready[code].stemWord(word[:LONGEST_TERM]))
        return f"_{fold(stem).lower()}"[:LONGEST_TERM]

    def terms(self, word: str) -> tuple[str, ...]:
        """List the terms of a word in all the languages, each once."""
        known = self._query_stems.get(word)
        if known is None:
            known = tuple(dict.fromkeys(self.term(code, word) for code in STEMMED))
            if len(self._query_stems) >= MEMO_ENTRIES // 10:
                self._query_stems = {}
            self._query_stems[word] = known
        return known
