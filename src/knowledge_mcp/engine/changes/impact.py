"""The impact of a new edition: places in other documents, and in indexed code, that refer to what changed.

They name the edition, one of its clauses, or a changed term, identifier or heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from knowledge_mcp.engine.changes.changed_names import Subject, SubjectKind, Subjects, Titles, changed_subjects
from knowledge_mcp.engine.changes.comparing import EditionPair
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.wording import plain, words_of
from knowledge_mcp.engine.core.clauses_beside import clauses_beside
from knowledge_mcp.engine.core.designations import (
    Designation,
    Directory,
    designation_of,
    designations,
    mentions_at,
    names_of,
)
from knowledge_mcp.language.identifiers import is_identifier
from knowledge_mcp.language.openings import caption_label, caption_target
from knowledge_mcp.language.sentences import line_around, sentence_around
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import In, NotIn, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.support.checkpoints import check_each

_BESIDE = 40
"""Maximum characters between a document's designation and its title."""
_PAGE, _MOST = 100, 1_000
"""Passages per search, and for all searches of one name, which is how far a search reaches."""
_TELLING = re.compile(r"[^\W\d_]{2}")
"""The start of identifiers that are searched everywhere; "R-1" occurs in many lists."""
_MOST_IDENTIFIERS = 500
"""Maximum requirements searched in code; each takes one search per repository, a few milliseconds."""


