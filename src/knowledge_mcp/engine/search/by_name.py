"""Put first what a question names: identifiers, clauses, documents and terms."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from knowledge_mcp.engine.core.base import Base, Passages
from knowledge_mcp.engine.core.designations import mentions_at
from knowledge_mcp.engine.search.blending import Ranked
from knowledge_mcp.engine.search.folding import TOGETHER
from knowledge_mcp.language.glossary.questions import term_in_question, term_keys
from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.language.names import (
    Exactness,
    Name,
    QuestionNames,
    best_exactness,
    exactness,
    names_in_question,
    names_it,
)
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import And, Equals, Filter, In

_NAMES_LOOKED_AT = 50
"""Number of passages with an identifier's words that are checked."""

_MOST_NAMES_LOOKED_AT = 300
"""Number of passages with an identifier's words that are checked before reporting that it occurs nowhere."""

_MOST_BESIDE_WORDS = 3
"""Maximum passages put first if the question contains more than an identifier."""

_MOST_SPOKEN_OF = 10
"""Maximum other passages that mention the name heading a section: a requirement's id occurs in a few, the name of a
part or product on every page. On 150 questions, 5 gives as many right first hits, 20 two fewer.
"""

_GOES_ON = re.compile(r"[.-]\d*[A-Za-z]")
"""What makes a document's name part of a longer one."""

_SCORES = {
    Exactness.OWN: 1.0,
    Exactness.HEADING: 0.98,
    Exactness.TITLE: 0.98,
    Exactness.OPENING: 0.96,
    Exactness.MENTIONED: 0.94,
}
NAMED_FROM = 0.93
"""Scores above this are those of passages with an identifier of the question."""
_REST = 0.92
"""Maximum score of the other passages, if something was found by name."""


class NamesAsked(NamedTuple):
    """What a question names.

    Attributes:
        within: ids of the documents to which the search by name is limited.
        names: the names to find.
        is_document: whether the documents themselves are asked for.
        designations: of stored documents, as written in the question.
    """

    within: tuple[str, ...]
    names: QuestionNames
    is_document: bool
    designations: tuple[str, ...]

    @property
    def only_by_name(self) -> bool:
        """Whether only a document, or places in one, are asked for."""
        return bool(self.within) and (self.is_document or self.names.alone)


def names_asked(base: Base, question: str) -> NamesAsked:
    """Find what a question names.

    "ISO 9001:2015, 6.3" asks for clause 6.3 of that document, and "ISO 9001" for the document. So does "section 6.3 of
    the siting handbook" if all its other words are in the names of one document.
    """
    rest, within, designations = question, dict[str, None](), list[str]()
    for designation, start, end in reversed(list(mentions_at(question))):
        if _GOES_ON.match(question, end):
            continue  # "APP.3.2.A11" is the name of a requirement, even beside a document "APP.3.2"
        alike, clause = base.directory().named(designation)
        document_ids = [each.record.id for each in alike if not (each.is_part or each.is_other_edition)]
        if document_ids:
            rest = f"{rest[:start]} clause {clause}{rest[end:]}"
            within.update(dict.fromkeys(document_ids))
            designations.append(question[start:end])
    inside, every = names_in_question(rest), names_in_question(question)
    if within and inside.names:
        return NamesAsked(tuple(within), inside, False, tuple(designations))
    if not within and every.names and every.others and all(each.is_place for each in every.names):
        called = base.directory().called(each for each in every.others if not is_function_word(each))
        if called is not None:
            return NamesAsked((called,), QuestionNames(every.names, alone=True), False, ())
    return NamesAsked(tuple(within) if every.alone else (), every, every.alone and bool(within), tuple(designations))


