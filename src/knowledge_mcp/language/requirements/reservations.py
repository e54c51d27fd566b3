"""Words with which a sentence says that something is not always, not wholly or only perhaps done."""

from __future__ import annotations

import re

_HEDGES = {
    "en": r"to the extent|as (?:far|much) as|usually|normally(?! (?:open|closed))|typically|generally|as a rule"
    r"|in (?:general|principle)|ideally|preferably|(?:where|when|if) (?:practical|practicable|possible|feasible)"
    r"|(?:aim|strive|seek|endeavou?r|intend|try|tries|attempt|plan)s? to|might|could",
    "de": r"soweit|nach Möglichkeit|möglichst|in der Regel|grundsätzlich|normalerweise|üblicherweise"
    r"|könnten?",
    "fr": r"dans la mesure|autant que|si possible|en (?:principe|général|règle générale)|généralement|normalement"
    r"|de préférence|pourrai(?:t|ent)",
    "es": r"en la medida|en lo posible|cuando sea posible|podrían?|en (?:general|principio)|generalmente|normalmente"
    r"|preferentemente",
}
_HEDGED = {code: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE) for code, words in _HEDGES.items()}
_IF = re.compile(r"si\b", re.IGNORECASE)
"""The French and the Spanish "if", which also begins questions: `conditions_in` does not read it."""
_ALL = re.compile(
    r"(?:all|each|every|any|both|alle[nrs]?|jede[mnrs]?|sämtliche[nr]?|beide[nr]?|tous|toutes|chaque|tod[oa]s|cada)",
    re.IGNORECASE,
)
_SOME = re.compile(
    r"(?:some|several|selected|certain|most|many|few|one|either|einige[nr]?|manche[nr]?|mehrere[nr]?|meisten"
    r"|certain(?:e?s)?|quelques|plusieurs|algun[oa]s|vari[oa]s)",
    re.IGNORECASE,
)
_BOTH, _EITHER = frozenset({"and", "und", "et", "y", "e"}), frozenset({"or", "oder", "ou", "o", "u"})
ADDS_CLAUSE = _BOTH | _EITHER | frozenset({"but", "aber", "sowie", "sondern", "mais", "pero"})
"""Words that begin an added clause, which restricts nothing before it."""


def hedge_in(words: str, code: str) -> tuple[int, str] | None:
    """Return the offset and the words that leave open how often or how far something is done; None if none do.

    Args:
        words: a part of a sentence.
        code: its ISO 639-1 code; the words of all languages count if it is empty.
    """
    patterns = [_HEDGED[code]] if code in _HEDGED else [] if code else list(_HEDGED.values())
    found = [match for each in patterns if (match := each.search(words)) is not None]
    if code in {"", "fr", "es"} and (match := _IF.match(words)) is not None:
        found.append(match)
    return (found[0].start(), " ".join(found[0][0].split())) if found else None


def is_less(ours: str, theirs: str) -> bool:
    """Return whether words that replace others name a part of them: "some" for "all", "or" for "and"."""
    one, other = ours.lower().split(), theirs.lower().split()
    if any(map(_ALL.fullmatch, one)) and any(map(_SOME.fullmatch, other)):
        return True
    return len(one) == len(other) == 1 and one[0] in _BOTH and other[0] in _EITHER