class ImpactKnowledge(Protocol):
    """The searched knowledge: `Knowledge`, or a subset of it for another library."""

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Find passages of all documents."""
        ...

    def document_chunks(self, document_id: str) -> Sequence[Chunk]:
        """Return the passages of a document."""
        ...

    def code_passages(self, text: str) -> Iterable[tuple[Chunk, str]]:
        """List the passages of indexed code that share words with a text, each with its citation."""
        ...


@dataclass(frozen=True, slots=True)
class Touched:
    """A place in another document that refers to what changed.

    Attributes:
        document_id: the document.
        kind: `requirement`, `definition`, `clause` or `code`.
        identifier: of the requirement or the term; otherwise the clause's number, or the name of the code.
        text: the referring sentence or line of code.
        citation: of the referring place.
        passage: index of its passage.
        reference: as printed.
        dated: the edition that it names, empty if it names none.
        clause: the clause that it names, empty if it names only the document.
        change: what became of that clause, or of the clause whose term, requirement or heading is named; None if none
            is named, so that the whole edition counts.
    """

    document_id: str
    kind: str
    identifier: str
    text: str
    citation: str
    passage: int
    reference: str
    dated: str
    clause: str
    change: ClauseChange | None


@dataclass(frozen=True, slots=True)
class Impact:
    """The places that are affected, by document.

    Attributes:
        touched: places that name what changed, or the document as a whole.
        untouched: number of references to clauses that did not change.
        degraded: what could not be searched.
    """

    touched: tuple[Touched, ...]
    untouched: int
    degraded: tuple[str, ...] = ()


def impact_of(knowledge: ImpactKnowledge, pair: EditionPair, changes: Sequence[ClauseChange]) -> Impact:
    """Find the places in other documents that refer to an edition or to its clauses.

    A reference that names the edition ("ACME 100:2018") is dated; otherwise it follows the current edition. Terms whose
    definition changed are searched in the documents that refer to the family; such a place is dated if all references
    of its document name one edition. Requirements are searched in all documents, except those that have other
    requirements with the same identifier.
    """
    own = {each.id for each in pair.family.records} if pair.family is not None else {pair.old.id, pair.new.id}
    members = pair.family.records if pair.family is not None else (pair.old, pair.new)
    directory = Directory(members)
    names = dict.fromkeys(
        each.words for record in members for name, slug in names_of(record) for each in designations(name, slug=slug)
    )
    titles = Titles(record.title for record in members)
    degraded: list[str] = []
    if not names and not titles.names:
        degraded.append(f"Neither title nor id of '{pair.new.id}' is a name that others could refer to it by.")
    identifiers = _identifiers(knowledge, pair, changes, degraded)
    subjects = changed_subjects(changes, identifiers)
    search = _Search(directory, titles, _by_number(changes), Subjects(subjects))
    called = (*names, *titles.names)
    named = [(chunk, place, "") for chunk, place in check_each(_naming(knowledge, called, own, degraded))]
    named += [(chunk, place, "code") for chunk, place in _code(knowledge, names, degraded)]
    for chunk, citation, kind in named:
        search.look_for_references(chunk, citation, kind)
    there = In("document_id", tuple(sorted(search.editions)))
    others = NotIn("document_id", tuple(sorted(own)))
    for subject in check_each(subjects):
        if subject.kind is SubjectKind.IDENTIFIER:
            search.look_for_subject(_code(knowledge, [subject.name], degraded), subject, "code")
            where = others if _TELLING.match(subject.name) else there
            search.look_for_subject(_passages(knowledge, subject.name, where, degraded), subject, "")
        if subject.kind is SubjectKind.TERM and search.editions:
            search.look_for_subject(_passages(knowledge, subject.name, there, degraded), subject, "")
    ordered = sorted(search.found.items(), key=lambda item: item[0])
    return Impact(tuple(each for _, each in ordered), search.untouched, tuple(dict.fromkeys(degraded)))


class _Search:
    """Collects the places that refer to what changed, each once.

    Attributes:
        found: by document, start and name.
        untouched: number of references to clauses that did not change.
        editions: documents that refer to the family, with the editions that they name; an empty one for none.
    """

    def __init__(
        self, directory: Directory, titles: Titles, numbered: Mapping[str, ClauseChange], subjects: Subjects
    ) -> None:
        self._directory, self._titles, self._numbered, self._subjects = directory, titles, numbered, subjects
        self.found: dict[tuple[str, int, str], Touched] = {}
        self.untouched = 0
        self.editions: dict[str, set[str]] = {}

    def look_for_references(self, chunk: Chunk, citation: str, kind: str) -> None:
        """Add a passage's references to the document; if they name no clause, use the subjects in their sentence."""
        for link, edition, clause in self._referring(chunk):
            if not kind:
                self.editions.setdefault(chunk.document_id, set()).add(edition)
            change = self._numbered.get(clause.removeprefix("Annex ").strip()) if clause else None
            if change is not None and _is_unchanged(change):
                self.untouched += 1
                continue
            if not clause:
                named = self._subjects.named_in(_sentence(chunk, link.span))
                change = named.change if named is not None else None
            key = (chunk.document_id, link.span.start, link.target)
            self.found.setdefault(key, _touched(chunk, citation, link, edition, clause, change, kind))

    def _referring(self, chunk: Chunk) -> Iterator[tuple[Reference, str, str]]:
        """Yield a passage's references to the family, by its designations and titles, with edition and clause."""
        read: list[Span] = []
        for link, designation, clause in _referring(chunk, self._numbered):
            if not all(each.is_part for each in self._directory.alike(designation)):
                read.append(link.span)
                yield link, designation.edition, clause
        for start, end, edition in self._titles.places_in(chunk.content):
            span = Span(chunk.span.start + start, chunk.span.start + end)
            around = Span(max(span.start - _BESIDE, 0), span.end + _BESIDE)
            if not any(around.overlaps(each) for each in read):  # "ACME 100:2018, Design of Pumps" is one
                yield from ((link, edition, clause) for link, clause in _with_clauses(chunk, span, self._numbered))

    def look_for_subject(self, passages: Iterable[tuple[Chunk, str]], subject: Subject, kind: str) -> None:
        """Add the first place in each passage that uses a term or names a requirement.

        A document that defines the term itself means its own; so does one with another requirement of that name, unless
        it refers to the family.
        """
        passages = list(passages)
        name = plain(subject.name)
        own = {chunk.document_id for chunk, _ in passages for each in chunk.definitions if plain(each.term) == name}
        if subject.kind is SubjectKind.IDENTIFIER:
            own |= {chunk.document_id for chunk, _ in passages if _has_another(chunk, subject)} - set(self.editions)
        reported = {
            (document, each.text) for (document, _, _), each in self.found.items() if each.change is subject.change
        }
        for chunk, citation in passages:
            named = subject.place_in(chunk.content)
            if named is None or chunk.document_id in own:
                continue
            start, end = named
            span = Span(chunk.span.start + start, chunk.span.start + end)
            link = Reference(chunk.content[start:end], ReferenceKind.DOCUMENT, subject.name, span)
            editions = self.editions.get(chunk.document_id, set())
            dated = min(editions) if len(editions) == 1 else ""
            touched = _touched(chunk, citation, link, dated, "", subject.change, kind)
            if (chunk.document_id, touched.text) not in reported:
                self.found.setdefault((chunk.document_id, span.start, subject.name), touched)


