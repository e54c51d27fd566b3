"""Evidence that contradicts a demand, or repeats it and takes something back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from knowledge_mcp.engine.tracing.conflicts import Terms
from knowledge_mcp.language.force import Force, forces_of, is_ban, plain_in
from knowledge_mcp.language.multilingual.denial import denials, is_limited, left_open, limiting_words
from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.language.quantities.reading import quantities
from knowledge_mcp.language.requirements.conditions import ConditionKind, conditions_in
from knowledge_mcp.language.requirements.opposites import OPPOSITES
from knowledge_mcp.language.requirements.reservations import ADDS_CLAUSE, hedge_in, is_less
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.document import Span

_AVOIDS = re.compile(
    r"\b(?:no|none|neither|nor|without|avoid|prevent|prohibit|forbid|exclude|free|instead|rather|replac|former|previous|until"
    r"|statt|anstatt|anstelle|ersetz|bisher|früher|ohne)",
    re.IGNORECASE,
)
"""Words with which evidence keeps a ban without denying it."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def opposed_words(demand: str, quote: str, terms: Terms) -> tuple[str, str] | None:
    """Return what a demand asks for, and the words of its evidence that contradict it; None if none do.

    Args:
        demand: its text.
        quote: the evidence.
        terms: splits a text into terms.
    """
    language = language_of(f"{demand}\n{quote}")
    is_open = left_open(quote, language)
    if is_open and not left_open(demand, language):
        return "it is done", is_open
    silent = FUNCTION_WORDS.get(language, frozenset())

    def content_terms(text: str) -> list[str]:
        return list(terms(" ".join(word for word in text.split() if word.strip(".,;:").lower() not in silent)))

    demanded, stated = set(content_terms(demand)), content_terms(quote)
    is_same = 2 * sum(term in demanded for term in stated) >= len(stated)
    banned, denied = list(denials(demand, language)), list(denials(quote, language))
    have_one_condition = limiting_words(demand, language) == limiting_words(quote, language)
    is_plain = not is_limited(quote, language) or (have_one_condition and set(stated) <= demanded)
    if is_same and is_plain and not banned:
        for words, printed in denied:
            if {*content_terms(words)[:1]} & demanded:
                return "not denied", printed
    is_plain = have_one_condition or not is_limited(demand, language)
    if is_same and len(banned) == 1 and is_plain and not (denied or _AVOIDS.search(quote)):
        forbidden = content_terms(demand[demand.find(banned[0][1]) :].partition(" ")[2])
        stands = bool(forbidden) and not quantities(demand, language) and {*forbidden} <= {*stated}
        is_whole = set(stated) <= demanded
        asked = [term for term in content_terms(demand) if term in stated]
        in_order = [term for term in stated if term in demanded] == asked
        if stands and (is_whole or (in_order and _adds_only_circumstances(quote, demanded, silent, terms))):
            return f"{banned[0][1]}", quote
    return _opposite_words(demand, quote, terms)


_PREPOSITIONS = frozenset(
    "in on at with during for under by from within an am im bei mit während unter von vom zur zum auf durch".split()
)
_NEAR = 2
"""Words between a preposition and its noun: "in the cold season"."""


def _adds_only_circumstances(quote: str, demanded: set[str], silent: Collection[str], terms: Terms) -> bool:
    """Return whether all words that only the evidence has follow a preposition: "are used in winter"."""
    words = _WORD.findall(quote)
    for at, word in enumerate(words):
        is_known = word.lower() in silent or word.lower() in _PREPOSITIONS or set(terms(word)) <= demanded
        before = {each.lower() for each in words[max(0, at - _NEAR) : at]}
        if not is_known and before.isdisjoint(_PREPOSITIONS):
            return False
    return True


def _opposite_words(demand: str, quote: str, terms: Terms) -> tuple[str, str] | None:
    """Return a word and its opposite that occur next to the same word."""
    ours, theirs = ([word.lower() for word in _WORD.findall(text)] for text in (demand, quote))
    for pair in OPPOSITES:
        mine, its = pair & set(ours), pair & set(theirs)
        if len(mine) == len(its) == 1 and mine != its:
            (one,), (other,) = mine, its
            if not _beside(ours, one, terms).isdisjoint(_beside(theirs, other, terms)):
                return one, other
    return None


