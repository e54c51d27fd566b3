"""What a sentence demands beyond its own words of force: as a note, as an item of a list, or by a denial inside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.sentences import PlacePair
from knowledge_mcp.language.openings import note_in, opening_of
from knowledge_mcp.language.requirements.opposites import OPPOSITES
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.support.matching import BoundedMatcher

NORMATIVE = "normative"
STANDINGS = (NORMATIVE, "informative")
"""The two states of a text; only a normative one has requirements."""


def changed_standing(one: str, other: str) -> tuple[str, str] | None:
    """Return the states of two sentences if one is a note or an example and the other is not, otherwise None."""
    are_notes = tuple(note_in(text) is not None for text in (one, other))
    return None if are_notes[0] is are_notes[1] else (STANDINGS[are_notes[0]], STANDINGS[are_notes[1]])


def turned_clauses(links: Sequence[ClauseLink]) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield the clauses that became normative or informative, once for all below: index of the link, states, labels."""
    joined = {
        link.old.index: (place, link.old, link.new)
        for place, link in enumerate(links)
        if link.old and link.new and link.kind not in {LinkKind.SPLIT, LinkKind.MERGED}
    }
    turned = {index for index, (_, old, new) in joined.items() if old.informative is not new.informative}
    for index in turned:
        place, old, new = joined[index]
        if old.parent not in turned or joined[old.parent][2].index != new.parent:
            yield place, STANDINGS[old.informative], STANDINGS[new.informative], old.label, new.label


def _demanded_items(texts: Sequence[str], obliges: Callable[[str], bool]) -> dict[int, int]:
    """Map the items that a binding sentence introduces, "The pump shall have:", to this sentence, by position.

    Args:
        texts: the sentences of a clause, in order.
        obliges: whether a sentence has a binding word of force.
    """
    found: dict[int, int] = {}
    lead: int | None = None
    for place, text in enumerate(texts):
        opening = opening_of(text)
        is_item = opening is not None and opening.kind is BlockKind.LIST_ITEM
        if is_item and lead is not None:
            found[place] = lead
        elif not is_item:
            lead = place if introduces(text) and obliges(text) else None
    return found


def demanded_alone(
    pairs: Sequence[PlacePair], texts: Sequence[str], others: Sequence[str], obliges: Callable[[str], bool]
) -> set[PlacePair]:
    """Find the items without counterpart of lists whose binding introduction is in both editions."""
    found: set[PlacePair] = set()
    for side, sentences in enumerate((texts, others)):
        items = _demanded_items(sentences, obliges)
        alone = [pair for pair in pairs if not pair[1 - side]]
        places = {at for pair in alone for at in pair[side]}
        found |= {pair for pair in alone if any(items.get(at, at) not in places for at in pair[side])}
    return found


def introduces(text: str) -> bool:
    """Return whether a sentence introduces what follows it."""
    return text.endswith(":")


_NOT = frozenset("not never t nicht nie niemals pas jamais no nunca".split())
"""Words that deny a verb; "t" is left of "don't"."""
_ALSO_DENIES = frozenset(
    "none nothing nobody neither nor without unless except kein keine keinen keinem keiner keines nichts niemand ohne"
    " außer aucun aucune rien sans sauf sin ningún ninguna nada nadie salvo excepto".split()
)
"""Other words with a denial in them, by which "if it is not" becomes "unless it is"."""
_PREFIX = re.compile(r"(?:un|in|im|ir|il|dis|non|nicht)(?P<word>[^\W\d_]{3,30})")


_WORD_OR_COMMA = re.compile(r"\w+|,")
_SUBORDINATE = re.compile(
    r"(?<!\S)(?:that|which|who|whose|whom|because|qui|dont|parce|puisque|porque|quien(?:es)?"
    r"|, (?:(?:in|an|auf|aus|bei|mit|für|von|zu|durch|über|unter|nach) )?"
    r"(?:die|der|das|deren|dessen|denen|welche[mnrs]?|weil|da|dass?|obwohl|während))(?!\S)"
)
"""Beginnings of clauses that say more of something, or why."""


def denied_aside(one: str, other: str) -> tuple[Counter[str], Counter[str]]:
    """Count the denials in subordinate clauses that only one of two sentences has: "devices that do not run".

    Such a clause tells what is meant, and does not turn what is demanded.
    """
    sides = [_WORD_OR_COMMA.findall(each.casefold()) for each in (one, other)]
    found: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for tag, a, b, c, d in BoundedMatcher(*sides).get_opcodes():
        for side, words in enumerate((sides[0][a:b], sides[1][c:d]) if tag != "equal" else ()):
            begins = _SUBORDINATE.search(" ".join(words))
            inside = " ".join(words)[begins.end() :].split() if begins is not None else ()
            found[side].update(word for word in inside if word in _NOT)
    return found


def is_denied_otherwise(before: Counter[str], after: Counter[str]) -> bool:
    """Return whether one of two sentences denies what the other says: "does not open", "opens".

    A denial that other words replace is none: "not locked" and "unlocked", "if it is not" and "unless it is".

    Args:
        before, after: the words of both without words of force and limits.
    """
    lost, gained = before - after, after - before
    changed = lost + gained
    denials = sum(count for word, count in changed.items() if word in _NOT)
    others = sum(count for word, count in changed.items() if word in _ALSO_DENIES)
    others += sum(count["other"] > 0 and count["than"] > 0 for count in (lost, gained))
    opposed = {
        pair for pair in OPPOSITES if any(word in lost for word in pair) and any(word in gained for word in pair)
    }
    for words, theirs in ((lost, gained), (gained, lost)):
        prefixed = [found for found in map(_PREFIX.fullmatch, words) if found and found["word"] in theirs]
        opposed |= {frozenset((found[0], found["word"])) for found in prefixed}
    return denials > 0 and (denials + others + len(opposed)) % 2 == 1