def _has_another(chunk: Chunk, subject: Subject) -> bool:
    """Return whether a passage has another requirement with the name of one that changed."""
    sides = (subject.change.link.old, subject.change.link.new)
    there = {word for side in sides if side is not None for word in words_of(f"{side.heading} {side.text}")}
    return any(
        2 * len(there.intersection(words_of(each.text))) < len(set(words_of(each.text)))
        for each in chunk.statements
        if each.identifier and plain(str(each.identifier)) == plain(subject.name)
    )


def _referring(chunk: Chunk, known: Collection[str]) -> Iterator[tuple[Reference, Designation, str]]:
    """Yield a passage's references to other documents, and other text in the form of a designation.

    Each named clause is one reference; `known` are the clauses of the compared document.
    """
    named = [
        (designation, Span(chunk.span.start + start, chunk.span.start + end))
        for designation, start, end in mentions_at(chunk.content)
    ]
    read: list[Span] = []
    for link in chunk.links:
        target = designation_of(link.target) if link.kind is ReferenceKind.DOCUMENT else None
        if target is None:
            continue
        read.append(link.span)
        at = next((span for _, span in named if span.overlaps(link.span)), None)
        beside = _with_clauses(chunk, at, known) if at is not None else []
        if len(beside) > 1 or not target[1]:
            yield from ((reference, target[0], clause) for reference, clause in beside)
        if not beside or (target[1] and len(beside) == 1):
            yield link, *target
    for designation, span in named:
        if not any(span.overlaps(each) for each in read):
            yield from ((link, designation, clause) for link, clause in _with_clauses(chunk, span, known))


def _with_clauses(chunk: Chunk, name: Span, known: Collection[str]) -> list[tuple[Reference, str]]:
    """List the clauses next to a document's name in a passage, each with its reference; "" if there are none."""
    start, end = name.start - chunk.span.start, name.end - chunk.span.start
    first, last, clauses = clauses_beside(chunk.content, start, end, known)
    text = chunk.content[first:last]
    return [(Reference(text, ReferenceKind.DOCUMENT, f"{text} {clause}", name), clause) for clause in clauses or [""]]


def _by_number(changes: Sequence[ClauseChange]) -> dict[str, ClauseChange]:
    """Map clause numbers, tables and figures to what became of the clause.

    The old edition's numbers take precedence, because references were made to them.
    """
    found: dict[str, ClauseChange] = {}
    for each in changes:
        if each.link.new is not None and each.link.new.number:
            found[each.link.new.number] = each
    for each in changes:
        if each.link.old is not None and each.link.old.number:
            found[each.link.old.number] = each
        for clause in filter(None, (each.link.old, each.link.new)):
            for target in _captioned(clause.text):
                found.setdefault(target, each)
    return found


def _captioned(text: str) -> Iterator[str]:
    """Yield the names of tables and figures in a text, in the form of references: "Table 3"."""
    for line in text.split("\n"):
        label = caption_label(line)
        target = caption_target(label) if label else None
        if target is not None:
            yield target[1]


def _naming(
    knowledge: ImpactKnowledge, names: Iterable[str], own: set[str], degraded: list[str]
) -> Iterator[tuple[Chunk, str]]:
    """Yield the passages of other documents that contain the words of a name, each once."""
    seen: set[str] = set()
    others = NotIn("document_id", tuple(sorted(own)))
    for name in names:
        for chunk, citation in _passages(knowledge, name, others, degraded):
            if chunk.id not in seen:
                seen.add(chunk.id)
                yield chunk, citation