def _beside(words: Sequence[str], word: str, terms: Terms) -> set[str]:
    """Return the terms directly before and after a word."""
    at = words.index(word)
    before, behind = (list(terms(" ".join(part))) for part in (words[max(0, at - 3) : at], words[at + 1 : at + 4]))
    return {*before[-1:], *behind[:1]}


# ---- what is taken back

_REPEATED = 3 / 4
"""Minimum share of the words of a demand in evidence that repeats it; with less, the other words are about something
else.
"""
_LONGEST = 400
"""Maximum words of a demand that is compared with evidence: the comparison takes quadratic time."""
_OWN_TEXT = re.compile(
    r"\b(?:herein|hereunder|hereto|otherwise (?:provided|specified|stated|indicated|set)"
    r"|this (?:section|article|part|agreement|policy|regulation))\b",
    re.IGNORECASE,
)
"""A reservation about what the text itself says elsewhere: "except as otherwise provided in this Section"."""
_RESTRICTS = re.compile(r"(?:only|nur|wenn)\b", re.IGNORECASE)
"""Openings of conditions that restrict, among those that may also say how, when or where: "even if", "wherever"."""
_FREE = frozenset({Modality.PERMISSION, Modality.POSSIBILITY})


@dataclass(frozen=True, slots=True)
class _Edit:
    """Words of a demand, and those that the evidence has instead; either may be empty."""

    ours: Span
    theirs: Span


@dataclass(frozen=True, slots=True)
class Retraction:
    """What evidence takes back.

    Attributes:
        asked: the words of the demand, or "always".
        found: the words of the evidence.
        is_opposite: the evidence denies what is demanded, or does what is banned.
    """

    asked: str
    found: str
    is_opposite: bool = False


