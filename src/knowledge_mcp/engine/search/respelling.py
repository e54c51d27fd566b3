"""Respell words of a question that no passage contains: misspelt, in another spelling, in one word instead of two.

The words that replace them are taken from the passages found so far, most of which are close in meaning, so no store
has to list its words. Words that some passage contains stay as they are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from itertools import product

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.language.names import accompanies_names
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Filter

_SHORTEST = 5
"""Letters of a word that is respelt; shorter words resemble too many others."""

_MOST_WORDS = 12
"""Words of a question that is looked at: a longer one has enough other words."""

_MOST_LOOKED_UP = 3
"""Words with a similar one that are looked up to confirm that no passage contains them; each costs a search."""

_CLOSE = 0.84
"""Similarity (`difflib`) of a misspelt word: one wrong or missing letter of seven."""

_SAME_LETTERS = 0.8
"""The same if two letters are swapped: of five letters, as in "guage"."""

_ASKED = re.compile(r"(?<![\w.])[^\W\d_]+(?![\w(])")


def respelled(base: Base, question: str, filter: Filter | None, found: Sequence[Chunk]) -> dict[str, str]:
    """Map words of a question that no passage contains to words of the passages found.

    Args:
        base: provides analyser and store.
        question: the text.
        filter: which passages may be found.
        found: passages, those with most of its words first.
    """
    asked = list(dict.fromkeys(_ASKED.findall(question)))
    if not found or len(asked) > _MOST_WORDS:
        return {}
    unseen = [each for each in asked if _is_word(each)]
    texts: list[str] = []
    for chunk in found:
        if not unseen:
            return {}
        texts.append(f"{chunk.section_title}\n{chunk.content}".casefold())
        unseen = [each for each in unseen if each.casefold() not in texts[-1]]
    shown = "\n".join(texts)
    unseen = [each for each in unseen if not _is_in(shown, base.analyser.query_terms(each))]
    similar = {each: other for each in unseen if (other := _similar(each.casefold(), shown))}
    looked_up = list(similar)[:_MOST_LOOKED_UP]
    return {each: similar[each] for each in looked_up if _is_absent(base, each, filter)}


def respell(question: str, instead: Mapping[str, str]) -> str:
    """Replace words of a question."""
    return _ASKED.sub(lambda match: instead.get(match.group(), match.group()), question)


def _is_word(text: str) -> bool:
    """Return whether this is a word that may be misspelt, and not an abbreviation, a symbol or "clause"."""
    return len(text) >= _SHORTEST and (text.islower() or text.istitle()) and not accompanies_names(text)


def _is_in(shown: str, terms: Sequence[str]) -> bool:
    """Return whether a text has the stem of a word; words without terms count as seen."""
    stem = next((each for each in terms if not each.startswith("_")), "")
    return stem.removesuffix("i") in shown


def _is_absent(base: Base, word: str, filter: Filter | None) -> bool:
    return not base.search(vector=None, text=word, filter=filter, limit=1).lexical


def _similar(word: str, shown: str) -> str | None:
    """Return how a text spells a word: as two words, or almost alike with the same first letter."""
    stem = word.removesuffix("s")
    for at, sign in product(range(2, len(stem) - 1), " -"):
        if f"{stem[:at]}{sign}{stem[at:]}" in shown:
            return f"{stem[:at]} {stem[at:]}"
    near = set(re.findall(rf"(?<!\w){word[0]}[^\W\d_]{{{len(word) - 2},{len(word)}}}(?!\w)", shown))
    for each in difflib.get_close_matches(word, sorted(near), cutoff=_SAME_LETTERS):
        if sorted(each) == sorted(word) or difflib.SequenceMatcher(None, each, word).ratio() >= _CLOSE:
            return each
    return None
