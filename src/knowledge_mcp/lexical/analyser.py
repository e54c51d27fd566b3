"""The analyser of all stores: each passage is analysed in its own language, a question in all of them.

`EnglishAnalyser` keeps identifiers whole and in parts, folds case and accents, and stems English words:

| text | terms |
|---|---|
| `verified requirements` | `verifi`, `requir` |
| `REQ-12` | `req_12`, `req`, `12` |
| `5.3.1.2` | `5_3_1_2`, `5_3_1`, `5_3` |
| `SRS-4.2.1` | `srs_4_2_1`, `srs`, `4_2_1`, `4_2` |
| `AC-2(3)` | `ac_2_3`, `ac_2`, `ac`, `2`, `3` |
| `snake_case`, `CamelCase` | `snake_case`, `snake`, `case`; `camelcas`, `camel`, `case` |
| `15288:2023` | `15288_2023`, `15288`, `2023` |
| `Größe` | `gross` |
| `40ᵃ`, `Steelᶜ` (marks of notes) | `40a`, `40`; `steel` |
| `東京都` | `東京`, `京都` (a passage also gives the single characters) |

`MultilingualAnalyser` gives the Snowball stems of a passage in a recognised language, each with a leading `_`, and its
identifiers and numbers as usual. Everything else, above all English, is analysed as before, so its terms never collide
with those of another language. A question looks for each of its words as English and as every other language would stem
it. Terms that occur in no passage cost nothing, and nothing needs to be known about the collection.

| passage | terms |
|---|---|
| `Die Anforderungen gelten für das Lager nach REQ-12.` | `_anforder`, `_gelt`, `_lag`, `req_12`, `req`, `12` |
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Any

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of

ENGLISH: frozenset[str] = FUNCTION_WORDS["en"]
"""The modal verbs `shall` and `must` are deliberately not stop words, as they give a statement its normative force."""

_INDIC = "\u0900-\u0963\u0966-\u0dff\u0e30-\u0e3a\u0e47-\u0e4e\u0eb0-\u0ebc\u1000-\u1049\u1780-\u17d3"
"""Letters with combining vowel signs, which `\\w` does not match."""

_WORD = rf"[\w{_INDIC}]+"
_CHUNK = re.compile(rf"{_WORD}(?:(?:['’./:\-‐‑]|::)(?={_WORD}){_WORD}|\(\w{{1,4}}\))*")
"""A word with everything attached to it without a space: `REQ-12`, `AC-2(3)`, `a::b`, `system's`."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of scripts without spaces between words (and Korean, whose particles are attached to words)."""

_MARKS = re.compile("[\u0300-\u036f\u0640\u064b-\u0655\u0670]")
_PARTS = re.compile(
    rf"[0-9]+(?:\.[0-9]+)+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|(?:[^\W\d_A-Za-z]|[{_INDIC}])(?:[^\W\d_]|[{_INDIC}])*"
)
_CLAUSE_NUMBER = re.compile(r"(?:[A-Z]|[0-9]+)(?:\.[0-9]+)+")
_POSSESSIVE = re.compile(r"['’]s$")
_SEPARATORS = re.compile(rf"[^\w{_INDIC}]+|_+")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:[-‐‑/][^\W\d_]+)+")
_LETTERS = str.maketrans(
    {
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ß": "ss",
        "ẞ": "SS",
        "ı": "i",
    }
)
_NOTE_LETTER = re.compile(r"[ᵇᶜᵈᶠᵍʰ](?<=[^\W\d_].)|[ᵃᵉ](?<=[^\W\d_IVX].)")
"""A mark of a note after a word; after a number it is a term of its own, and "XIXᵉ" is an ordinal."""
_OPTIONAL_PLURAL = re.compile(r"\((?:s|es)\)")

_LONGEST_TERM = 64
_MEMO_ENTRIES = 200_000
_MOST_REPEATED = 3
"""Maximum times that a word of a question counts. It is once in several lines: reports of errors repeat the names of
their trace.
"""
_VERSION = "english-2"


