"""What a quantity measures, by the words beside it: "850 mm wide", "a clear width of 850 mm"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS
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
"""What a length may be of: one of them says nothing of another."""
_BEHIND = re.compile(r"[ \u00a0,]{1,2}(?:in\s)?(?P<word>[^\W\d_]{3,30})")
_LEADS = re.compile(
    r"(?:\s{0,2}(?:\b(?:shall|must|should|will|may|can|is|are|was|were|be|being|of|to|not|equals?|has|have|beträgt|muss|darf|von"
    r"|est|doit|être|de|es|debe|ser|será)\b|[:=(])){0,5}\s{0,3}\Z",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[^\W\d_]{3,30}")
_IN_FRONT = re.compile(rf"{_NOUN.pattern}\Z")
_APART = re.compile(r"[\d;]|[.,]\s")
"""What parts what is measured from what stands before it, as another number does."""
_STEM = 4
"""Letters of a word that are kept at least: "lines" is "line"."""
_SEEN = 90
"""Characters in front of a quantity that are looked at: "clear width of doors in escape routes shall be"."""


def measured_in(sentence: str, quantity: Quantity) -> str:
    """Name what a quantity measures: one of `DIMENSIONS`, else the word behind it or the noun in front of it.

    Args:
        sentence: the text that the quantity is of.
        quantity: as read from it.

    Returns:
        In small letters; empty where no word tells.
    """
    behind = _BEHIND.match(sentence, quantity.end)
    after = _telling(behind["word"]) if behind else ""
    if after in _BY_ADJECTIVE or after in _BY_NOUN:
        return _BY_ADJECTIVE.get(after) or _BY_NOUN[after]
    front = _APART.split(sentence[max(0, quantity.start - _SEEN) : quantity.start])[-1]
    nouns = [match.group().lower() for match in _NOUN.finditer(front)]
    if dimension := next((_BY_NOUN[noun] for noun in reversed(nouns) if noun in _BY_NOUN), ""):
        return dimension
    leads = _LEADS.search(front)
    noun = _IN_FRONT.search(front[: leads.start()] if leads else front)
    return after or (_telling(noun.group()) if noun else "")


_PARTS = re.compile(r"[,;:]\s|\s(?:and|or|but|und|oder|et|ou|y|o)\s", re.IGNORECASE)
"""What parts the words behind one number from those before the next."""


def words_about(sentence: str, numbers: Sequence[Quantity], quantity: Quantity) -> frozenset[str]:
    """List the beginnings of the words that stand with one of several numbers of a sentence, up to the next ones.

    Args:
        sentence: the text that the numbers are of.
        numbers: all that it has, in order.
        quantity: the one.
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
    """List the beginnings of the words of a text, without those of grammar; forms of one word begin alike."""
    words = (match.group().lower() for match in _NOUN.finditer(text))
    return frozenset(word[: max(_STEM, len(word) - 2)] for word in words if _telling(word))


def telling_apart(
    sentence: str, numbers: Sequence[Quantity], quantity: Quantity
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that stand with one number alone, and with others of its unit alone: "suction", "discharge".

    Both are empty where the sentence has no other, or nothing tells them apart.
    """
    own = words_about(sentence, numbers, quantity)
    rivals = [
        words_about(sentence, numbers, each) for each in numbers if each.unit == quantity.unit and each is not quantity
    ]
    others = frozenset[str]().union(*rivals)
    ours, theirs = own - others, others - own
    return (ours, theirs) if ours and theirs else (frozenset(), frozenset())


def _telling(word: str) -> str:
    word = word.lower()
    return "" if any(word in words for words in FUNCTION_WORDS.values()) else word
