"""What a quantity measures, from the words around it: "850 mm wide", "a clear width of 850 mm"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.language.multilingual.recognition import CONJUNCTIONS, is_function_word
from knowledge_mcp.language.quantities.reading import Quantity

_BY_ADJECTIVE = {
    **dict.fromkeys(("wide", "wider", "breit", "large"), "width"),
    **dict.fromkeys(("high", "higher", "tall", "taller", "hoch"), "height"),
    **dict.fromkeys(("long", "longer", "lang"), "length"),
    **dict.fromkeys(("deep", "deeper", "tief"), "depth"),
    **dict.fromkeys(("thick", "thicker", "dick"), "thickness"),
}
_BY_NOUN = {
    **{each: each for each in ("width", "height", "length", "depth", "thickness", "diameter", "radius")},
    "breadth": "width",
    "breite": "width",
    "höhe": "height",
    "länge": "length",
    "tiefe": "depth",
    "dicke": "thickness",
    "largeur": "width",
    "hauteur": "height",
    "longueur": "length",
    "profondeur": "depth",
    "épaisseur": "thickness",
    "anchura": "width",
    "altura": "height",
    "longitud": "length",
    "profundidad": "depth",
    "espesor": "thickness",
}
DIMENSIONS = frozenset(_BY_NOUN.values())
"""Kinds of lengths; they are not comparable with each other."""
_BEHIND = re.compile(r"[ \u00a0,]{1,2}(?:in\s)?(?P<word>[^\W\d_]{3,30})")
_LEADS = re.compile(
    r"(?:\s{0,2}(?:\b(?:shall|must|should|will|may|can|is|are|was|were|be|being|of|to|not|equals?|has|have|beträgt|muss|darf|von"
    r"|est|doit|être|de|es|debe|ser|será)\b|[:=(])){0,5}\s{0,3}\Z",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[^\W\d_]{3,30}")
_IN_FRONT = re.compile(rf"{_NOUN.pattern}\Z")
_APART = re.compile(r"[\d;]|[.,]\s")
"""What separates the name of a quantity from the text before it, such as another number."""
_STEM = 4
"""Minimum letters kept of a word: "lines" becomes "line"."""
_SEEN = 90
"""Characters before a quantity that are read: "clear width of doors in escape routes shall be"."""


def measured_in(sentence: str, quantity: Quantity) -> str:
    """Return what a quantity measures: one of `DIMENSIONS`, or else the word after it or the noun before it.

    Args:
        sentence: the text that contains the quantity.
        quantity: as read from it.

    Returns:
        The word in lower case; empty if there is none.
    """
    behind = _BEHIND.match(sentence, quantity.end)
    after = _content_word(behind["word"]) if behind else ""
    if after in _BY_ADJECTIVE or after in _BY_NOUN:
        return _BY_ADJECTIVE.get(after) or _BY_NOUN[after]
    front = _APART.split(sentence[max(0, quantity.start - _SEEN) : quantity.start])[-1]
    nouns = [match.group().lower() for match in _NOUN.finditer(front)]
    if dimension := next((_BY_NOUN[noun] for noun in reversed(nouns) if noun in _BY_NOUN), ""):
        return dimension
    leads = _LEADS.search(front)
    noun = _IN_FRONT.search(front[: leads.start()] if leads else front)
    return after or (_content_word(noun.group()) if noun else "")


_PARTS = re.compile(rf"[,;:]\s|\s(?:{CONJUNCTIONS}|but)\s", re.IGNORECASE)
"""What separates the words after one number from those before the next."""


def words_about(sentence: str, numbers: Sequence[Quantity], quantity: Quantity) -> frozenset[str]:
    """Return the stems of the words around one of several numbers in a sentence, up to the adjacent numbers.

    Args:
        sentence: the text that contains the numbers.
        numbers: all its numbers, in order.
        quantity: the number in question.
    """
    before = max((each.end for each in numbers if each.end <= quantity.start), default=0)
    behind = min((each.start for each in numbers if each.start >= quantity.end), default=len(sentence))
    front, rest = sentence[before : quantity.start], sentence[quantity.end : behind]
    cuts = list(_PARTS.finditer(front))
    if before and cuts:
        front = front[cuts[0].end() :]
    cut = _PARTS.search(rest) if behind < len(sentence) else None
    rest = rest[: cut.start()] if cut is not None else rest
    return stems_in(f"{front} {rest}")


def stems_in(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, without function words; forms of one word have the same stem."""
    words = (match.group().lower() for match in _NOUN.finditer(text))
    return frozenset(word[: max(_STEM, len(word) - 2)] for word in words if _content_word(word))


def distinctive_words(
    sentence: str, numbers: Sequence[Quantity], quantity: Quantity
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that occur only around one number, and only around others of its unit: "suction", "discharge".

    Both are empty if the sentence has no other, or if no words distinguish them.
    """
    own = words_about(sentence, numbers, quantity)
    rivals = [
        words_about(sentence, numbers, each) for each in numbers if each.unit == quantity.unit and each is not quantity
    ]
    others = frozenset[str]().union(*rivals)
    ours, theirs = own - others, others - own
    return (ours, theirs) if ours and theirs else (frozenset(), frozenset())


def _content_word(word: str) -> str:
    word = word.lower()
    return "" if is_function_word(word) else word