class EnglishAnalyser:
    """Turns text into terms, for English with identifiers; other languages are folded and segmented, not stemmed.

    Thread-safe. Terms consist of letters, digits and `_`, at most 64 characters.

    Args:
        stemming: reduce English words to their stems (Porter2).
        stop_words: words that give no term.
    """

    def __init__(self, *, stemming: bool = True, stop_words: frozenset[str] = ENGLISH) -> None:
        self._stemming = stemming
        self._stop_words = stop_words
        self._lock = threading.Lock()
        self._stem_word: Callable[[str], str] | None = None
        self._memo: dict[str, tuple[str, ...]] = {}
        self._query_words = lru_cache(maxsize=256)(self._counted_words)  # one search calls it several times
        words = hashlib.sha256(" ".join(sorted(stop_words)).encode()).hexdigest()[:8]
        self._version = f"{_VERSION}{'-porter2' if stemming else ''}-{words}"

    @property
    def version(self) -> str:
        return self._version

    def document_terms(self, text: str) -> list[str]:
        memo = self._memo
        terms: list[str] = []
        for chunk in _CHUNK.findall(fold(text)):
            known = memo.get(chunk)
            terms.extend(self._remember(chunk) if known is None else known)
        return terms

    def query_terms(self, text: str) -> list[str]:
        return [term for word, count in self._query_words(text) for term in word * count]

    def query_words(self, text: str) -> list[tuple[str, ...]]:
        return [word for word, _ in self._query_words(text)]

    def term_key(self, term: str) -> str:
        folded = _OPTIONAL_PLURAL.sub("", fold(term).lower())
        words = [_singular(_POSSESSIVE.sub("", word)) for word in re.split(r"[^\w'’+#]+|_+", folded) if word]
        return " ".join(words) or folded.strip()

    def _counted_words(self, text: str) -> tuple[tuple[tuple[str, ...], int], ...]:
        """List the words of a question, each with its terms, and how often it counts.

        A number and its unit are one word, which also has the terms of their other forms: "twenty-four hours" is found
        as "24 h", and "30 percent" as "30 %", of which only the number is a term.
        """
        words: dict[str, dict[str, None]] = {}
        count = Counter[str]()
        for word in self._words_of_query(text):
            words.setdefault(word[0], {}).update(dict.fromkeys(word))
            count[word[0]] += 1
        for printed, others in _quantities(text):
            first, *further = [term for term in self._terms_of_query(printed) if term in words] or [""]
            if first:
                also = (self._analyse(chunk, single_characters=False)[:1] for chunk in _CHUNK.findall(fold(others)))
                joined = (*(words.pop(each) for each in dict.fromkeys(further) if each != first), *also)
                words[first].update(dict.fromkeys(term for each in joined for term in each))
        most = 1 if "\n" in text.strip() else _MOST_REPEATED
        return tuple((tuple(terms), min(count[first], most)) for first, terms in words.items())

    def _words_of_query(self, text: str) -> list[tuple[str, ...]]:
        return [(term,) for term in self._terms_of_query(text)]

    def _terms_of_query(self, text: str) -> list[str]:
        chunks = _CHUNK.findall(fold(text))
        return [term for chunk in chunks for term in self._analyse(chunk, single_characters=False)]

    def _remember(self, chunk: str) -> tuple[str, ...]:
        terms = self._analyse(chunk, single_characters=True)
        if len(self._memo) >= _MEMO_ENTRIES:
            self._memo = {}
        self._memo[chunk] = terms
        return terms

    def _analyse(self, chunk: str, *, single_characters: bool) -> tuple[str, ...]:
        if chunk.isalpha() and chunk.isascii() and (chunk.islower() or chunk.istitle() or chunk.isupper()):
            return self._word(chunk.lower())
        if _UNSPACED.search(chunk):
            return self._unspaced(chunk, single_characters=single_characters)
        if _CLAUSE_NUMBER.fullmatch(chunk):
            return _clause_number(chunk)
        chunk = _POSSESSIVE.sub("", chunk)
        if "'" in chunk or "’" in chunk:
            chunk = chunk.replace("'", "").replace("’", "")
        return self._compound(chunk)

    def _compound(self, chunk: str) -> tuple[str, ...]:
        """Return an identifier whole, without its bracketed end, and in parts; hyphenated words only in parts."""
        parts = [part.lower() for part in _PARTS.findall(chunk)]
        terms: list[str] = []
        whole = _SEPARATORS.sub("_", chunk).strip("_").lower()[:_LONGEST_TERM]
        if len(parts) > 1 and not _HYPHENATED.fullmatch(chunk):
            terms.extend(self._word(whole))
            if "(" in chunk:
                terms.append(_SEPARATORS.sub("_", chunk[: chunk.index("(")]).strip("_").lower()[:_LONGEST_TERM])
        elif not parts and whole:
            terms.append(whole)
        for part in parts:
            terms.extend(_clause_number(part) if "." in part else self._word(part[:_LONGEST_TERM]))
        return tuple(terms)

    def _unspaced(self, chunk: str, *, single_characters: bool) -> tuple[str, ...]:
        terms: list[str] = []
        position = 0
        for run in _UNSPACED.finditer(chunk):
            for rest in _CHUNK.findall(chunk[position : run.start()]):
                terms.extend(self._compound(rest))
            characters = _SEPARATORS.sub("", run.group())
            terms.extend(characters[i : i + 2] for i in range(len(characters) - 1))
            if single_characters or len(characters) == 1:
                terms.extend(characters)
            position = run.end()
        for rest in _CHUNK.findall(chunk[position:]):
            terms.extend(self._compound(rest))
        return tuple(terms)

    def _word(self, word: str) -> tuple[str, ...]:
        if word in self._stop_words:
            return ()
        if not self._stemming or len(word) < 3 or not word.isascii() or not word.isalpha():
            return (word[:_LONGEST_TERM],)
        with self._lock:
            if self._stem_word is None:
                self._stem_word = _porter2()
            return (self._stem_word(word[:_LONGEST_TERM]),)


