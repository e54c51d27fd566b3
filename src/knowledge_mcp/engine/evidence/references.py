"""Cross-references of a place: what it refers to, with the resolved targets, and what refers to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from knowledge_mcp.engine.core.base import PASSING, Base
from knowledge_mcp.engine.core.clauses_beside import clauses_beside
from knowledge_mcp.engine.core.designations import designations, mentions_at, names_of
from knowledge_mcp.engine.core.documents import StoredDocument, document_of, documents, read_document
from knowledge_mcp.engine.evidence.outline import excerpt_at, find_section, section_at
from knowledge_mcp.engine.evidence.reading import no_place
from knowledge_mcp.engine.evidence.targets import Target, Targets
from knowledge_mcp.language.sentences import sentence_around
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import ReferenceAnswer, ReferenceLink, ReferenceQuery
from knowledge_mcp.model.query import In
from knowledge_mcp.support.checkpoints import check_each

_MOST_LINKS = 200
_CANDIDATES = 200
"""Maximum passages of other documents that are searched for one name of this one."""
_FULL = "Of the passages that contain the words '{}', only the best {} were searched."
_LINKED = 300
"""Characters of headings used to search for links to them."""
_MOST_FILTERED = 500
"""Maximum number of documents in the filter of a search."""
_OPENING = 300
"""Approximate characters shown of a target's opening."""

Mentions = Callable[[str, Sequence[str]], tuple[Sequence[Chunk], tuple[str, ...]]]
"""Returns the best 200 passages of some documents that contain a name's words, and what failed."""


@dataclass(frozen=True, slots=True)
class _RequestedPlace:
    """What was asked for; `clause` is the number of a chunk's clause, whose references count for the chunk."""

    document: StoredDocument
    span: Span
    clause: str | None = None
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class _FoundReference:
    """A reference, its document, and the passage around it."""

    reference: Reference
    document: StoredDocument
    within: Span


def references(base: Base, query: ReferenceQuery) -> ReferenceAnswer:
    """List what a place refers to and what refers to it, `query.limit` of each, in reading order.

    A document's mentions of its own name are left out. References from the same document are all found. Those from
    other documents are found by their words: by name if one of the document's names is a designation ("ISO 9001"), and
    links if their passage contains words of its title or headings. What was not searched is named in `degraded`.

    Raises:
        NotFoundError: no such document, clause or passage; names similar ones.
        InvalidInputError: the query contradicts itself, or a clause's name is ambiguous.
    """
    _check(query)
    document_id = document_of(base, query.document_id, query.chunk_id)
    targets = Targets(documents(base), partial(read_document, base))
    return references_of(targets, document_id, query, partial(_mentions, base))


def references_of(targets: Targets, document_id: str, query: ReferenceQuery, mentions: Mentions) -> ReferenceAnswer:
    """Answer from the documents of `targets` and the passages that `mentions` finds; errors as `references`."""
    _check(query)
    document = targets.document(document_id)
    place = _place(document, query)
    standing = list(_references_in(targets, document, document.chunks))
    inside = [each for each in check_each(standing) if place.span.contains(each.reference.span)]
    outgoing = [each for each in check_each(inside) if not _is_own_name(targets, each)]
    near = [] if place.is_whole else [each for each in check_each(standing) if _is_led(targets, each, place)]
    far, degraded = _from_outside(targets, place, mentions)
    incoming = [*near, *far]
    more = max(len(outgoing) - query.limit, 0) + max(len(incoming) - query.limit, 0)
    return ReferenceAnswer(
        outgoing=tuple(_link(targets, each) for each in outgoing[: query.limit]),
        incoming=tuple(_link(targets, each) for each in incoming[: query.limit]),
        more=more,
        degraded=degraded,
    )


def _check(query: ReferenceQuery) -> None:
    if query.clause is not None and query.chunk_id is not None:
        raise InvalidInputError("Ask for a clause or for a passage, not for both.")
    if query.document_id is None and query.chunk_id is None:
        raise no_place()
    if not 1 <= query.limit <= _MOST_LINKS:
        raise InvalidInputError(f"The limit must be from 1 to {_MOST_LINKS}.")