def retraction(demand: str, quote: str, terms: Terms) -> Retraction | None:
    """Return what evidence takes back of a demand that it repeats; None if it takes back nothing or does not repeat it.

    Args:
        demand: its text.
        quote: the evidence.
        terms: splits a text into terms.
    """
    language = language_of(f"{demand}\n{quote}")
    ours, theirs = (_Sentence(text, language, forces_of(text, plain_in(language))) for text in (demand, quote))
    if ours.forces and all(each.modality in _FREE for each in ours.forces):
        return None
    edits = list(_edits(ours, theirs, terms))
    for each in edits:
        for found, span in (*_replaced(each, ours, theirs), *_reserved(each, ours, theirs)):
            if _repeats(theirs, edits, span):
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A text with its language and words of force."""

    text: str
    language: str
    forces: Sequence[Force]

    @property
    def whole(self) -> Span:
        """Return the span of the text."""
        return Span(0, len(self.text))

    def words(self, span: Span) -> list[re.Match[str]]:
        """List the words in a span."""
        return list(_WORD.finditer(self.text, span.start, span.end))

    def content(self, span: Span) -> int:
        """Count the words in a span that are neither function words nor words of force."""
        silent = FUNCTION_WORDS.get(self.language, frozenset())
        within = self.forces_in(span)
        words = (each for each in self.words(span) if each[0].lower() not in silent)
        return sum(not any(force.start <= each.start() < force.end for force in within) for each in words)

    def forces_in(self, span: Span) -> list[Force]:
        """List the words of force in a span."""
        return [each for each in self.forces if span.start < each.end and each.start < span.end]

    def denied(self, span: Span) -> int:
        """Count the denials in a span."""
        return sum(1 for _ in denials(f"{span.of(self.text)} x", self.language))


def _edits(ours: _Sentence, theirs: _Sentence, terms: Terms) -> Iterator[_Edit]:
    """Yield the words that differ in evidence that has most words of a demand in its order; none if it does not."""
    mine, its = (each.words(each.whole) for each in (ours, theirs))
    if len(mine) > _LONGEST:
        return
    keys = [[next(iter(terms(each[0])), each[0].lower()) for each in words] for words in (mine, its)]
    steps = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()
    found = [
        _Edit(_span(mine, start, end), _span(its, begin, stop))
        for kind, start, end, begin, stop in steps
        if kind != "equal"
    ]
    content = ours.content(ours.whole)
    if content and sum(ours.content(each.ours) for each in found) <= (1 - _REPEATED) * content:
        yield from found


def _span(words: Sequence[re.Match[str]], start: int, end: int) -> Span:
    return Span(words[start].start(), words[end - 1].end()) if start < end else Span(0, 0)


def _repeats(theirs: _Sentence, edits: Sequence[_Edit], but: Span) -> bool:
    """Return whether evidence says little else than the demand, apart from the words of one span."""
    others = sum(theirs.content(each.theirs) - theirs.content(_common(each.theirs, but)) for each in edits)
    return others <= (1 - _REPEATED) * (theirs.content(theirs.whole) - theirs.content(but))


def _common(one: Span, other: Span) -> Span:
    start = max(one.start, other.start)
    return Span(start, max(start, min(one.end, other.end)))


def _replaced(edit: _Edit, ours: _Sentence, theirs: _Sentence) -> Iterator[tuple[Retraction, Span]]:
    """Yield a weaker word, or a denial on one side only, with its place in the evidence."""
    one, other = edit.ours.of(ours.text), edit.theirs.of(theirs.text)
    forces = theirs.forces_in(edit.theirs)
    is_weaker = forces and not any(
        each.modality is Modality.REQUIREMENT or is_ban(each, theirs.text) for each in forces
    )
    is_firm = all(each.modality is Modality.REQUIREMENT for each in ours.forces_in(edit.ours))
    if is_less(one, other) or (one and is_weaker and is_firm):
        yield Retraction(one, other), Span(0, 0)
    is_denied = [each.denied(each.whole) for each in (ours, theirs)]
    limits = [limiting_words(each.text, each.language) for each in (ours, theirs)]
    are_bare = all(each.content(span) <= each.denied(span) for each, span in ((ours, edit.ours), (theirs, edit.theirs)))
    is_other = is_denied[0] != is_denied[1] and limits[0] == limits[1]
    is_avoided = is_denied[0] > is_denied[1] and _AVOIDS.search(theirs.text)
    if is_other and are_bare and not is_avoided and ours.denied(edit.ours) != theirs.denied(edit.theirs):
        yield Retraction(one or "not denied", other or theirs.text, is_opposite=True), Span(0, 0)


def _reserved(edit: _Edit, ours: _Sentence, theirs: _Sentence) -> Iterator[tuple[Retraction, Span]]:
    """Yield an added condition, exception or hedge with its place in the evidence."""
    words = edit.theirs.of(theirs.text)
    if (
        not words
        or _OWN_TEXT.search(words)
        or {words.split()[0].lower(), *_word_before(theirs, edit.theirs)} & ADDS_CLAUSE
    ):
        return
    reserves = conditions_in(theirs.text)
    for each in reserves if len(reserves) > len(conditions_in(ours.text)) else ():
        span = Span(each.start, each.end)
        is_new = 2 * theirs.content(_common(span, edit.theirs)) > theirs.content(span)
        restricts = each.kind is not ConditionKind.OPEN or _RESTRICTS.match(each.text)
        if is_new and restricts and not _word_before(theirs, span) & ADDS_CLAUSE:
            yield Retraction("always", each.text), span
    hedge = hedge_in(words, theirs.language)
    if hedge and re.search(rf"\b{re.escape(hedge[1])}\b", ours.text, re.IGNORECASE) is None:
        yield Retraction("always", hedge[1]), Span(edit.theirs.start + hedge[0], edit.theirs.end)


def _word_before(sentence: _Sentence, span: Span) -> set[str]:
    return {each.lower() for each in sentence.text[: span.start].split()[-1:]}