_LEAST_SPELLED = 13
"""Numbers without a unit are searched in their other form from here on: smaller ones count anything, or are ordinals
and pronouns.
"""


def _quantities(text: str) -> Iterator[tuple[str, str]]:
    """List the numbers of a question with their units, and what else they are called."""
    from knowledge_mcp.language.quantities.numerals import names_of_number, numerals_in
    from knowledge_mcp.language.quantities.units import names_of_unit, unit_behind

    language = language_of(text)
    for each in numerals_in(text, language):
        unit = unit_behind(text, each.end, language)
        units = names_of_unit(unit.base, unit.factor)
        if units:
            yield text[each.start : unit.end], " ".join((*names_of_number(each.value), *units))
        elif each.is_word and each.value >= _LEAST_SPELLED:
            yield text[each.start : each.end], " ".join(names_of_number(each.value))


def _porter2() -> Callable[[str], str]:
    import Stemmer

    module: Any = Stemmer
    return module.Stemmer("english", 0).stemWord


def fold(text: str) -> str:
    """Unify the encodings of characters and remove accents; case is kept, because it marks word boundaries."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", _without_note_letters(text).translate(_LETTERS))
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed))


def _without_note_letters(text: str) -> str:
    """Remove raised letters that mark notes after words: "Steelᶜ"."""
    return _NOTE_LETTER.sub("", text)


def _clause_number(chunk: str) -> tuple[str, ...]:
    """Return `5.3.1` and its prefixes down to two numbers, so that it also matches the clauses above it."""
    places = chunk.lower().split(".")
    whole = "_".join(places)
    ends = list(accumulate(len(place) + 1 for place in places))
    return tuple(whole[: min(end - 1, _LONGEST_TERM)] for end in reversed(ends[1:]))


def _singular(word: str) -> str:
    """Remove an English plural ending. Singular and plural give the same result, correct English or not."""
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("yses"):
        return word[:-2] + "is"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes", "tuses")):
        return word[:-2]
    return word[:-1]


# ---- other languages

STEMMED: Mapping[str, str] = {
    "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch",
    "sv": "swedish", "no": "norwegian", "da": "danish", "fi": "finnish", "ru": "russian",
}  # fmt: skip
"""Snowball's names of the languages other than English, by ISO 639-1 code."""

_PLAIN = re.compile(r"[^\W\d_]+(?:[-‐‑/'’][^\W\d_]+)*")
_JOINTS = re.compile(r"[-‐‑/'’]")
_ANY = frozenset[str]().union(*FUNCTION_WORDS.values())
_FULL_VERSION = "multilingual-4"


class MultilingualAnalyser(EnglishAnalyser):
    """Turns text into terms, depending on its language. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._stemmers = _Stemmers()
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}
        words = hashlib.sha256("\n".join(" ".join(sorted(FUNCTION_WORDS[each])) for each in STEMMED).encode())
        self._full_version = f"{_FULL_VERSION}-snowball-{words.hexdigest()[:8]}"

    @property
    def version(self) -> str:
        return self._full_version

    def document_terms(self, text: str) -> list[str]:
        code = language_of(text)
        if code not in STEMMED:
            return super().document_terms(text)
        known, terms = self._known, list[str]()
        for chunk in _CHUNK.findall(unicodedata.normalize("NFC", _without_note_letters(text))):
            found = known.get((code, chunk))
            terms.extend(self._learn(code, chunk) if found is None else found)
        return terms

    def _learn(self, code: str, chunk: str) -> tuple[str, ...]:
        words = _words(chunk)
        if words is None:
            terms = self._analyse(fold(chunk), single_characters=True)
        else:
            terms = tuple(self._stemmers.term(code, word) for word in words if word not in FUNCTION_WORDS[code])
        if len(self._known) >= _MEMO_ENTRIES:
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
        folded, printed = _CHUNK.findall(fold(text)), _CHUNK.findall(unicodedata.normalize("NFC", text))
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
    if not _PLAIN.fullmatch(chunk) or _UNSPACED.search(chunk):
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
            stem = str(self._ready[code].stemWord(word[:_LONGEST_TERM]))
        return f"_{fold(stem).lower()}"[:_LONGEST_TERM]

    def terms(self, word: str) -> tuple[str, ...]:
        """List the distinct terms of a word in all languages."""
        known = self._query_stems.get(word)
        if known is None:
            known = tuple(dict.fromkeys(self.term(code, word) for code in STEMMED))
            if len(self._query_stems) >= _MEMO_ENTRIES // 10:
                self._query_stems = {}
            self._query_stems[word] = known
        return known