def _place(document: StoredDocument, query: ReferenceQuery) -> _RequestedPlace:
    if query.chunk_id is not None:
        chunk = next((each for each in document.chunks if each.id == query.chunk_id), None)
        if chunk is None:
            raise NotFoundError(f"No passage of '{document.record.id}' has the id '{query.chunk_id}'.")
        return _RequestedPlace(document, chunk.span, chunk.clause_number)
    if query.clause is not None:
        return _RequestedPlace(document, find_section(document, query.clause).span)
    return _RequestedPlace(document, Span(0, len(document.text)), is_whole=True)


# ---- finding


def _references_in(targets: Targets, document: StoredDocument, chunks: Iterable[Chunk]) -> Iterator[_FoundReference]:
    """Yield the references in passages of one document, in reading order, each once."""
    found: dict[tuple[Span, str], _FoundReference] = {}
    for chunk in check_each(chunks):
        for reference in _links_of(targets, chunk):
            if not reference.target.lower().startswith("mailto:"):  # an e-mail address is not a place
                found.setdefault((reference.span, reference.target), _FoundReference(reference, document, chunk.span))
    for _, each in sorted(found.items(), key=lambda item: item[0]):
        yield each


def _links_of(targets: Targets, chunk: Chunk) -> list[Reference]:
    """List the references of a passage, also those that only the stored documents explain.

    Nothing but a stored document tells that ACME publishes documents: "ACME 100, clause 4.2" is read as the clause 4.2
    of the document that says so, and "ACME 100" as no reference.
    """
    links = list(chunk.links)
    for _, start, end in mentions_at(chunk.content):
        name = Span(chunk.span.start + start, chunk.span.start + end)
        if any(each.span.overlaps(name) for each in links):
            continue
        printed = chunk.content[start:end]
        record, clause, _ = targets.document_named(printed)
        if record is None or clause:
            continue
        known = {each.number for each in targets.document(record.id).structure.sections if each.number}
        first, last, clauses = clauses_beside(chunk.content, start, end, known)
        whole, text = Span(chunk.span.start + first, chunk.span.start + last), chunk.content[first:last]
        links = [each for each in links if not each.span.overlaps(whole)]
        places = [f" Annex {each}" if each.isalpha() else f" {each}" for each in clauses] or [""]
        links += (Reference(text, ReferenceKind.DOCUMENT, f"{printed}{place}", whole) for place in places)
    return links


def _is_led(targets: Targets, found: _FoundReference, place: _RequestedPlace) -> bool:
    """Return whether a reference of the same document refers to the place from outside."""
    if place.span.contains(found.reference.span):
        return False
    if found.reference.kind is ReferenceKind.DOCUMENT and not _names(targets, found.reference, place.document.record):
        return False
    return _leads_to(targets.of(found.document, found.reference), place)


def _is_own_name(targets: Targets, found: _FoundReference) -> bool:
    """Return whether a document only mentions its own name, as on its cover."""
    if found.reference.kind is not ReferenceKind.DOCUMENT:
        return False
    record, clause, _ = targets.document_named(found.reference.target)
    return record is not None and record.id == found.document.record.id and not clause


def _leads_to(target: Target, place: _RequestedPlace) -> bool:
    if target.document_id != place.document.record.id or target.span is None:
        return False
    if place.is_whole:
        return True
    if place.clause is not None and target.section is not None and target.section.number == place.clause:
        return True
    return place.span.contains(Span(target.span.start, target.span.start + 1)) and len(target.span) < len(
        place.document.text
    )


def _from_outside(
    targets: Targets, place: _RequestedPlace, mentions: Mentions
) -> tuple[list[_FoundReference], tuple[str, ...]]:
    """List the references from other documents to the place, by document; and what could not be searched."""
    record = place.document.record
    names = _names_without_edition(record)
    by_document: dict[str, dict[str, Chunk]] = {}
    degraded: list[str] = []
    if not names:
        degraded.append(
            f"Other documents were searched for links only: neither title nor id of '{record.id}' is a designation, "
            "such as ISO 9001, that they could refer to it by."
        )
    for name in dict.fromkeys((*names, *_words_beside_links(place))):
        found, notes = mentions(name, [each.id for each in targets.records if each.id != record.id])
        leads_here = _names if name in names else _links
        naming = [
            chunk
            for chunk in check_each(found)
            if (source := chunk.document_id) != record.id
            and any(leads_here(targets, link, record, source) for link in _links_of(targets, chunk))
        ]
        degraded.extend(notes)
        if naming and len(found) == _CANDIDATES:
            degraded.append(_FULL.format(name, _CANDIDATES))
        for chunk in naming:
            by_document.setdefault(chunk.document_id, {})[chunk.id] = chunk
    return list(_references_to(targets, place, by_document)), tuple(dict.fromkeys(degraded))