def pinned(
    base: Base, passages: Passages, asked: NamesAsked, filter: Filter | None, ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put passages that have an identifier of the question before all others; at most `limit` in all.

    If the question is only the identifier, all its passages come first: those whose own identifier it is, then those
    with it in the title, at the beginning, or mentioned. If it has other words, only passages with the identifier as
    their own come first, and the section that it heads, unless it heads many or is mentioned everywhere. Passages found
    by name have scores above .93, all others below.
    """
    within, names, is_document, _ = asked
    if not names.names:
        return list(ranked)
    order = _candidates(base, names, _both(filter, In("document_id", within)) if within else filter)
    places = {hit[0]: place for place, hit in enumerate(ranked[:TOGETHER])}
    chunks = passages.get(list(dict.fromkeys([*places, *order])))
    least = _least(names)
    matched: dict[str, tuple[Exactness, Chunk]] = {}
    for chunk in chunks:
        exact = best_exactness(chunk, names.names, least)
        if within and chunk.document_id not in within:
            exact = exact if is_document else Exactness.ABSENT
        elif is_document:
            exact = max(exact, Exactness.TITLE)
        matched[chunk.id] = exact, chunk
    named = [(exact, chunk) for exact, chunk in matched.values() if exact >= least]
    if names.alone:
        documents = {chunk.document_id: place for place, chunk in reversed(list(enumerate(_in(order, matched))))}
        last = len(documents)
        named.sort(key=lambda each: (-each[0], documents.get(each[1].document_id, last), each[1].index))
        if any(each.item for each in names.names):  # a line that begins with 7 means something else in other documents
            named = [each for each in named if each[0] is named[0][0]][:_MOST_BESIDE_WORDS]
    else:
        last = len(places)
        headed = {(each.document_id, each.section_title) for exact, each in named if exact is Exactness.HEADING}
        if len(headed) > _MOST_BESIDE_WORDS or (headed and _is_spoken_of(names.names, chunks, headed)):
            named = [each for each in named if each[0] is Exactness.OWN]
        named.sort(key=lambda each: (-each[0], places.get(each[1].id, last), each[1].index))
        named = named[:_MOST_BESIDE_WORDS]
    if not named:
        return list(ranked)
    return _first(ranked, {chunk.id: _SCORES[exact] for exact, chunk in named}, limit)


def _is_spoken_of(names: Sequence[Name], chunks: Iterable[Chunk], headed: Container[tuple[str, str]]) -> bool:
    """Return whether so many passages below other headings mention the names that they are a topic."""
    elsewhere = (each.content for each in chunks if (each.document_id, each.section_title) not in headed)
    saying = (content for content in elsewhere if any(name.pattern.search(content) for name in names))
    return next(islice(saying, _MOST_SPOKEN_OF, None), None) is not None


def defining(base: Base, question: str, filter: Filter | None) -> list[str]:
    """List the passages that define a term if only its meaning is asked; identifiers are handled by `pinned`."""
    term = "" if names_in_question(question).names else term_in_question(question)
    for key in term_keys(term, base.analyser.term_key):
        chunk_ids = tuple(each.id for each in base.opened.chunks("term", [key]) if _explains(base, each, key))
        if not chunk_ids:
            continue
        filter_of = _both(filter, In("chunk_id", chunk_ids))
        found = base.search(vector=None, text=term, filter=filter_of, limit=len(chunk_ids)).lexical
        if found:
            return [hit.chunk_id for hit in found]
    return []


def _explains(base: Base, chunk: Chunk, key: str) -> bool:
    """Return whether a passage says more about a term than its name: "OC: outage clerk" explains nothing."""
    named = (each for each in chunk.definitions if key in map(base.analyser.term_key, (each.term, *each.aliases)))
    return any(base.analyser.term_key(each.text) != key for each in named)


def defined_first(ranked: Sequence[Ranked], chunk_ids: Sequence[str], limit: int) -> list[Ranked]:
    """Put the best passages that define a term before all others; at most `limit` in all."""
    if not chunk_ids:
        return list(ranked)
    order = {hit[0]: place for place, hit in enumerate(ranked[:TOGETHER])}
    best = sorted(chunk_ids, key=lambda each: order.get(each, TOGETHER))[:_MOST_BESIDE_WORDS]
    return _first(ranked, dict.fromkeys(best, _SCORES[Exactness.OWN]), limit)


def _first(ranked: Sequence[Ranked], named: Mapping[str, float], limit: int) -> list[Ranked]:
    """Put what was found by name, with its scores, before the rest, whose scores are lower; at most `limit` in all."""
    known = {hit[0]: hit for hit in ranked}
    first = [(each, score, *known.pop(each, (each, 0.0, None, None))[2:]) for each, score in named.items()]
    return [*first, *((hit[0], hit[1] * _REST, hit[2], hit[3]) for hit in known.values())][:limit]


def identifiers_not_found(
    base: Base, passages: Passages, asked: NamesAsked, filter: Filter | None, ranked: Sequence[Ranked]
) -> tuple[str, ...]:
    """Report which identifiers of a question were found in no passage, or by a number alone, one sentence each."""
    within, every, is_document, designations = asked
    names = [each for each in every.names if every.alone or each.is_identifier]
    if is_document or not names:
        return ()
    designated = " ".join(designations).casefold()
    inside = _both(filter, In("document_id", within)) if within else filter
    near = [each for each in passages.get([hit[0] for hit in ranked]) if not within or each.document_id in within]
    parts = {each: (each, *(each.part_of(whole) for whole in designations)) for each in names}
    missing = [
        each
        for each in names
        if each.key not in designated and not any(names_it(chunk, form) for chunk in near for form in parts[each])
    ]
    sentences = [
        f"{each.text} is not named in the results; the first of them only begin a line with its number."
        for each in names
        if each.item and max((exactness(chunk, each) for chunk in near), default=None) is Exactness.OPENING
    ]
    for place, each in enumerate(missing):
        if any(other.pattern.fullmatch(each.text) for other in missing[:place]):
            continue  # "A.2" after "A2"
        found = _candidates(base, QuestionNames((each,), alone=True), inside, _MOST_NAMES_LOOKED_AT)
        if not any(names_it(chunk, form) for chunk in passages.get(found) for form in parts[each]):
            name = f"Clause {each.text}" if each.is_clause else each.text
            where = "the document in the question" if within else "the searched documents"
            found_instead = "; the results match other words or parts of it" if near else ""
            sentences.append(f"{name} was not found in {where}{found_instead}.")
    return tuple(sentences)


def _candidates(base: Base, asked: QuestionNames, filter: Filter | None, limit: int = _NAMES_LOOKED_AT) -> list[str]:
    """Return passages that may have an identifier, the most likely first."""
    found: dict[str, None] = {}
    for each in asked.names:
        if each.is_clause:
            found.update(_looked_up(base, each, _both(filter, Equals("clause_number", each.text)), limit))
        found.update(_looked_up(base, each, filter, limit))
    return list(found)


def _looked_up(base: Base, name: Name, filter: Filter | None, limit: int) -> dict[str, None]:
    hits = base.search(vector=None, text=name.searched, filter=filter, limit=limit).lexical or ()
    return dict.fromkeys(hit.chunk_id for hit in hits)


def _both(filter: Filter | None, other: Filter) -> Filter:
    return other if filter is None else And((filter, other))


def _in(order: Sequence[str], matched: dict[str, tuple[Exactness, Chunk]]) -> list[Chunk]:
    return [matched[key][1] for key in order if key in matched]


def _least(asked: QuestionNames) -> Exactness:
    if not asked.alone:
        return Exactness.HEADING
    numbers = all(each.key.isdigit() for each in asked.names)
    return Exactness.TITLE if numbers else Exactness.MENTIONED
