"""Which language a text is in, told by its function words, or by its script."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from knowledge_mcp.language.multilingual.function_words import FUNCTION_WORDS

LANGUAGE_NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "no": "Norwegian", "da": "Danish", "fi": "Finnish", "ru": "Russian",
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ar": "Arabic", "he": "Hebrew", "el": "Greek", "th": "Thai",
    "hi": "Hindi",
}  # fmt: skip
"""What people call the languages that `language_of` tells, by ISO 639-1 code."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_SHARERS: dict[str, list[str]] = {}
for _code, _words in FUNCTION_WORDS.items():
    for _each in _words:
        _SHARERS.setdefault(_each, []).append(_code)

_SCRIPTS = re.compile(
    "(?P<ja>[\u3040-\u30ff])|(?P<ko>[\uac00-\ud7af])|(?P<zh>[\u4e00-\u9fff])|(?P<ar>[\u0600-\u06ff])"
    "|(?P<he>[\u0590-\u05ff])|(?P<el>[\u0370-\u03ff])|(?P<th>[\u0e00-\u0e7f])|(?P<hi>[\u0900-\u097f])"
    "|(?P<ru>[\u0410-\u044f\u0401\u0451])"
)
_READ = 20_000
"""Characters of a text that are looked at; it takes some dozen words."""

_FEWEST, _MOST_ASKED, _WORDS_FOR_ONE = 2, 5, 8
"""Different function words that a language must show: one in eight words, two of a short text, for "die casting" and
"per se" are English, and no more than five. Every passage of the labelled sets in English is told as English or not."""

_SHARE = 0.12
"""Least share of a text's words. Prose has .3 to .5, Finnish .15; names such as "de la Cruz" in a list stay below."""


def language_of(text: str) -> str:
    """Tell the language of a text as ISO 639-1 code, empty where too little speaks for any.

    The function words of twelve languages are counted; one that several languages have counts a part for each. Words
    with capitals do not count, but for the first one: "Los Angeles" and "EST" are names.
    """
    text = unicodedata.normalize("NFC", text[:_READ])
    words = _WORD.findall(text)
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for word, times in Counter([*(each.lower() for each in words[:1]), *words[1:]]).items():
        sharers = _SHARERS.get(word, ())
        for code in sharers:
            counts[code] += times * _WHOLE // len(sharers)
            kinds[code] += 1
    fewest = max(_FEWEST, min(_MOST_ASKED, 1 + len(words) // _WORDS_FOR_ONE))
    told = [code for code in FUNCTION_WORDS if kinds[code] >= fewest]
    best = max(told, key=lambda code: counts[code], default="")
    return best if best and counts[best] >= _WHOLE * _SHARE * len(words) else _by_script(text)


_WHOLE = 27_720
"""What a word of one language counts: it can be divided by 1 to 12 without rest."""


def _by_script(text: str) -> str:
    """Tell a language by its script, where that has at least a third of the letters; Cyrillic is taken for Russian."""
    found = Counter(match.lastgroup or "" for match in _SCRIPTS.finditer(text))
    if 3 * found.total() < sum(map(str.isalpha, text)) or not found:
        return ""
    return "ja" if found["ja"] else found.most_common(1)[0][0]