def _references_to(
    targets: Targets, place: _RequestedPlace, by_document: dict[str, dict[str, Chunk]]
) -> Iterator[_FoundReference]:
    for document_id in check_each(sorted(by_document)):
        try:
            document = targets.document(document_id)
        except NotFoundError:
            continue
        passages = by_document[document_id]
        for each in _references_in(targets, document, [chunk for chunk in document.chunks if chunk.id in passages]):
            reference, record = each.reference, place.document.record
            here = _names(targets, reference, record) or _links(targets, reference, record, document_id)
            if here and _leads_to(targets.of(document, reference), place):
                yield each


def _links(targets: Targets, reference: Reference, record: DocumentRecord, source_id: str) -> bool:
    source = targets.record(source_id) if reference.kind is ReferenceKind.LINK else None
    found = targets.document_at(source, reference.target) if source is not None else None
    return found is not None and found.id == record.id


def _words_beside_links(place: _RequestedPlace) -> list[str]:
    """List words likely to be next to a link to the place: titles of the document and of the sections."""
    entries = place.document.structure.sections
    around = None if place.is_whole else section_at(entries, place.span.start)
    inside = [entry for entry in entries if place.span.start <= entry.span.start < place.span.end]
    titles = [entry.title for entry in ([around] if around is not None and around not in inside else []) + inside]
    words = " ".join(dict.fromkeys(word for title in titles for word in title.split()))
    texts = (place.document.record.title, words[:_LINKED])
    return [text for text in texts if text.strip()]


def _names(targets: Targets, reference: Reference, record: DocumentRecord, _source_id: str = "") -> bool:
    if reference.kind is not ReferenceKind.DOCUMENT:
        return False
    found = targets.document_named(reference.target)[0]
    return found is not None and found.id == record.id


def _names_without_edition(record: DocumentRecord) -> list[str]:
    """List the names of a document that others use, without its edition."""
    words = [each.words for name, slug in names_of(record) for each in designations(name, slug=slug)]
    return list(dict.fromkeys(words))


def _mentions(base: Base, name: str, document_ids: Sequence[str]) -> tuple[Sequence[Chunk], tuple[str, ...]]:
    if not document_ids:
        return [], ()
    among = In("document_id", tuple(document_ids)) if len(document_ids) <= _MOST_FILTERED else None
    try:
        legs = base.search(vector=None, text=name, filter=among, limit=_CANDIDATES)
    except PASSING as exc:
        return [], (f"Other documents were not searched: {exc.message}",)
    if legs.lexical_error:
        return [], (f"Other documents were not searched: {legs.lexical_error}",)
    hits = [hit.chunk_id for hit in legs.lexical or ()]
    return base.opened.chunks("id", hits), ()


# ---- showing


def _link(targets: Targets, found: _FoundReference) -> ReferenceLink:
    reference, document = found.reference, found.document
    source = sentence_around(document.text, reference.span, found.within)
    target = targets.of(document, reference)
    destination = None
    if target.document_id is not None and target.span is not None:
        aim = targets.document(target.document_id)
        destination = excerpt_at(aim, _heading_span(aim, target.span))
    return ReferenceLink(
        text=reference.text,
        kind=reference.kind,
        target=reference.target,
        source=excerpt_at(document, source),
        destination=destination,
        reason=target.reason,
    )


def _heading_span(document: StoredDocument, span: Span) -> Span:
    """Return the opening of a section: its heading and the text after it, up to the next heading."""
    starts = [entry.span.start for entry in document.structure.sections]
    behind = bisect_right(starts, span.start)
    end = min(span.end, starts[behind]) if behind < len(starts) else span.end
    inside = Span(span.start, max(end, span.start)).trimmed(document.text)
    if len(inside) <= _OPENING:
        return inside
    cut = max(document.text.rfind(mark, inside.start + _OPENING // 3, inside.start + _OPENING) for mark in ("\n", ". "))
    if cut < 0:
        cut = document.text.rfind(" ", inside.start, inside.start + _OPENING)
    return Span(inside.start, cut + 1 if cut > inside.start else inside.start + _OPENING).trimmed(document.text)