def _passages(
    knowledge: ImpactKnowledge, words: str, documents: In | NotIn, degraded: list[str]
) -> Iterator[tuple[Chunk, str]]:
    """Yield the passages of some documents that contain words, as far as a search reaches."""
    for offset in range(0, _MOST, _PAGE):
        query = SearchQuery(words, limit=_PAGE, mode=SearchMode.KEYWORD, filter=documents, offset=offset)
        answer = knowledge.search(query)
        degraded.extend(answer.degraded)
        for hit in answer.hits:
            yield hit.chunk, hit.citation
        if not answer.more:
            return
    degraded.append(f"Only the {_MOST:,} passages that match '{words}' best were searched.")


def _is_unchanged(change: ClauseChange) -> bool:
    return change.link.kind is LinkKind.SAME and not change.changes


def _code(knowledge: ImpactKnowledge, texts: Iterable[str], degraded: list[str]) -> Iterator[tuple[Chunk, str]]:
    """Yield the passages of indexed repositories that share words with a text, each once."""
    seen: set[tuple[str, str]] = set()
    try:
        for text in check_each(texts):
            for chunk, citation in knowledge.code_passages(text):
                if (chunk.document_id, chunk.id) not in seen:
                    seen.add((chunk.document_id, chunk.id))
                    yield chunk, citation
    except KnowledgeError as error:
        degraded.append(f"The code of indexed repositories was not searched: {error.message}")


def _identifiers(
    knowledge: ImpactKnowledge, pair: EditionPair, changes: Sequence[ClauseChange], degraded: list[str]
) -> dict[str, ClauseChange]:
    """Map the identifiers of changed requirements to what became of their clause."""
    found: dict[str, ClauseChange] = {}
    texts: dict[str, set[str]] = {}
    for record, side in ((pair.old, "old"), (pair.new, "new")):
        changed = [(clause, each) for each in changes if (clause := getattr(each.link, side)) is not None]
        changed = [(clause, each) for clause, each in changed if not _is_unchanged(each)]
        found |= {clause.number: each for clause, each in changed if is_identifier(clause.number)}
        reported = [one for chunk in knowledge.document_chunks(record.id) for one in chunk.statements if one.identifier]
        for statement in check_each(reported):
            identifier = str(statement.identifier)
            texts.setdefault(identifier, set()).add(f"{side} {statement.text}")
            for clause, each in changed:
                if clause.span.contains(statement.span):
                    found.setdefault(identifier, each)
    for identifier, both in texts.items():
        if {each.partition(" ")[0] for each in both} == {"old", "new"} and len({each[4:] for each in both}) == 1:
            found.pop(identifier, None)
    if len(found) > _MOST_IDENTIFIERS:
        degraded.append(f"Only {_MOST_IDENTIFIERS} of {len(found)} requirements were searched for.")
    return dict(list(found.items())[:_MOST_IDENTIFIERS])


def _touched(
    chunk: Chunk,
    citation: str,
    link: Reference,
    dated: str,
    clause: str,
    change: ClauseChange | None,
    kind: str = "",
) -> Touched:
    if kind:
        at = link.span.start - chunk.span.start
        line = line_around(chunk.content, at, at).of(chunk.content).strip()
        name = chunk.section_title or ""
        return Touched(chunk.document_id, kind, name, line, citation, chunk.index, link.text, dated, clause, change)
    kind, identifier, text = "clause", chunk.clause_number or "", ""
    for definition in chunk.definitions:
        if definition.span.contains(link.span):
            kind, identifier, text = "definition", definition.term, definition.text
    for statement in chunk.statements:
        if statement.span.contains(link.span):
            kind, text = "requirement", statement.text
            identifier = statement.identifier or statement.clause_number or identifier
    text = text or _sentence(chunk, link.span)
    return Touched(chunk.document_id, kind, identifier, text, citation, chunk.index, link.text, dated, clause, change)


def _sentence(chunk: Chunk, place: Span) -> str:
    """Return the sentence, or table row, of a passage that contains a place of its document."""
    start = max(place.start - chunk.span.start, 0)
    line = line_around(chunk.content, start, start).of(chunk.content).strip()
    if line.startswith("|"):
        return line
    span = Span(start, min(max(place.end - chunk.span.start, start), len(chunk.content)))
    return sentence_around(chunk.content, span, Span(0, len(chunk.content))).of(chunk.content)
